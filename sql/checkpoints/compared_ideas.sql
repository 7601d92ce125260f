-- Pairs of ideas that share a key which is not hot, and are of like length.
--
-- A join by key; at most half as many pairs a key and idea as a key may have ideas.
--
-- columns:  idea   varchar  not null
--           other  varchar  not null  a later one in the alphabet
--           sizes  bigint   not null  words of both
select distinct
    a.idea,
    b.idea as other,
    a.size + b.size as sizes
from shared_keys as a
anti join hot_keys as h on a.key = h.key
inner join shared_keys as b on a.key = b.key and a.idea < b.idea
where 4 * greatest(a.size, b.size) <= 5 * least(a.size, b.size)
order by a.idea, other

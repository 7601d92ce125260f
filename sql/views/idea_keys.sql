-- Keys that ideas share where they have at least four fifths of their words in common.
--
-- Reads `ideas` once. Ideas of m and n words that are so alike differ in (m + n) / 9 words at
-- most. Of that many parts and two more, into which the words fall by their hashes, they have
-- two the same; so each two parts are a key. An idea of 4 words has 3, of 10 6, of 50 235;
-- one of 3 is like no other and has none.
--
-- columns:  session_uid  varchar  not null  the session's identity
--           idea         varchar  not null  words, sorted
--           size         bigint   not null  its words
--           key          bigint   not null  a hash
with sets as (
    select session_uid, idea, string_split(idea, ' ') as words
    from (
        select distinct session_uid, idea
        from ideas
        where idea is not null
    )
),

differing as (
    select
        session_uid,
        idea,
        words,
        len(words) as size,
        unnest(range(
            greatest(1, (len(words) + (4 * len(words) + 4) // 5) // 9),
            (len(words) + 5 * len(words) // 4) // 9 + 1
        )) as words_off
    from sets
),

hashed as (
    select session_uid, idea, size, words_off, hash(unnest(words)) as word
    from differing
),

parts as (
    select
        session_uid,
        idea,
        size,
        words_off,
        word % (words_off + 2) as part,
        bit_xor(word) as words
    from hashed
    group by session_uid, idea, size, words_off, part
),

listed as (
    select session_uid, idea, size, words_off, list(part) as parts, list(words) as words
    from parts
    group by session_uid, idea, size, words_off
),

firsts as (
    select *, unnest(range(words_off + 1)) as one
    from listed
),

seconds as (
    select *, unnest(range(one + 1, words_off + 2)) as two
    from firsts
)

select
    session_uid,
    idea,
    size,
    (
        hash(
            words_off,
            one,
            two,
            words[list_position(parts, one)],
            words[list_position(parts, two)]
        ) >> 1
    )::bigint as key
from seconds

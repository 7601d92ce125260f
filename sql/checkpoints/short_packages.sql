-- The packages that hold less knowledge than nodes refer to it, or that are not there.
--
-- One row a package; cost grows with the packages.
--
-- columns:  import_name  varchar  not null
--           nodes        bigint   not null  that refer to it
--           knowledge    bigint   not null  that it holds; 0 where it is not there
select r.import_name, r.nodes, coalesce(c.knowledge, 0) as knowledge
from package_refs as r
left join checks as c on r.import_name = c.import_name
where coalesce(c.knowledge, 0) < r.nodes
order by r.import_name

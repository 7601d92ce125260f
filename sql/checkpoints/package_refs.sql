-- How many nodes refer to each Gaia package.
--
-- Reads the nodes as they stand; cost grows with them.
--
-- columns:  import_name  varchar  not null  the package's, from namespace:import_name::label
--           nodes        bigint   not null
select regexp_extract(package_ref, '^[^:]+:([^:]+)::', 1) as import_name, count(*) as nodes
from nodes
where package_ref is not null
group by regexp_extract(package_ref, '^[^:]+:([^:]+)::', 1)
order by import_name

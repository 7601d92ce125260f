-- Every link in both directions.
--
-- Two rows a link.
--
-- columns:  node   bigint  not null
--           other  bigint  not null
select node, other from cluster_links
union all
select other as node, node as other from cluster_links
order by node, other

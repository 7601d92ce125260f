-- How many variables have another label since the last step.
--
-- Reads the labels once; cost grows with the variables.
--
-- columns:  changed  bigint  not null
select count(*) as changed
from cc_labels
where changed
order by changed

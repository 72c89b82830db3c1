-- The end of a log as its last commit left it (beside seq): a log that was cut short shows beside it.
alter table executions add column head bytea not null default '';
update executions e set head = l.hash from log l where l.execution = e.id and l.last = e.seq;

-- How a row is written, and what its hash covers. What is there already is of the first format.
alter table log add column format smallint not null default 1;

-- oldest reader: 8
-- Executions that went on from one another, each with a fresh log.
alter table executions add column continued_from text, add column continued_as text, add column chain text collate "C";
create index executions_of_chain on executions (chain) where chain is not null;

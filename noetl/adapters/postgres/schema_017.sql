-- oldest reader: 8
-- What ended long ago is looked for again and again by servers that forget it.
create index executions_by_end on executions (ended_at) where ended_at is not null;

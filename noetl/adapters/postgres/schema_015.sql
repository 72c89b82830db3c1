-- oldest reader: 8
-- What tells some lines from all others: a batch that is sent again is kept once.
alter table task_lines add column batch text collate "C";
create unique index task_lines_batch on task_lines (execution, batch) where batch is not null;

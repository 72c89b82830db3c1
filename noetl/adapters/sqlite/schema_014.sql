-- oldest reader: 10
-- What tasks print, some lines of one attempt at a task in a row: `total` counts the bytes of the execution up to
-- here, `upto` those of the attempt. Readers skip the body, which is the last column.
CREATE TABLE task_lines (
  execution INTEGER NOT NULL,
  number INTEGER NOT NULL,
  total INTEGER NOT NULL,
  whose TEXT NOT NULL,
  upto INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  lost INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (execution, number)
);

-- oldest reader: 10
-- Executions that went on from one another, each with a fresh log.
ALTER TABLE executions ADD COLUMN continued_from TEXT;
ALTER TABLE executions ADD COLUMN continued_as TEXT;
ALTER TABLE executions ADD COLUMN chain TEXT;
CREATE INDEX executions_of_chain ON executions (chain) WHERE chain IS NOT NULL;

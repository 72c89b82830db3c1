-- Why an execution was set aside (JSON). Who had it in hand when its owner died: empty for nobody.
ALTER TABLE executions ADD COLUMN stuck TEXT;
ALTER TABLE executions ADD COLUMN in_hand TEXT;
CREATE INDEX executions_stuck ON executions (id) WHERE stuck IS NOT NULL;

-- Bearer tokens: what is needed to tell a good one, never the token itself. The lists are JSON.
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  prefixes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  made_by TEXT NOT NULL
) STRICT;

-- The number of a letter is never used again: readers tell by it what they have seen.
ALTER TABLE mailbox RENAME TO old_mailbox;
CREATE TABLE mailbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  message BLOB NOT NULL
) STRICT;
INSERT INTO mailbox SELECT id, execution_id, message FROM old_mailbox;
DROP TABLE old_mailbox;

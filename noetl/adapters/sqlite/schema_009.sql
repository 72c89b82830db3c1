-- Servers that workers connect to, each until it is silent for too long.
CREATE TABLE servers (server TEXT PRIMARY KEY, url TEXT NOT NULL, until INTEGER NOT NULL) STRICT;

-- The pools that a worker with a token may serve, as JSON. Tokens from before served any.
ALTER TABLE tokens ADD COLUMN pools TEXT NOT NULL DEFAULT '["*"]';

"""SQLite, the embedded event log: one writer thread with group commit, safe with two processes."""

"""SQLite: the embedded event log. One writer thread with group commit; safe with two processes on one file."""

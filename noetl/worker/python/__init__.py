"""Isolated python processes: the host, one process, and what runs inside it."""

"""A copy of this process, for work that may end a process."""

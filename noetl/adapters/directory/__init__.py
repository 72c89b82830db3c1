"""A folder of files: the embedded result store."""

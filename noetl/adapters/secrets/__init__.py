"""Where secrets come from: the environment, files, and credentials sealed in the store."""

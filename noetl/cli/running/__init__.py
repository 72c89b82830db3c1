"""Running and following an execution from the terminal, and what is shown meanwhile."""

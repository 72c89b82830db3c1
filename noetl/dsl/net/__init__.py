"""The workflow as a net: graphs, tokens, arcs, and what can be found out about them without running."""

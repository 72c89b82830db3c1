"""MCP as this product speaks it: one conversation, its tools, prompts and resources, whatever carries it."""

"""The documentation as pages, rendered from its Markdown when asked for: what is served is what is there."""

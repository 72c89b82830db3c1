"""Findings as people and machines read them. Each module has `render(results)`; nothing here checks."""

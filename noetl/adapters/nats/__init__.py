"""The bus between servers and workers."""

"""Older spellings of the language, read as the one canonical tree. Rewriting a text is migrate's."""

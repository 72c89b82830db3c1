"""Older spellings and their rewrites, once for all: `load` reads what they give, `migrate` writes it."""

"""Older spellings: their codes, their words in templates, and when `load` needs the rewrites of migrate."""

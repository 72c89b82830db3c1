"""How a template computes: values, bounded operators, and the two ways an expression runs.

Nothing here parses a template or makes a Jinja environment; that is template.py, the one door to this folder.
"""

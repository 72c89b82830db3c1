"""Templates: compiled once, what they read, how they compute within bounds. template.py is the door."""

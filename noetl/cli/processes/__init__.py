"""Servers and workers as processes: started, stopped, and what they write to their log."""

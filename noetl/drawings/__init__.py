"""Playbooks as pictures. `sketch` says what is drawn; each other module is one way to draw it."""

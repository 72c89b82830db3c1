"""Deciding: what one message leads to, from the start to the end of an execution. The door is decide.py."""

"""Playbook tests as text: their grammar, what they say, which answer a tool call gets. Nothing runs here."""

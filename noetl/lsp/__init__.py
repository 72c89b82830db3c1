"""The language server: what an editor asks about a playbook that is being written. Nothing is run here."""

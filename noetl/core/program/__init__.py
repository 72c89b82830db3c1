"""A playbook compiled for running: templates as code, labels as indices. Nothing here decides anything."""

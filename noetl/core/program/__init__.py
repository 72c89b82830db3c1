"""A playbook compiled for running: templates as code, labels as indices, and how they are evaluated."""

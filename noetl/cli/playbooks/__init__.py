"""The playbooks that a command means: found, checked, bundled, or made for a new project."""

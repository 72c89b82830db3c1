"""Reading and writing YAML: text to positioned tree and back. What a playbook may say is the grammar's."""

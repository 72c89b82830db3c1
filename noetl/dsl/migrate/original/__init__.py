"""What playbooks of the original NoETL say beyond older spellings. Only `migrate` rewrites it."""

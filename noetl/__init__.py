"""NoETL: durable workflows written as YAML playbooks.

This module holds the version and nothing else; importing it must cost nothing.
"""

__version__ = "3.0.0a1"

"""The bounds of an author's JSON Schema, as counts, and the errors that say one was passed.

Work is counted in steps: one keyword held against one value, one item or entry looked at, or eight
characters. Counts, not clocks, so that a schema that fits here fits on every machine.
"""

from typing import ClassVar

from noetl.errors import NoetlError

SCHEMA_DEPTH = 64
"""Mappings and lists of a schema inside one another."""
SCHEMA_NODES = 10_000
"""Values of one schema: mappings, lists, texts, numbers."""
WORK = 500_000
"""Steps of one value held against one schema, however small the value is."""
WORK_PER_NODE = 10
"""Steps more for each node of the value: a large value may take longer than a small one."""
REFERENCE_DEPTH = 128
"""Schemas inside one another, those that references lead to included."""
EVALUATION_DEPTH = 128
"""Schemas held against a value inside one another."""
PROBLEMS = 3
"""Places that are named where a value does not fit."""
SHOWN_CHARS = 100
"""A value in a message."""

CHARS_PER_STEP = 8


class SchemaError(NoetlError):
    """The JSON Schema cannot be used."""

    code: ClassVar[str] = "schema"


class SchemaLimit(SchemaError):
    """The JSON Schema, or holding a value against it, is over a bound."""

    code: ClassVar[str] = "schema-limit"

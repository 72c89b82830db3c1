"""The JSON Schemas of authors: read, bounded, and held against values within a budget.

`compile_schema` reads a schema once; `Schema.problems` says where a value does not fit it. Nothing here
fetches anything: a reference leads to a place in the same schema. What follows from a problem is decided
elsewhere.
"""

from noetl.dsl.json_schema.compiler import Schema, compile_schema
from noetl.dsl.json_schema.document import refuse_large
from noetl.dsl.json_schema.limits import SchemaError, SchemaLimit

__all__ = ["Schema", "SchemaError", "SchemaLimit", "compile_schema", "refuse_large"]

"""The quick verdict on a plain schema: a compiled library says that a value fits, in one pass over it.

A schema is plain when its cost can be told by looking at it: few schemas, none that is referred to, no
patterns. Every other one, and the reasons why a value does not fit, are for a Run, which counts its steps.
"""

from noetl.dsl.json_schema.document import Keywords, subschemas
from noetl.json_value import Json

SCHEMAS = 100
"""Schemas of a plain schema: each may be held against every node of the value once."""
_PLAIN = frozenset(
    {
        "additionalProperties", "allOf", "anyOf", "const", "contains", "description", "enum",
        "exclusiveMaximum", "exclusiveMinimum", "items", "maximum", "maxItems", "maxLength", "maxProperties",
        "minimum", "minItems", "minLength", "minProperties", "not", "oneOf", "prefixItems", "properties",
        "required", "title", "type", "uniqueItems",
    }
)  # fmt: skip


class Native:
    """A plain schema as the library has compiled it."""

    def __init__(self, schema: Keywords) -> None:
        import jsonschema_rs

        self._validator = jsonschema_rs.Draft202012Validator(schema)

    def fits(self, value: Json) -> bool:
        """Whether a value surely fits; False also for one that the library cannot read."""
        try:
            return self._validator.is_valid(value)
        except ValueError:
            return False


def native(schema: Keywords | bool) -> Native | None:
    """The quick form of a plain schema, None for any other."""
    count = 0
    pending: list[Json] = [schema]
    while pending:
        subschema = pending.pop()
        if isinstance(subschema, bool):
            continue
        count += 1
        if not isinstance(subschema, dict) or count > SCHEMAS or not subschema.keys() <= _PLAIN:
            return None
        pending.extend(subschemas(subschema))
    return None if isinstance(schema, bool) else Native(schema)

"""Checking a value against a JSON Schema that the author gave under `validate`."""

from dataclasses import dataclass
from typing import Any

from noetl.dsl.json_schema import SchemaError, SchemaLimit, compile_schema
from noetl.json_value import Json


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """Why a value does not fit: the kind of the error, and one sentence."""

    kind: str
    message: str


def schema_problem(schema: Any, value: Json, what: str) -> SchemaProblem | None:
    """Why a value does not fit a schema; None when it does or there is no schema."""
    if not schema:
        return None
    try:
        problems = compile_schema(schema).problems(value)
    except SchemaLimit as limit:
        return SchemaProblem("limit", f"{what}: {limit.message}")
    except SchemaError as error:
        return SchemaProblem("validation", f"{what}: {error.message}")
    if not problems:
        return None
    places = (f"{'/'.join(map(str, path)) or what}: {message}" for path, message in problems)
    return SchemaProblem("validation", "; ".join(places))

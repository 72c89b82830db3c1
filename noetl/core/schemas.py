"""Checking a value against a JSON Schema that the author gave under `validate`."""

from typing import Any


def schema_problem(schema: Any, value: Any, what: str) -> str | None:
    """Why a value does not fit a schema, in one sentence; None when it does or there is no schema."""
    if not schema:
        return None
    import jsonschema_rs

    problems = [
        f"{'/'.join(str(part) for part in found.instance_path) or what}: {found.message}"
        for found in jsonschema_rs.validator_for(schema).iter_errors(value)
    ]
    return "; ".join(problems[:3]) or None

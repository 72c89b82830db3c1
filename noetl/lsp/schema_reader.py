"""What the JSON Schema of the language says of a place: the keys and words that may stand there.

Only reading of schemas lives here; which schema it is, and what the playbook itself has, is others' matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from noetl.dsl.yaml.tree import Value

Schema = Mapping[str, Any]
DEEPEST = 24  # references that lead to references


class SchemaReader:
    """One schema, asked about places."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._parts: Mapping[str, Schema] = schema.get("$defs", {})

    def at(self, way: Sequence[str | int], containers: Sequence[Value]) -> list[Schema]:
        """All that is said of the place at the end of a way, given what stands on it."""
        schemas: list[Schema] = [self._schema]
        for part, container in zip(way, containers, strict=False):
            schemas = [inner for schema in schemas for inner in self._inside(schema, part, container)]
        return schemas

    def keys(self, schemas: Sequence[Schema], data: Value) -> dict[str, str]:
        """The keys that may stand in a mapping, with what they mean."""
        keys: dict[str, str] = {}
        for schema in schemas:
            for part in self._applied(schema, data):
                for name, inner in part.get("properties", {}).items():
                    keys[name] = keys.get(name) or self._meaning(inner)
        return keys

    def words(self, schemas: Sequence[Schema], data: Value = None) -> dict[str, str]:
        """The words that may stand as a value, with what they mean."""
        words: dict[str, str] = {}
        for schema in schemas:
            for part in self._applied(schema, data):
                listed = part.get("enum", [part["const"]] if "const" in part else part.get("examples", []))
                meanings = part.get("enumDescriptions", [part.get("description", "")] * len(listed))
                words |= {
                    word: meaning
                    for word, meaning in zip(listed, meanings, strict=False)
                    if isinstance(word, str) and word
                }
                if part.get("type") == "boolean":
                    words |= {"true": "", "false": ""}
        return words

    def _meaning(self, schema: Schema) -> str:
        if "description" in schema:
            return str(schema["description"])
        return next(
            (str(part["description"]) for part in self._applied(schema, None) if "description" in part), ""
        )

    def _inside(self, schema: Schema, part: str | int, container: Value) -> Iterator[Schema]:
        for applied in self._applied(schema, container):
            if isinstance(part, int):
                if "items" in applied:
                    yield applied["items"]
            elif part in applied.get("properties", {}):
                yield applied["properties"][part]
            elif isinstance(applied.get("additionalProperties"), Mapping):
                yield applied["additionalProperties"]

    def _applied(self, schema: Schema, data: Value, depth: int = 0) -> Iterator[Schema]:
        """A schema and all that it refers to, as far as conditions on the data hold."""
        if depth > DEEPEST or not isinstance(schema, Mapping):  # true and false are schemas, too
            return
        yield schema
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield from self._applied(self._parts.get(reference.rpartition("/")[2], {}), data, depth + 1)
        for word in ("anyOf", "oneOf", "allOf"):
            for part in schema.get(word, ()):
                if "if" not in part or _holds(part["if"], data):
                    yield from self._applied(part.get("then", part), data, depth + 1)


def _holds(condition: Schema, data: Value) -> bool:
    """Whether a condition about the words of some keys holds."""
    if not isinstance(data, Mapping) or any(name not in data for name in condition.get("required", ())):
        return False
    return all(
        data.get(name) == wanted["const"]
        for name, wanted in condition.get("properties", {}).items()
        if "const" in wanted
    )

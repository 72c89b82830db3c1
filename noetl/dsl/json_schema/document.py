"""A schema as a document: its bounds, its dialect, and where its references lead, all inside itself."""

from collections.abc import Iterator
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from noetl.dsl.json_schema.limits import SCHEMA_DEPTH, SCHEMA_NODES, SchemaError, SchemaLimit
from noetl.json_value import Json

ROOT = ""
_OLD = ("draft-07", "draft-06", "draft-04")
# Where schemas stand inside a schema: one, a list of them, or a mapping to them.
_ONE = (
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_LIST = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")

# What an author wrote under the keywords of a schema. Nobody checks its form first: a wrong one raises, and
# the compiler makes one SchemaError of all that.
Keywords: TypeAlias = dict[str, Any]


class Document:
    """The schema of an author with the places that references may name."""

    def __init__(self, root: Json) -> None:
        refuse_large(root)
        self.root = root
        dialect = str(root.get("$schema", "")) if isinstance(root, dict) else ""
        self.old = any(name in dialect for name in _OLD)
        """Drafts in which `$ref` stands alone and formats are checked."""
        self.integers_only = "draft-04" in dialect
        """The draft in which 1.0 is no integer."""
        self._resources: dict[str, Json] = {ROOT: root}
        self._anchors: dict[tuple[str, str], Json] = {}
        self._bases: dict[int, str] = {}
        self._dynamic: set[str] = set()
        self._index()

    def _index(self) -> None:
        pending: list[tuple[Json, str]] = [(self.root, ROOT)]
        while pending:
            schema, base = pending.pop()
            if not isinstance(schema, dict):
                continue
            name = schema.get("$id", schema.get("id"))
            alone = self.old and "$ref" in schema
            if isinstance(name, str) and not alone:
                base, anchor = urldefrag(urljoin(base, name))
                self._resources.setdefault(base, schema)
                if anchor:
                    self._anchors[base, anchor] = schema
            self._bases[id(schema)] = base
            self._anchor(schema, base)
            pending.extend((inner, base) for inner in subschemas(schema))

    def _anchor(self, schema: Keywords, base: str) -> None:
        for word in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(word)
            if isinstance(anchor, str):
                self._anchors[base, anchor] = schema
                if word == "$dynamicAnchor":
                    if anchor in self._dynamic:
                        raise SchemaError(
                            f"$dynamicAnchor {anchor!r} stands twice, which is not supported",
                            hint="give each place a name of its own and use $ref",
                        )
                    self._dynamic.add(anchor)

    def target(self, schema: Keywords, ref: str) -> Json:
        """The schema that a reference inside a schema leads to."""
        address, fragment = urldefrag(urljoin(self._bases.get(id(schema), ROOT), ref))
        fragment = unquote(fragment)
        if address not in self._resources:
            raise SchemaError(
                f"$ref {ref!r} leads out of the schema, and nothing is fetched",
                hint="put the schema under $defs and refer to it, as in #/$defs/name",
            )
        target = self._resources[address]
        if fragment and not fragment.startswith("/"):
            target = self._anchors.get((address, fragment))
        elif fragment:
            target = _pointed(target, fragment)
        if not isinstance(target, dict | bool):
            raise SchemaError(f"$ref {ref!r} leads to no schema", hint="it names a place, as in #/$defs/name")
        if isinstance(target, dict):
            self._bases.setdefault(id(target), address)
        return target


def _pointed(value: Json, pointer: str) -> Json:
    for part in pointer[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and len(key) < 6 and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def subschemas(schema: Keywords) -> Iterator[Json]:
    """The schemas that stand directly in a schema."""
    for word in _ONE:
        if isinstance(schema.get(word), dict):
            yield schema[word]
    for word in _LIST:
        if isinstance(schema.get(word), list):
            yield from schema[word]
    for word in _NAMED:
        if isinstance(schema.get(word), dict):
            yield from schema[word].values()


def refuse_large(root: Json) -> None:
    """SchemaLimit for a schema that is too deep or has too many values."""
    count, level, depth = 0, [root], 0
    while level:
        depth += 1
        count += len(level)
        if depth > SCHEMA_DEPTH:
            raise SchemaLimit(
                f"the schema is more than {SCHEMA_DEPTH} levels deep",
                hint="put its parts under $defs and refer to them, as in {$ref: '#/$defs/name'}",
            )
        if count > SCHEMA_NODES:
            raise SchemaLimit(
                f"the schema has more than {SCHEMA_NODES:,} values",
                hint="put what repeats under $defs and refer to it, or check the value in a python task",
            )
        inner: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        level = inner

"""Reads a schema once, into nodes that can be held against any number of values.

Every schema that the root can reach is compiled, so that one that cannot be used is refused before there
is a value.
"""

from functools import lru_cache

import msgspec

from noetl.dsl.json_schema.applicators import APPLICATORS, holding
from noetl.dsl.json_schema.assertions import ASSERTIONS
from noetl.dsl.json_schema.document import Document, Keywords
from noetl.dsl.json_schema.limits import REFERENCE_DEPTH, SchemaError, SchemaLimit
from noetl.dsl.json_schema.native import Native, native
from noetl.dsl.json_schema.run import Node, Problem, Run, excerpt
from noetl.json_value import Json

_REFS = ("$ref", "$dynamicRef", "$recursiveRef")
ENDLESS = "the schema refers to itself without looking into the value, so it has no end"
INTO = "refer to it from under properties or items"


class Schema:
    """A compiled schema."""

    def __init__(self, root: Node, quick: Native | None) -> None:
        self._root = root
        self._quick = quick

    def problems(self, value: Json) -> list[Problem]:
        """The first few places where a value does not fit; SchemaLimit when finding out takes too much."""
        if self._quick is not None and self._quick.fits(value):
            return []
        try:
            if Run(value, collecting=False).holds(self._root, value):
                return []
            run = Run(value, collecting=True)
            run.holds(self._root, value)
        except RecursionError:
            raise SchemaLimit("the value goes too deep to be held against the schema") from None
        return run.problems or [((), f"{excerpt(value)} does not fit the schema")]


def compile_schema(schema: Json) -> Schema:
    """The compiled form of a schema; raises SchemaError, and SchemaLimit when it is over a bound."""
    return _compiled(msgspec.json.encode(schema))


@lru_cache(128)
def _compiled(text: bytes) -> Schema:
    root = msgspec.json.decode(text)
    try:
        compiler = _Compiler(Document(root))
        node = compiler.node(root)
        compiler.refuse_endless()
    except (TypeError, ValueError, KeyError, AttributeError, ZeroDivisionError) as error:
        raise SchemaError(f"the schema has a keyword of a wrong form: {error}") from None
    return Schema(node, native(root))


class _Compiler:
    """The nodes of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._nodes: dict[int, Node] = {}
        self._followed: list[int] = []
        self._depth = 0
        self._never = Node()
        self._never.checks.append(
            lambda value, run: run.fail(f"False schema does not allow {excerpt(value)}")
        )
        self._always = Node()

    def node(self, schema: Json) -> Node:
        """The compiled form of a schema inside the document."""
        if isinstance(schema, bool):
            return self._always if schema else self._never
        if not isinstance(schema, dict):
            raise SchemaError(f"{excerpt(schema)} stands where a schema belongs")
        compiled = self._nodes.get(id(schema))
        if compiled is not None:
            compiled.shared = True
            return compiled
        self._depth += 1
        if self._depth > REFERENCE_DEPTH:
            raise SchemaLimit(f"the schema refers to schemas more than {REFERENCE_DEPTH} levels deep")
        node = self._alias(schema)
        if node is None:
            node = self._nodes[id(schema)] = Node()
            self._fill(node, schema)
        self._depth -= 1
        return node

    def _alias(self, schema: Keywords) -> Node | None:
        """The schema that one with nothing but a `$ref` stands for."""
        if schema.keys() != {"$ref"} or not isinstance(schema["$ref"], str):
            return None
        if id(schema) in self._followed:
            raise SchemaError(ENDLESS, hint=INTO)
        self._followed.append(id(schema))
        node = self.node(self.document.target(schema, schema["$ref"]))
        self._followed.pop()
        node.shared = True
        return node

    def _fill(self, node: Node, schema: Keywords) -> None:
        refs = [schema[word] for word in _REFS if isinstance(schema.get(word), str)]
        for ref in refs:
            target = self.node(self.document.target(schema, ref))
            node.together.append(target)
            node.checks.append(holding(target))
        if refs and self.document.old:
            return
        for word, keyword in ASSERTIONS.items():
            if word in schema:
                node.checks.append(keyword(self.document, schema[word]))
        self._old_bounds(node, schema)
        for words, apply in APPLICATORS.values():
            if any(word in schema for word in words):
                apply(self, node, schema)

    def _old_bounds(self, node: Node, schema: Keywords) -> None:
        """`exclusiveMinimum: true` of draft 4 makes `minimum` exclusive."""
        for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if schema.get(exclusive) is True and limit in schema:
                node.checks.append(ASSERTIONS[exclusive](self.document, schema[limit]))

    def refuse_endless(self) -> None:
        """SchemaError for schemas that apply each other to the same value without end."""
        finished: set[int] = set()
        for node in self._nodes.values():
            open_: set[int] = set()
            pending = [(node, False)]
            while pending:
                subschema, leaving = pending.pop()
                if leaving:
                    open_.discard(id(subschema))
                    finished.add(id(subschema))
                    continue
                if id(subschema) in finished:
                    continue
                if id(subschema) in open_:
                    raise SchemaError(ENDLESS, hint=INTO)
                open_.add(id(subschema))
                pending.append((subschema, True))
                pending += [(other, False) for other in subschema.in_place()]

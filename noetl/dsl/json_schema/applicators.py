"""The keywords that hold other schemas against a value, or against what is in it.

Each adds its check to a node, and tells the node which keys or items it looks at: that is what
`unevaluatedProperties` and `unevaluatedItems` ask for.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from noetl.dsl.json_schema.assertions import required, usable_pattern
from noetl.dsl.json_schema.document import Document, Keywords
from noetl.dsl.json_schema.limits import CHARS_PER_STEP
from noetl.dsl.json_schema.run import Check, Node, Run, Seen, excerpt
from noetl.json_value import Json


class Compiling(Protocol):
    """What an applicator needs of the compiler."""

    document: Document

    def node(self, schema: Json) -> Node:
        """The compiled form of a schema."""


Applicator = Callable[[Compiling, Node, Keywords], None]


# ---- schemas of the same value --------------------------------------------------------------------------


def all_of(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`allOf`."""
    inner = [compiling.node(subschema) for subschema in schema["allOf"]]
    node.together += inner
    node.checks += [holding(subschema) for subschema in inner]


def holding(inner: Node) -> Check:
    """The check that a value fits another schema."""
    return lambda value, run: run.holds(inner, value)


def _verdict(inner: Node) -> Check:
    return lambda value, run: run.verdict(inner, value)


def any_of(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`anyOf`."""
    inner = [compiling.node(subschema) for subschema in schema["anyOf"]]
    node.conditional += [(_verdict(subschema), subschema) for subschema in inner]

    def check(value: Json, run: Run) -> bool:
        for subschema in inner:  # a plain loop: it stands on the stack once per level
            if run.verdict(subschema, value):
                return True
        return run.fail(
            f"{excerpt(value)} is not valid under any of the schemas listed in the 'anyOf' keyword"
        )

    node.checks.append(check)


def one_of(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`oneOf`."""
    inner = [compiling.node(subschema) for subschema in schema["oneOf"]]
    node.conditional += [(_verdict(subschema), subschema) for subschema in inner]

    def check(value: Json, run: Run) -> bool:
        fitting = 0
        for subschema in inner:
            fitting += run.verdict(subschema, value)
            if fitting > 1:
                break
        how = "more than one" if fitting else "any"
        negated = "" if fitting else "not "
        return fitting == 1 or run.fail(
            f"{excerpt(value)} is {negated}valid under {how} of the schemas listed in the 'oneOf' keyword"
        )

    node.checks.append(check)


def negation(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`not`."""
    inner, words = compiling.node(schema["not"]), excerpt(schema["not"])
    node.apart.append(inner)
    node.checks.append(
        lambda value, run: (
            not run.verdict(inner, value) or run.fail(f"{words} is not allowed for {excerpt(value)}")
        )
    )


def condition(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`if`, `then` and `else`."""
    test = compiling.node(schema["if"])
    then, otherwise = (compiling.node(schema.get(word, True)) for word in ("then", "else"))
    node.conditional += [
        (_verdict(test), test),
        (_verdict(test), then),
        (lambda value, run: not run.verdict(test, value), otherwise),
    ]
    node.checks.append(lambda value, run: run.holds(then if run.verdict(test, value) else otherwise, value))


def dependent_schemas(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`dependentSchemas`."""
    for name, subschema in schema["dependentSchemas"].items():
        _depend(compiling, node, name, subschema)


def dependencies(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`dependencies` of the older drafts: names that must be there too, or a schema."""
    for name, subschema in schema["dependencies"].items():
        if isinstance(subschema, list):
            needed = required(compiling.document, subschema)
            node.checks.append(_when_present(name, needed))
        else:
            _depend(compiling, node, name, subschema)


def _depend(compiling: Compiling, node: Node, name: str, schema: Json) -> None:
    inner = compiling.node(schema)
    node.conditional.append((lambda value, run: isinstance(value, dict) and name in value, inner))
    node.checks.append(_when_present(name, holding(inner)))


def _when_present(name: str, check: Check) -> Check:
    return lambda value, run: not isinstance(value, dict) or name not in value or check(value, run)


# ---- schemas of what is in a mapping --------------------------------------------------------------------


def properties(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`properties`, `patternProperties` and `additionalProperties`, which know of each other."""
    named = {name: compiling.node(subschema) for name, subschema in schema.get("properties", {}).items()}
    patterns = [
        (usable_pattern(text), compiling.node(subschema))
        for text, subschema in schema.get("patternProperties", {}).items()
    ]
    rest = compiling.node(schema["additionalProperties"]) if "additionalProperties" in schema else None
    closed = schema.get("additionalProperties") is False

    def check(value: Json, run: Run) -> bool:
        if not isinstance(value, dict):
            return True
        fits = True
        if patterns or rest is not None:
            unexpected = []
            for name, item in value.items():
                schemas = _for(name, named, patterns, None if closed else rest, run)
                if closed and not schemas:
                    unexpected.append(repr(name))
                for subschema in schemas:
                    fits = run.holds_at(subschema, item, name) and fits
                if (unexpected or not fits) and run.enough():
                    return False
            return fits if not unexpected else _unexpected("Additional properties", unexpected, run)
        run.spend(len(named))
        for name, subschema in named.items():
            if name in value and not run.holds_at(subschema, value[name], name):
                fits = False
                if run.enough():
                    return False
        return fits

    node.checks.append(check)
    node.names = lambda value: {
        name
        for name in value
        if rest is not None or name in named or any(p.search(name) for p, _ in patterns)
    }


def _for(
    name: str,
    named: Mapping[str, Node],
    patterns: list[tuple[re.Pattern[str], Node]],
    rest: Node | None,
    run: Run,
) -> list[Node]:
    """The schemas of what is under a key."""
    run.spend(1 + len(patterns) * (1 + len(name) // CHARS_PER_STEP))
    fitting = [subschema for usable, subschema in patterns if usable.search(name)]
    if name in named:
        fitting.append(named[name])
    return fitting or ([] if rest is None else [rest])


def property_names(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`propertyNames`."""
    inner = compiling.node(schema["propertyNames"])
    node.checks.append(
        lambda value, run: (
            not isinstance(value, dict) or _every(run, (run.holds(inner, name) for name in value))
        )
    )


def _every(run: Run, verdicts: Iterable[bool]) -> bool:
    fits = True
    for fitting in verdicts:
        if not fitting:
            fits = False
            if run.enough():
                break
    return fits


def unevaluated_properties(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`unevaluatedProperties`; it comes after all others."""
    inner = compiling.node(schema["unevaluatedProperties"])
    others = _others(node)

    def check(value: Json, run: Run) -> bool:
        if not isinstance(value, dict):
            return True
        evaluated = run.seen_names(others, value)
        wrong = [name for name in value if name not in evaluated and not run.verdict(inner, value[name])]
        return not wrong or _unexpected("Unevaluated properties", [repr(name) for name in wrong], run)

    node.checks.append(check)
    node.names = set


def _unexpected(what: str, words: list[str], run: Run) -> bool:
    were = "was" if len(words) == 1 else "were"
    return run.fail(f"{what} are not allowed ({', '.join(words[:5])} {were} unexpected)")


def _others(node: Node) -> Node:
    """What a schema looks at without its own `unevaluated` keywords."""
    others = Node()
    others.together, others.conditional = list(node.together), list(node.conditional)
    others.names, others.indexes = node.names, node.indexes
    return others


# ---- schemas of what is in a list -----------------------------------------------------------------------


def items(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`prefixItems` and `items`; in older drafts a list of `items` and `additionalItems`."""
    prefix_items, word = schema.get("prefixItems", []), "items"
    if isinstance(schema.get("items"), list):
        prefix_items, word = schema["items"], "additionalItems"
    first = [compiling.node(subschema) for subschema in prefix_items]
    rest = compiling.node(schema[word]) if word in schema else None

    def check(value: Json, run: Run) -> bool:
        if not isinstance(value, list):
            return True
        prefix = len(first)
        fits = True
        for index, item in enumerate(value):
            subschema = first[index] if index < prefix else rest
            if subschema is None:
                break
            if not run.holds_at(subschema, item, index):
                fits = False
                if run.enough():
                    break
        return fits

    node.checks.append(check)
    _looks_at(
        node, lambda value, run: set(range(len(value) if rest is not None else min(len(first), len(value))))
    )


def _looks_at(node: Node, indexes: Callable[[list[Json], Run], Seen]) -> None:
    before = node.indexes
    node.indexes = indexes if before is None else lambda value, run: before(value, run) | indexes(value, run)


def contains(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`contains`, with `minContains` and `maxContains`."""
    inner = compiling.node(schema["contains"])
    least, most = schema.get("minContains", 1), schema.get("maxContains")

    def check(value: Json, run: Run) -> bool:
        if not isinstance(value, list):
            return True
        fitting = 0
        for item in value:
            fitting += run.verdict(inner, item)
            if most is None and fitting >= least:
                return True
        if fitting < least:
            return run.fail(
                f"None of {excerpt(value)} are valid under the given schema"
                if not fitting
                else f"{excerpt(value)} has less than {int(least)} items "
                "that are valid under the given schema"
            )
        return (
            most is None
            or fitting <= most
            or run.fail(
                f"{excerpt(value)} has more than {int(most)} items that are valid under the given schema"
            )
        )

    node.checks.append(check)
    _looks_at(
        node,
        lambda value, run: {index for index, item in enumerate(value) if run.verdict(inner, item)},
    )


def unevaluated_items(compiling: Compiling, node: Node, schema: Keywords) -> None:
    """`unevaluatedItems`; it comes after all others."""
    inner = compiling.node(schema["unevaluatedItems"])
    others = _others(node)

    def check(value: Json, run: Run) -> bool:
        if not isinstance(value, list):
            return True
        evaluated = run.seen_indexes(others, value)
        wrong = [
            item
            for index, item in enumerate(value)
            if index not in evaluated and not run.verdict(inner, item)
        ]
        return not wrong or _unexpected("Unevaluated items", [f"'{excerpt(item)}'" for item in wrong], run)

    node.checks.append(check)
    node.indexes = lambda value, run: set(range(len(value)))


APPLICATORS: Mapping[str, tuple[tuple[str, ...], Applicator]] = {
    "properties": (("properties", "patternProperties", "additionalProperties"), properties),
    "propertyNames": (("propertyNames",), property_names),
    "items": (("prefixItems", "items"), items),
    "contains": (("contains",), contains),
    "allOf": (("allOf",), all_of),
    "anyOf": (("anyOf",), any_of),
    "oneOf": (("oneOf",), one_of),
    "not": (("not",), negation),
    "if": (("if",), condition),
    "dependentSchemas": (("dependentSchemas",), dependent_schemas),
    "dependencies": (("dependencies",), dependencies),
    "unevaluatedProperties": (("unevaluatedProperties",), unevaluated_properties),
    "unevaluatedItems": (("unevaluatedItems",), unevaluated_items),
}
"""In the order of their checks: the keywords whose presence calls for an applicator, and the applicator."""

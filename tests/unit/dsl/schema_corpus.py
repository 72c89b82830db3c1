"""JSON Schemas of hostile authors, and schemas and values at random."""

import random
from typing import Any

TYPES = ["string", "integer", "object", "array", "null", "number", "boolean"]


def doubled(levels: int, leaf: Any, word: str = "allOf", times: int = 4) -> dict[str, Any]:
    """A schema of few lines that asks the same of one value again and again."""
    level = {f"l{i}": {word: [{"$ref": f"#/$defs/l{i + 1}"}] * times} for i in range(levels)}
    return {"$ref": "#/$defs/l0", "$defs": {**level, f"l{levels}": leaf}}


def nested(levels: int, value: Any = 1) -> Any:
    """Lists inside one another."""
    for _ in range(levels):
        value = [value]
    return value


def _descending(levels: int) -> dict[str, Any]:
    level = {
        f"l{i}": {"items": {"allOf": [{"$ref": f"#/$defs/l{i + 1}"}, {"$ref": f"#/$defs/l{i + 1}"}]}}
        for i in range(levels)
    }
    return {"$ref": "#/$defs/l0", "$defs": {**level, f"l{levels}": {"type": "string"}}}


BOMBS: list[tuple[str, Any, Any]] = [
    ("allOf that fails", doubled(40, {"type": "string"}), 1),
    ("allOf that fits", doubled(40, {"type": "integer"}), 1),
    ("anyOf", doubled(40, {"type": "string"}, "anyOf"), 1),
    ("oneOf", doubled(40, {"type": "string"}, "oneOf"), 1),
    ("into the value", _descending(30), nested(30)),
    ("not", {"not": doubled(30, {"type": "string"})}, 1),
    ("errors without end", {"items": {"type": "string"}}, [1] * 50_000),
    ("errors in anyOf", {"anyOf": [{"items": {"type": "string"}}] * 50}, [1] * 50_000),
    ("many schemas", {"allOf": [{"items": {"pattern": "b$"}}] * 300}, ["b"] * 5_000),
    ("a pattern that steps back", {"pattern": "(a+)+$"}, "a" * 100_000 + "b"),
    ("patterns of keys", {"patternProperties": {f"(a|a)*{i}": {} for i in range(200)}}, {"a" * 5_000: 1}),
    ("a deep value", {"items": {"$ref": "#"}}, nested(5_000)),
    ("a deep value compared", {"enum": [1]}, nested(5_000)),
    ("numbers of one hash", {"uniqueItems": True}, [k * (2**61 - 1) for k in range(20_000)]),
    (
        "unevaluated again",
        {"allOf": [{"unevaluatedProperties": True}] * 200},
        {f"k{i}": i for i in range(500)},
    ),
    ("a number of many digits", {"multipleOf": 0.1}, 10**4_000),
    ("itself", {"$ref": "#"}, 1),
    ("itself through not", {"not": {"$ref": "#"}}, 1),
    (
        "each other",
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        1,
    ),
]


class Chance:
    """Schemas and values from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def value(self, depth: int = 3) -> Any:
        """A small value."""
        pick = self._random
        made = pick.randrange(9 if depth else 5)
        if made == 7:
            return [self.value(depth - 1) for _ in range(pick.randrange(4))]
        if made == 8:
            return {pick.choice("abcd"): self.value(depth - 1) for _ in range(pick.randrange(4))}
        return pick.choice([None, True, False, 0, 1, 2, 5, -1, 1.0, 0.5, 0.3, "", "a", "ab", "abc", "1"])

    def document(self) -> dict[str, Any]:
        """A schema with two others to refer to."""
        return {**self._schema(3), "$defs": {"p": self._schema(2), "q": self._schema(1)}}

    def _any(self, depth: int) -> Any:
        return self._random.choice([True, False, {}]) if depth == 0 else self._schema(depth)

    def _schema(self, depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for _ in range(self._random.randrange(1, 4)):
            word = self._random.choice([*self._PLAIN, *self._INNER])
            schema[word] = (
                self._PLAIN[word](self) if word in self._PLAIN else self._INNER[word](self, depth - 1)
            )
        return schema

    _PLAIN = {
        "type": lambda self: self._random.choice([self._random.choice(TYPES), self._random.sample(TYPES, 2)]),
        "enum": lambda self: [self.value(1) for _ in range(3)],
        "const": lambda self: self.value(2),
        "minimum": lambda self: self._random.choice([0, 1, 0.5]),
        "maximum": lambda self: self._random.choice([0, 1, 0.5]),
        "exclusiveMinimum": lambda self: self._random.choice([0, 1]),
        "exclusiveMaximum": lambda self: self._random.choice([0, 1]),
        "multipleOf": lambda self: self._random.choice([1, 2, 0.5, 0.1]),
        "minLength": lambda self: self._random.randrange(3),
        "maxLength": lambda self: self._random.randrange(3),
        "pattern": lambda self: self._random.choice(["^a", "b$", "[a-c]+", "[0-9]"]),
        "minItems": lambda self: self._random.randrange(3),
        "maxItems": lambda self: self._random.randrange(3),
        "uniqueItems": lambda self: self._random.choice([True, False]),
        "minProperties": lambda self: self._random.randrange(3),
        "maxProperties": lambda self: self._random.randrange(3),
        "minContains": lambda self: self._random.randrange(3),
        "required": lambda self: self._random.sample("abcd", 2),
        "dependentRequired": lambda self: {self._random.choice("abcd"): ["a"]},
        "$ref": lambda self: self._random.choice(["#/$defs/p", "#/$defs/q"]),
    }
    _INNER = {
        "properties": lambda self, depth: {name: self._any(depth) for name in self._random.sample("abcd", 2)},
        "dependentSchemas": lambda self, depth: {self._random.choice("abcd"): self._any(depth)},
        "patternProperties": lambda self, depth: {self._random.choice(["^a", "[bc]"]): self._any(depth)},
        **dict.fromkeys(
            [
                "additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else",
                "unevaluatedProperties", "unevaluatedItems",
            ],
            lambda self, depth: self._any(depth),
        ),
        **dict.fromkeys(
            ["allOf", "anyOf", "oneOf", "prefixItems"],
            lambda self, depth: [self._any(depth) for _ in range(self._random.randrange(1, 3))],
        ),
    }  # fmt: skip

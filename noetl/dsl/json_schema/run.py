"""One value held against one schema: the steps that are left, what is known already, and the problems so far.

A schema that several places refer to is held against one value once: its verdict is remembered, so that no
schema costs more than its nodes times those of the value.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from typing import TypeAlias

import msgspec

from noetl.dsl.json_schema import limits
from noetl.json_value import Json

INTS_EXACT = 2**53
INT_BITS_PER_STEP = 64
INT_BITS_SHOWN = 64

Check = Callable[[Json, "Run"], bool]
Seen: TypeAlias = set[str | int]  # keys of a mapping or positions in a list
Problem = tuple[tuple[str | int, ...], str]


class Node:
    """One compiled schema: what it asks of a value, and which other schemas it applies to the same value."""

    __slots__ = ("apart", "checks", "conditional", "indexes", "names", "shared", "together")

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.shared = False
        """Whether more than one place refers to it."""
        self.together: list[Node] = []
        """Schemas of the same value that hold whenever this one does."""
        self.conditional: list[tuple[Check, Node]] = []
        """Schemas of the same value that count when their condition holds."""
        self.apart: list[Node] = []
        """Schemas of the same value that look at nothing for it."""
        self.names: Callable[[Mapping[str, Json]], Seen] | None = None
        """Which keys of a mapping its own keywords have looked at."""
        self.indexes: Callable[[list[Json], Run], Seen] | None = None
        """Which items of a list its own keywords have looked at."""

    def in_place(self) -> "list[Node]":
        """All schemas that it applies to the same value."""
        return [*self.together, *(other for _, other in self.conditional), *self.apart]


class Run:
    """The state of one evaluation."""

    __slots__ = ("_allowance", "_depth", "_evaluated", "_left", "_value", "_verdicts", "path", "problems")

    def __init__(self, value: Json, *, collecting: bool) -> None:
        self._value = value
        self._left = limits.WORK
        self._allowance: int | None = None
        self._depth = 0
        self._verdicts: dict[Hashable, bool] = {}
        self._evaluated: dict[Hashable, Seen] = {}
        self.path: list[str | int] = []
        self.problems: list[Problem] | None = [] if collecting else None
        """Where the value does not fit; None while only the verdict is wanted."""

    def holds(self, node: Node, value: Json) -> bool:
        """Whether a value fits a schema."""
        if not node.shared:
            return self._evaluate(node, value)
        # The problems of one place are named there, even if the same value fits elsewhere.
        place = None if self.problems is None else tuple(self.path)
        key = (id(node), id(value), place)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = self._evaluate(node, value)
        else:
            self.spend(1)
        return verdict

    def _evaluate(self, node: Node, value: Json) -> bool:
        self._depth += 1
        if self._depth > limits.EVALUATION_DEPTH:
            raise limits.SchemaLimit(
                f"the schema and the value go more than {limits.EVALUATION_DEPTH} levels deep",
                hint="validate the parts of the value in tasks of their own",
            )
        self.spend(2 + len(node.checks))
        fits = True
        for check in node.checks:
            if not check(value, self):
                fits = False
                if self.problems is None or len(self.problems) >= limits.PROBLEMS:
                    break
        self._depth -= 1
        return fits

    def holds_at(self, node: Node, value: Json, key: str | int) -> bool:
        """Whether what is under a key fits a schema."""
        if self.problems is None:
            return self.holds(node, value)
        self.path.append(key)
        fits = self.holds(node, value)
        self.path.pop()
        return fits

    def verdict(self, node: Node, value: Json) -> bool:
        """Whether a value fits, without naming why not: one of several schemas may fail."""
        problems, self.problems = self.problems, None
        fits = self.holds(node, value)
        self.problems = problems
        return fits

    def fail(self, message: str) -> bool:
        """The value here does not fit; always False."""
        if self.problems is not None and len(self.problems) < limits.PROBLEMS:
            self.problems.append((tuple(self.path), message))
        return False

    def enough(self) -> bool:
        """Whether a failure need not be looked into any further."""
        return self.problems is None or len(self.problems) >= limits.PROBLEMS

    def spend(self, steps: int) -> None:
        """Take steps; SchemaLimit when there are not enough left."""
        self._left -= steps
        if self._left >= 0:
            return
        if self._allowance is None:
            self._allowance = limits.WORK_PER_NODE * _nodes(self._value)
            self._left += self._allowance
            if self._left >= 0:
                return
        raise limits.SchemaLimit(
            f"the check against the schema takes more than {limits.WORK + self._allowance:,} steps of work",
            hint="use fewer schemas for one value, or check it in a python task",
        )

    def seen_names(self, node: Node, value: dict[str, Json]) -> Seen:
        """The keys of a mapping that a schema, and those it applies in place, have looked at."""
        return self._seen(
            node, value, "names", lambda subschema: subschema.names(value) if subschema.names else set()
        )

    def seen_indexes(self, node: Node, value: list[Json]) -> Seen:
        """The items of a list that a schema, and those it applies in place, have looked at."""
        return self._seen(
            node,
            value,
            "indexes",
            lambda subschema: subschema.indexes(value, self) if subschema.indexes else set(),
        )

    def _seen(self, node: Node, value: Json, what: str, own: Callable[[Node], Seen]) -> Seen:
        key = (what, id(node), id(value))
        if key in self._evaluated:
            self.spend(1)
            return self._evaluated[key]
        seen = own(node)
        self.spend(1 + len(seen))
        for other in node.together:
            seen |= self._seen(other, value, what, own)
        for applies, other in node.conditional:
            if applies(value, self):
                seen |= self._seen(other, value, what, own)
        self._evaluated[key] = seen
        return seen


def _nodes(value: Json, most: float = math.inf) -> int:
    """How many values a value is made of, not counted further than a limit; a text counts by its length."""
    count, pending = 0, [value]
    while pending and count < most:
        item = pending.pop()
        count += 1 + (len(item) // limits.CHARS_PER_STEP if isinstance(item, str) else 0)
        if isinstance(item, dict | list):
            if len(item) >= most:
                return count + len(item)
            pending.extend(item.values() if isinstance(item, dict) else item)
    return count


def plain_key(value: Json, run: Run) -> Hashable:
    """A value as something to compare: equal exactly when JSON says so, 1 like 1.0, true unlike 1."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, str):
        run.spend(1 + len(value) // limits.CHARS_PER_STEP)
        return value
    if isinstance(value, dict):
        run.spend(1 + len(value))
        return frozenset((key, plain_key(item, run)) for key, item in value.items())
    if isinstance(value, list):
        run.spend(1 + len(value))
        return tuple([plain_key(item, run) for item in value])
    if isinstance(value, int) and abs(value) > INTS_EXACT:
        run.spend(1 + value.bit_length() // INT_BITS_PER_STEP)
        return ("integer", str(value))  # whole numbers can be chosen so that all have one hash
    return value


def excerpt(value: Json) -> str:
    """A value as a message shows it: JSON when it is short, else what it is."""
    if isinstance(value, dict | list) and _nodes(value, limits.SHOWN_CHARS) >= limits.SHOWN_CHARS:
        entries = f"{len(value)} entries" if isinstance(value, dict) else f"{len(value)} items"
        return f"a {'mapping' if isinstance(value, dict) else 'list'} of {entries}"
    if isinstance(value, str):
        value = value if len(value) <= limits.SHOWN_CHARS else f"{value[: limits.SHOWN_CHARS]}…"
    if isinstance(value, int) and value.bit_length() > INT_BITS_SHOWN:
        return f"a number of {value.bit_length():,} bits"
    try:
        text = msgspec.json.encode(value, enc_hook=str).decode()
    except (OverflowError, TypeError, ValueError):  # what JSON cannot hold
        return f"a {type(value).__name__}"
    return text if len(text) <= limits.SHOWN_CHARS + 3 else f"{text[: limits.SHOWN_CHARS]}…"

"""Tasks that expanding sugar adds: how they are put together, and where the author finds what they come from.

None of them knows what kind of sugar it serves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from noetl.dsl.diagnostic import Mark
from noetl.dsl.sugar.labels import END, generated
from noetl.dsl.yaml.tree import Map, Seq, Value

Placed = tuple[Value, Mark]  # an item of a pipeline and where it stands


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a label inside sugar comes from: the step or block, the item, the clause of it, and the place."""

    owner: str  # a step's name, or `workbook/` and a block's
    label: str
    item: str
    clause: str
    mark: Mark


class At(NamedTuple):
    """A value of the author's in a generated node, with its own place."""

    value: Value
    mark: Mark


@dataclass(frozen=True, slots=True)
class Item:
    """One well-formed sugar item: its label, the scope of what is inside, and how to read its clauses."""

    label: str
    word: str
    node: Map
    mark: Mark
    inside: Callable[[Seq, str], list[Placed]]  # the author's tasks of a clause, expanded
    first: Callable[[Seq], str]  # the label control goes to when it goes to a list of tasks
    note: Callable[[str, str, Mark], None]  # remembers where a label comes from
    around: tuple[str, ...] = ()  # the words of the items around it

    @property
    def body(self) -> Value:
        """What stands under the item's word."""
        return self.node[self.word]

    def task(self, name: str, clause: str, mark: Mark | None = None, **parts: Value) -> Placed:
        """A generated task: a noop unless `kind` says otherwise."""
        label = generated(self.label, name)
        place = mark or self.mark
        self.note(label, clause, place)
        task = {"name": label, "kind": "noop", **parts}
        return positioned(task, place), place

    def deciding(self, name: str, clause: str, rules: list[Value], mark: Mark | None = None) -> Placed:
        """A generated task that only decides, before it would run."""
        return self.task(name, clause, mark, spec={"policy": {"before": rules}})

    def counting(self, name: str, clause: str, rules: list[Value], most: Value, mark: Mark) -> Placed:
        """A deciding task that may be passed only so many times while control stays in the item."""
        spec = {"limits": {"max_visits": most}, "policy": {"before": rules}}
        return self.task(name, clause, mark, spec=spec)

    def end(self, **then: Value) -> Placed:
        """Where every way out meets; passing it makes the item readable by its name."""
        return self.deciding(END, self.word, [otherwise(skip(**then))])

    def to(self, name: str, **then: Value) -> Value:
        """A jump to a generated task of this item."""
        return jump(generated(self.label, name), **then)


def when(guard: Value, then: Value) -> Value:
    """A rule."""
    return {"when": guard, "then": then}


def otherwise(then: Value) -> Value:
    """The rule that always holds."""
    return {"else": {"then": then}}


def skip(**more: Value) -> Value:
    """Go on to the next task without running this one."""
    return {"do": "skip", **more}


def jump(label: str, **more: Value) -> Value:
    """Go on at a label."""
    return {"do": "jump", "to": label, **more}


def at(node: Map, key: str) -> At:
    """The author's value under a key, with its place."""
    return At(node[key], node.at(key))


def positioned(value: Value, mark: Mark) -> Value:
    """Plain data as a tree whose every node stands at one place; the author's own nodes keep theirs."""
    if isinstance(value, Map | Seq):
        return value
    if isinstance(value, Mapping):
        node = Map(mark=mark)
        for key, item in value.items():
            place = item.mark if isinstance(item, At) else mark
            node.put(key, positioned(_bare(item), place), key_mark=mark, value_mark=place)
        return node
    if isinstance(value, list):
        items = Seq(mark=mark)
        for item in value:
            items.add(positioned(item, mark), mark)
        return items
    return value


def _bare(value: Value) -> Value:
    return value.value if isinstance(value, At) else value

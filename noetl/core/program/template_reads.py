"""What a group of templates reads, as far as it can be known before they run.

Used to send only what is named, to know when a reference or a payload is wanted, and to keep only results
that someone reads. Names are dotted paths; a path that ends early stands for everything below it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from noetl.dsl.templates.template import CompiledValue

SCOPES = frozenset(
    {
        "workload", "ctx", "step", "iter", "input", "args", "output", "event", "keychain",
        "execution_id", "_prev", "_task", "_attempt",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mentions:
    """The dotted paths that some templates read."""

    paths: frozenset[tuple[str, ...]] = frozenset()

    @classmethod
    def of(cls, values: Iterable[CompiledValue]) -> "Mentions":
        """What these values read."""
        found: set[tuple[str, ...]] = set()
        for value in values:
            found |= value.paths
        return cls(frozenset(found))

    def union(self, *others: "Mentions") -> "Mentions":
        """What any of them reads."""
        return Mentions(self.paths.union(*(other.paths for other in others)))

    def mentions(self, name: str) -> bool:
        """Whether anything below a name is read."""
        return any(path[0] == name for path in self.paths)

    def reads(self, *path: str) -> bool:
        """Whether a path, something below it, or the whole that contains it is read."""
        return any(_overlap(known, path) for known in self.paths)

    def names(self, *path: str) -> bool:
        """Whether a path or something below it is read by name; reading the whole around it is not enough."""
        return any(known[: len(path)] == path for known in self.paths)

    def below(self, *path: str) -> frozenset[str]:
        """The names read right below a path."""
        size = len(path)
        return frozenset(known[size] for known in self.paths if known[:size] == path and len(known) > size)

    def only(self, names: frozenset[str]) -> "Mentions":
        """What is read below some names."""
        return Mentions(frozenset(path for path in self.paths if path[0] in names))

    def results(self, step: str) -> "Mentions":
        """What is read of the tasks of a finished step, by their own names."""
        head = (step, "results")
        return Mentions(frozenset(path[2:] for path in self.paths if path[:2] == head and len(path) > 2))

    def of_itself(self, step: str, tasks: frozenset[str]) -> "Mentions":
        """What templates at the end of a run read of it, by the names that others have for it."""
        own = {("output", *path[1:]) for path in self.paths if path[0] == step}
        return Mentions(frozenset(own | {(step, "results", *path) for path in self.only(tasks).paths}))

    def keys(self, scope: str) -> frozenset[str] | None:
        """The keys of a scope that are read, bare names included; None means all of it."""
        if (scope,) in self.paths:
            return None
        return self.below(scope) | self.bare()

    def bare(self) -> frozenset[str]:
        """Names that are no scope: they may be keys of several scopes, tasks or steps."""
        return frozenset(path[0] for path in self.paths if path[0] not in SCOPES)


def pruned(values: Mapping[str, Any], keys: frozenset[str] | None) -> dict[str, Any]:
    """The entries of a scope that are read."""
    if keys is None:
        return dict(values)
    return {key: values[key] for key in keys if key in values}


def _overlap(known: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    size = min(len(known), len(wanted))
    return known[:size] == wanted[:size]

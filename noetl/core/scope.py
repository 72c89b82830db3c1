"""What names mean in a template: the scopes, the order in which a bare name is looked for, and what was seen.

A scope binds just the names a template reads. Rendering itself is dsl/template.py.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from noetl.core.output import bounded
from noetl.dsl.label import read_as
from noetl.dsl.template import Envelope

_MISSING: Any = object()
_EMPTY: dict[str, Any] = {}


class Scope:
    """Fixed scopes by name, then where bare names are looked for: mappings in order, tasks, steps."""

    __slots__ = ("chain", "fixed", "reader", "steps", "tasks")

    def __init__(
        self,
        fixed: dict[str, Any],
        chain: tuple[Mapping[str, Any], ...] = (),
        tasks: Mapping[str, Any] = _EMPTY,
        steps: Mapping[str, Any] = _EMPTY,
        reader: str = "",
    ) -> None:
        self.fixed = fixed
        self.chain = chain
        self.tasks = tasks
        self.steps = steps
        self.reader = reader  # the label of the task that reads: inside sugar, names near it come first

    def bind(self, names: Iterable[str]) -> dict[str, Any]:
        """The names a template reads, as far as they mean something here."""
        bound = {}
        fixed = self.fixed
        for name in names:
            value = fixed[name] if name in fixed else self._bare(name)
            if value is not _MISSING:
                bound[name] = value
        return bound

    def _bare(self, name: str) -> Any:
        for mapping in self.chain:
            if name in mapping:
                return mapping[name]
        label = read_as(self.reader, name, self.tasks)
        if label is not None:
            return Envelope(self.tasks[label])
        return _finished(self.steps[name]) if name in self.steps else _MISSING

    def out_of_reach(self, paths: Iterable[tuple[str, ...]]) -> str | None:
        """Why a template cannot be rendered here: it reads a finished step's payload that was put aside."""
        for path in paths:
            if path[0] not in self.steps or path[0] in self.fixed:
                continue
            depth = 3 if path[1:2] == ("results",) else 1
            envelope = _below_all(self.steps[path[0]], path[1:depth])
            if len(path) <= depth or not isinstance(envelope, dict) or not put_aside(envelope):
                continue
            if path[depth] not in envelope or path[depth] == "data":
                size = envelope["ref"]["meta"].get("bytes")
                told = f"{'.'.join(path)} has {size} bytes and was stored"
                return f"{told}; read it with kind: resolve and {'.'.join(path[:depth])}.ref"
        return None

    def seen(self, paths: Iterable[tuple[str, ...]]) -> dict[str, Any]:
        """The values at the paths a guard reads, small enough to be kept with the decision."""
        found = {}
        for path in sorted(paths):
            if path[0] == "keychain":
                continue
            value = self.bind((path[0],)).get(path[0], _MISSING)
            for key in path[1:]:
                value = _below(value, key)
            found[".".join(str(part) for part in path)] = None if value is _MISSING else bounded(value)
        return found


def _finished(step: Mapping[str, Any]) -> Envelope:
    """A finished step as templates read it: its tasks under `results` are envelopes too."""
    envelope = Envelope(step)
    if "results" in envelope:
        envelope["results"] = {label: Envelope(output) for label, output in envelope["results"].items()}
    return envelope


def put_aside(envelope: Mapping[str, Any]) -> bool:
    """Whether an envelope's payload rests in the result store."""
    return envelope.get("data") is None and envelope.get("status") == "ok" and "ref" in envelope


def _below_all(value: Any, path: Iterable[str]) -> Any:
    for key in path:
        value = _below(value, key)
    return value


def _below(value: Any, key: str) -> Any:
    if isinstance(value, Envelope) and key not in value:
        value = value.get("data")
    if isinstance(value, dict):
        return value.get(key, _MISSING)
    if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
        return value[int(key)]
    return _MISSING

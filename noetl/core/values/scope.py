"""What names mean in a template: the scopes, the order in which a bare name is looked for, and what was seen.

A scope binds just the names a template reads. Nothing is rendered here.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from noetl.core.shapes import Output, Reference, ScopeValues
from noetl.core.values import payload_demand
from noetl.core.values.output import bounded
from noetl.dsl.sugar.labels import read_as
from noetl.dsl.templates.values import Envelope

V = TypeVar("V")
_MISSING = object()
_NO_PAYLOADS: payload_demand.Payloads = {}
_NO_OUTPUTS: Mapping[str, Output] = {}
_NOTHING: ScopeValues = {}


class Scope:
    """Fixed scopes by name, then where bare names are looked for: mappings in order, tasks, steps.

    `payloads` are those at hand of steps whose results rest in the result store, by key; `most` is the size
    of the largest that may be. Where a scope is `damaged`, why stands for each value that is gone.
    `last` has names that whatever else has the same name hides.
    """

    __slots__ = ("chain", "damaged", "fixed", "last", "most", "payloads", "reader", "steps", "tasks")

    def __init__(
        self,
        fixed: dict[str, Any],
        chain: tuple[ScopeValues, ...] = (),
        tasks: Mapping[str, Output] = _NO_OUTPUTS,
        steps: Mapping[str, Output] = _NO_OUTPUTS,
        reader: str = "",
        *,
        payloads: payload_demand.Payloads = _NO_PAYLOADS,
        most: int = 0,
        damaged: bool = False,
        last: ScopeValues = _NOTHING,
    ) -> None:
        self.fixed = fixed
        self.chain = chain
        self.tasks = tasks
        self.steps = steps
        self.reader = reader  # the label of the task that reads: inside sugar, names near it come first
        self.payloads = payloads
        self.most = most
        self.damaged = damaged
        self.last = last

    def bind(self, names: Iterable[str]) -> dict[str, object]:
        """The names a template reads, as far as they mean something here."""
        bound = {}
        fixed = self.fixed
        for name in names:
            value = fixed[name] if name in fixed else self._bare(name)
            if value is not _MISSING:
                bound[name] = value
        return bound

    def _bare(self, name: str) -> object:
        for mapping in self.chain:
            if name in mapping:
                return mapping[name]
        label = read_as(self.reader, name, self.tasks)
        if label is not None:
            return Envelope(self.tasks[label])
        if name in self.steps:
            return _finished(self.steps[name], self.payloads, self.most)
        return self.last.get(name, _MISSING)

    def wanted(self, paths: Iterable[tuple[str, ...]]) -> list[tuple[str, Reference]]:
        """Payloads that templates with these paths read and that are not at hand: whose, and references."""
        payloads = {}
        for reading in self._readings(paths):
            ref = payload_demand.stored_payload(reading.envelope)
            if ref is not None and ref["meta"].get("bytes", 0) <= self.most:
                key = ref["locator"]["key"]
                payload = self.payloads.get(key, _MISSING)
                if payload is _MISSING or (
                    isinstance(payload, payload_demand.UnreadablePayload) and payload.kind == "backend"
                ):
                    payloads[key] = reading.owner, ref
        return list(payloads.values())

    def _readings(self, paths: Iterable[tuple[str, ...]]) -> Iterable[payload_demand.PayloadRead]:
        """What paths read of finished steps; a name that means something nearer is none."""
        steps = {path[0] for path in paths if path[0] in self.steps}
        hidden = {name for name in steps if name in self.fixed or self._near(name)} if steps else steps
        return payload_demand.payload_reads(
            self.steps, [path for path in paths if path[0] in steps and path[0] not in hidden]
        )

    def _near(self, name: str) -> bool:
        return any(name in mapping for mapping in self.chain) or (
            read_as(self.reader, name, self.tasks) is not None
        )

    def out_of_reach(self, paths: Iterable[tuple[str, ...]]) -> payload_demand.UnreadablePayload | None:
        """Why a template cannot be rendered here: it reads a payload that cannot be had."""
        event = self.fixed.get("event")
        if self.steps or event is not None:
            reads = list(self._readings(paths)) if self.steps else []
            if event is not None:
                reads += payload_demand.event_payload_reads(event, paths)
            for reading in reads:
                wrong = payload_demand.refusal(reading, self.payloads, self.most)
                if wrong is not None:
                    return wrong
        return self._gone(paths) if self.damaged else None

    def _gone(self, paths: Iterable[tuple[str, ...]]) -> payload_demand.UnreadablePayload | None:
        for path in paths:
            value = self.bind(path[:1]).get(path[0])
            for key in path[1:]:
                value = value if isinstance(value, payload_demand.UnreadablePayload) else _below(value, key)
            wrong = _unreadable(value)
            if wrong is not None:
                return payload_demand.UnreadablePayload(wrong.kind, f"{'.'.join(path)}: {wrong.message}")
        return None

    def seen(self, paths: Iterable[tuple[str, ...]]) -> dict[str, object]:
        """The values at the paths a guard reads, small enough to be kept with the decision."""
        values, fixed = {}, self.fixed
        for path in paths:
            name = path[0]
            if name == "keychain":
                continue
            value = fixed[name] if name in fixed else self._bare(name)
            for key in path[1:]:
                value = _below(value, key)
            values[".".join(path)] = None if value is _MISSING else bounded(value)
        return values


NOTHING = Scope({})  # for what reads nothing


def _finished(step: Output, payloads: payload_demand.Payloads, most: int) -> Envelope:
    """A finished step as templates read it: its tasks under `results` are envelopes too."""
    envelope = Envelope(payload_demand.in_envelope(step, payloads, most))
    if "results" in envelope:
        envelope["results"] = {
            label: Envelope(payload_demand.in_envelope(output, payloads, most))
            for label, output in envelope["results"].items()
        }
    return envelope


def _unreadable(value: object) -> payload_demand.UnreadablePayload | None:
    """Why a value, or something in it, cannot be read."""
    if isinstance(value, dict):
        return next(filter(None, map(_unreadable, value.values())), None)
    return value if isinstance(value, payload_demand.UnreadablePayload) else None


def _below(value: object, key: str) -> object:
    if isinstance(value, Envelope) and key not in value:
        value = value.get("data")
    if isinstance(value, dict):
        return value.get(key, _MISSING)
    if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
        return value[int(key)]
    return _MISSING


def pruned(values: Mapping[str, V], keys: frozenset[str] | None) -> dict[str, V]:
    """The entries of a scope that are read; None as `keys` is all of them."""
    if keys is None:
        return dict(values)
    return {key: values[key] for key in keys if key in values}

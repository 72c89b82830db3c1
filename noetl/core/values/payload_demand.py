"""Payloads that templates read although they rest in the result store: which ones, and why one cannot be had.

Nothing is loaded here. Whoever renders asks first, and has the payloads at hand, by key, when it does.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeGuard

from noetl.core.shapes import ArcEvent, Output, Reference
from noetl.core.values.output import is_reference
from noetl.dsl.templates.values import ENVELOPE_FIELDS
from noetl.json_value import Json

Path = tuple[str, ...]
TOGETHER = 4  # times the limit of one payload: what one order, or one decision, may hold of them
_EVENT = ("event", "data", "output")


@dataclass(frozen=True, slots=True)
class UnreadablePayload:
    """Stands among the payloads at hand for one that cannot be: the kind of the error, and why."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class PayloadRead:
    """A path of a template that reads the payload of an envelope; `whole`: with all else that is there."""

    path: Path
    owner: str  # the envelope as an author names it: `load`, `load.results.one`
    envelope: Output
    whole: bool


Payloads = Mapping[str, Json | UnreadablePayload]  # those at hand, by key


def stored_payload(envelope: Output) -> Reference | None:
    """The reference to an envelope's payload when that is in the result store and not in the envelope."""
    ref = envelope.get("ref")
    return ref if envelope.get("data") is None and _is_stored_reference(ref) else None


def refers_to_payload(value: object) -> TypeGuard[Reference]:
    """Whether a value is a reference that has what is read of one."""
    return is_reference(value) and isinstance(value["locator"], dict) and isinstance(value["meta"], dict)


def _is_stored_reference(ref: object) -> TypeGuard[Reference]:
    if not is_reference(ref):
        return False
    locator, meta = ref["locator"], ref["meta"]
    if not isinstance(locator, dict) or locator.get("store") != "results":
        return False
    return isinstance(meta, dict) and isinstance(locator.get("key"), str)


def is_loaded(ref: Reference, payloads: Payloads) -> bool:
    """Whether the payload of a reference is among those that were loaded."""
    return is_at_hand(ref["locator"].get("key", ""), payloads)


def is_at_hand(key: str, payloads: Payloads) -> bool:
    """Whether the payload of a key was loaded."""
    return key in payloads and not isinstance(payloads[key], UnreadablePayload)


def is_stored(envelope: Output, payloads: Payloads = MappingProxyType({})) -> bool:
    """Whether a payload of a finished step, or of a task of it, is in the result store and not at hand."""
    refs = map(stored_payload, (envelope, *(envelope.get("results") or {}).values()))
    return any(ref is not None and not is_loaded(ref, payloads) for ref in refs)


def payload_reads(steps: Mapping[str, Output], paths: Iterable[Path]) -> Iterator[PayloadRead]:
    """What paths read of finished steps and of their tasks."""
    for path in paths:
        step = steps.get(path[0])
        if step is None:
            continue
        if path[1:2] != ("results",):
            yield from _reading(path, 1, step)
        if path[1:2] in ((), ("results",)):
            tasks = step.get("results") or {}
            for task in tasks if len(path) < 3 else {path[2]} & tasks.keys():
                yield from _reading(path, 3, tasks[task], f"{path[0]}.results.{task}")


def _reading(path: Path, depth: int, envelope: Output, owner: str = "") -> Iterator[PayloadRead]:
    whole = len(path) <= depth
    if whole or path[depth] == "data" or path[depth] not in ENVELOPE_FIELDS:
        yield PayloadRead(path, owner or path[0], envelope, whole)


def event_payload_reads(event: ArcEvent, paths: Iterable[Path]) -> Iterator[PayloadRead]:
    """What paths read of the output that an event carries."""
    output = (event.get("data") or {}).get("output") or {}
    for path in paths:
        if path[0] != "event":
            continue
        size = min(len(path), len(_EVENT))
        if path[:size] == _EVENT[:size] and path[3:4] in ((), ("data",)):
            yield PayloadRead(path, str(event.get("step")), output, len(path) < len(_EVENT) + 1)


def refusal(reading: PayloadRead, payloads: Payloads, most: int) -> UnreadablePayload | None:
    """Why the payload of a reading cannot be read; None when it is in place or at hand."""
    ref = stored_payload(reading.envelope)
    name = ".".join(reading.path)
    if ref is None:
        return None if reading.whole else _elsewhere(reading, name)
    payload: object = payloads.get(ref["locator"]["key"], _MISSING)
    size = ref["meta"].get("bytes", 0)
    if size > most and not isinstance(payload, UnreadablePayload):
        payload = UnreadablePayload("limit", too_large(reading.owner, size, most))
    elif payload is _MISSING:
        payload = UnreadablePayload("reference", gone(ref))
    if not isinstance(payload, UnreadablePayload) or (reading.whole and payload.kind == "limit"):
        return None
    return UnreadablePayload(payload.kind, f"{name}: {payload.message}")


_MISSING: Final = object()


def _elsewhere(reading: PayloadRead, name: str) -> UnreadablePayload | None:
    """What a tool stored where only `kind: resolve` reads it has no payload here."""
    envelope = reading.envelope
    stored = envelope.get("data") is None and is_reference(envelope.get("ref"))
    if not stored or envelope.get("status") != "ok":
        return None
    problem = (
        f"{name}: what {reading.owner} stored is not in the result store; read it with kind: resolve and"
    )
    return UnreadablePayload("reference", f"{problem} {reading.owner}.ref")


def too_large(owner: str, size: int, most: int, *, at_least: bool = False) -> str:
    """That a payload is over the limit, and the shortest ways on."""
    stored = f"{'at least ' if at_least else ''}{size}"
    return (
        f"the result of {owner} was stored with {stored} bytes, more than limits.max_hydrate_bytes ({most}); "
        f'loop over it with in: "{{{{ {owner}.ref }}}}", take a part of it with kind: resolve and select, '
        "or raise the limit"
    )


def too_many(owner: str, most: int) -> str:
    """That a payload does not fit beside the others that are read together with it."""
    return (
        f"the result of {owner} and the others that are read with it have more than {TOGETHER} times "
        f"limits.max_hydrate_bytes ({most}) together; read them one at a time, or raise the limit"
    )


def gone(ref: Reference) -> str:
    """That a payload is not there any more."""
    return gone_from(ref["locator"].get("key"))


def gone_from(key: str | None) -> str:
    """That the payload of a key is not there any more."""
    return f"the payload {key} is gone from the result store, or damaged"


def in_envelope(envelope: Output, payloads: Payloads, most: int) -> Output:
    """An envelope with its payload in place when that is at hand and not over the limit."""
    ref = stored_payload(envelope)
    if ref is None:
        return envelope
    payload = payloads.get(ref["locator"]["key"]) if ref["meta"].get("bytes", 0) <= most else None
    return (
        envelope
        if payload is None or isinstance(payload, UnreadablePayload)
        else {**envelope, "data": payload}
    )

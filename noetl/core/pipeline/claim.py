"""A claim as the worker drives it: what its templates read beside the step's, and what it tells at its end.

Its only task is visited once per batch, so that its visit is the number of the batch.
"""

from collections.abc import Sequence
from typing import Any

from noetl.core.event import Event
from noetl.core.message import ClaimOrder
from noetl.core.pipeline.effects import Ended
from noetl.core.pipeline.frame import Frame
from noetl.core.shapes import Output
from noetl.core.values.output import problem
from noetl.dsl.model import CLAIM
from noetl.json_value import JsonObject

ROWS = "rows"  # where kinds that have more to tell than rows have them
SHOWN_KEYS = 10


def prepare(frame: Frame, claim: ClaimOrder) -> None:
    """Let templates read `claim`, and count the batch as the visit of the task."""
    own: JsonObject = {"number": claim.number, "batch": claim.batch, "key": claim.key, "last": claim.last}
    frame.iterators = {CLAIM: own}
    frame.visits = {CLAIM: claim.number - 1}


def claim_ended(frame: Frame, claim: ClaimOrder, ended: Ended) -> Event:
    """What is told of a claim: the rows that it brought, or why it failed."""
    data: dict[str, Any] = {"number": claim.number, "key": claim.key}
    rows = _rows(ended.output) if ended.well else None
    if rows is not None:
        data["count"] = len(rows)
        if rows:
            most = frame.around.limits["max_payload_bytes"] // 2
            data["rows"], data["last"] = frame.stored(rows, most), frame.stored(rows[-1])
        return _event(frame, "loop.claimed", data)
    error = ended.error or problem("value", _no_rows(ended.output), task=CLAIM)
    return _event(frame, "loop.claim.failed", {**data, "error": error})


def _event(frame: Frame, name: str, data: dict[str, Any]) -> Event:
    around = frame.around
    return Event(name, around.now(), "w", around.run, data=data)


def _rows(output: Output) -> Sequence[Any] | None:
    """The rows of an output: its data, or what stands there under `rows`; None when there is no list."""
    data = output.get("data")
    if isinstance(data, dict):
        data = data.get(ROWS)
        return data if isinstance(data, list) else None
    if data is None and "ref" not in output:
        return []
    return data if isinstance(data, list) else None


def _no_rows(output: Output) -> str:
    """What was there instead of rows, and what to do about it."""
    data = output.get("data")
    if "ref" in output:
        return "the claim brought more rows than can be read at once: claim fewer of them (claim.batch)"
    if isinstance(data, dict):
        keys = ", ".join(sorted(map(str, data))[:SHOWN_KEYS]) or "no keys"
        what = f"a mapping with {keys}"
    else:
        what = type(data).__name__
    return f"a claim must give a list of rows, and this one gave {what}; say where they are with 'output'"

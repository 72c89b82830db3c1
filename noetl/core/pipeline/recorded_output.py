"""Outputs as the log keeps them: a payload over the limit, or one whose reference is read, is put aside."""

from noetl.core.pipeline.frame import Frame
from noetl.core.program.program import Limits
from noetl.core.shapes import Output
from noetl.core.values.event_size import RIDES_BYTES, largest
from noetl.core.values.output import externalise, is_reference, size_of
from noetl.json_value import Json

SHOWN_BYTES = 2048


def recorded(frame: Frame, output: Output, beside: int = 0) -> Output:
    """The envelope as the log keeps it: a payload over the limit, or every one, is put aside.

    `beside`: how many bytes of the limit other values of the event take.
    """
    value = output.get("data")
    if value is None or isinstance(value, bool | int | float):
        return output
    around = frame.around
    if not around.program.reference_first and _fits(value, around.limits, beside):
        return output
    return _put_aside(frame, output)


def _fits(value: Json, limits: Limits, beside: int) -> bool:
    size, most = size_of(value), int(limits["max_payload_bytes"])
    return size <= most and size + beside <= most + RIDES_BYTES


def recorded_together(
    frame: Frame, output: Output, results: dict[str, Output]
) -> tuple[Output, dict[str, Output]]:
    """A run's output and those of its tasks as one event keeps them: payloads go until the rest fits."""
    if not results:
        return recorded(frame, output), {}
    parts = [recorded(frame, envelope) for envelope in (output, *results.values())]
    sizes = [0 if part.get("data") is None else size_of(part["data"]) for part in parts]
    for place in largest(sizes, frame.around.limits["max_payload_bytes"]):
        parts[place] = _put_aside(frame, parts[place])
    return parts[0], dict(zip(results, parts[1:], strict=True))


def _put_aside(frame: Frame, output: Output) -> Output:
    if is_reference(output.get("ref")):
        return {**output, "data": None}
    ref, payload = externalise(frame.around.execution_id, output.get("data"))
    frame.around.payloads.append(payload)
    return {**output, "data": None, "ref": ref}


def trace_value(value: Json) -> Json:
    """A written value as the detail event keeps it."""
    return value if size_of(value) <= SHOWN_BYTES else {"bytes": size_of(value)}


def with_ref(frame: Frame, output: Output) -> Output:
    if not frame.pipeline.wants_ref or output["status"] != "ok" or is_reference(output.get("ref")):
        return output
    ref, payload = externalise(frame.around.execution_id, output.get("data"))
    frame.around.payloads.append(payload)
    return {**output, "ref": ref}

"""Outputs as the log keeps them: a payload over the limit, or one whose reference is read, is put aside."""

from typing import Any

from noetl.core.frame import Frame
from noetl.core.output import externalise, is_reference, size_of

SHOWN_BYTES = 2048


def recorded(frame: Frame, output: dict[str, Any]) -> dict[str, Any]:
    """The envelope as the log keeps it: a payload over the limit, or every one, is put aside."""
    value = output.get("data")
    if value is None or isinstance(value, bool | int | float):
        return output
    around = frame.around
    if not around.program.reference_first and size_of(value) <= around.limits["max_payload_bytes"]:
        return output
    if is_reference(output.get("ref")):
        return {**output, "data": None}
    ref, payload = externalise(around.execution_id, value)
    around.payloads.append(payload)
    return {**output, "data": None, "ref": ref}


def shown(value: Any) -> Any:
    """A written value as the detail event keeps it."""
    return value if size_of(value) <= SHOWN_BYTES else {"bytes": size_of(value)}


def with_ref(frame: Frame, output: dict[str, Any]) -> dict[str, Any]:
    if not frame.pipeline.wants_ref or output["status"] != "ok" or is_reference(output.get("ref")):
        return output
    ref, payload = externalise(frame.around.execution_id, output.get("data"))
    frame.around.payloads.append(payload)
    return {**output, "ref": ref}

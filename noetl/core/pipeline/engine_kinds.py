"""The kinds the engine carries out itself: noop, wait, playbook, workbook. None of them leaves for a tool."""

import hashlib
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from noetl.core.pipeline import task_policy
from noetl.core.pipeline.effects import CallBlock, Driven, ReadPayload, Sleep, Visit, parking
from noetl.core.pipeline.frame import Frame
from noetl.core.program.evaluator import EvaluationError, binding
from noetl.core.program.program import TaskSpec
from noetl.core.shapes import Output, Patch
from noetl.core.values.output import failed, ok, problem
from noetl.core.values.patch import is_marker
from noetl.core.values.payload_demand import UnreadablePayload, stored_payload
from noetl.dsl.templates.limits import TemplateError
from noetl.json_value import Json, JsonObject

SHORT_WAIT_S = 5.0
CALL_DEPTH = 32  # blocks inside one another: as deep as playbooks may call playbooks
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}")
_INDEX = re.compile(r"\[\d+\]")


def idempotency_key(frame: Frame, visit: Visit) -> str:
    """Stable over takeover and unanswered attempts; new after an answered error and on each visit."""
    around, at = frame.around, frame.at if frame.keyed is None else frame.keyed
    run = f"{around.execution_id}\x1f{around.run}\x1f{at}"
    call = f"{run}\x1f{visit.label}\x1f{visit.visit}\x1f{frame.answered}"
    return hashlib.sha256(call.encode()).hexdigest()[:32]


def answered(answer: Output, waiting: str) -> Output:
    """The output of a wait or child. An approval that was declined is an error."""
    data = answer.get("data")
    if waiting == "wait" and isinstance(data, dict) and data.get("approved") is False:
        return {
            **failed(problem("rejected", str(data.get("reason") or "the approval was declined"))),
            "data": data,
        }
    return answer


def bound_s(spec: TaskSpec) -> float | None:
    """The seconds one attempt may take; connect and read timeouts are the tool's own."""
    seconds = spec.get("timeout")
    return seconds if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None


def with_bound(spec: TaskSpec, label: str) -> TaskSpec:
    """A rendered spec whose timeout is a number, also when a template made a text of it."""
    timeout = spec.get("timeout")
    if not isinstance(timeout, str | bool | list):
        return spec
    number = math.nan
    with suppress(ValueError):
        number = float(timeout) if isinstance(timeout, str) else number
    if not math.isfinite(number):
        raise EvaluationError(
            "template", f"spec of task {label!r}: timeout {timeout!r} is not a number of seconds"
        )
    return {**spec, "timeout": number}


def too_slow(label: str, bound: float) -> Output:
    """The output of a task that took longer than its timeout."""
    return failed(problem("timeout", f"task {label!r} took longer than {bound:g} s", retryable=True))


def _noop(frame: Frame, visit: Visit, bound: float | None) -> Driven[Output]:
    yield from ()  # a generator like the others, though it never waits
    return ok(frame.prev)


def _wait(frame: Frame, visit: Visit, bound: float | None) -> Driven[Output]:
    wanted, now = visit.input, frame.around.now()
    data: dict[str, object] = {"for": "wait"}
    try:
        seconds = wait_s(wanted, now)
    except EvaluationError as error:
        return failed(problem("value", f"task {visit.label!r}: {error.message}"))
    name = _signal_name(frame, visit)
    if seconds is None and name is None:
        empty = " and ".join(sorted(wanted)) or "nothing"
        message = f"waits for a time, a signal or an approval; {empty} was given without a value"
        return failed(problem("value", f"task {visit.label!r} {message}"))
    if seconds is not None and seconds <= SHORT_WAIT_S and name is None:
        yield Sleep(seconds if bound is None else min(seconds, bound))
        return ok() if bound is None or seconds <= bound else too_slow(visit.label, bound)
    if seconds is not None:
        data["until"] = now + int(seconds * 1000)
    if name is not None:
        data["signal"] = name
    if wanted.get("approval"):
        data["approval"] = str(frame.around.redactor.clean(wanted["approval"]))
    if bound is not None:
        data["expires"] = now + int(bound * 1000)
    frame.waiting = "wait"
    answer = yield parking(frame, visit, data)
    frame.waiting = None
    return answered(answer, "wait")


def _signal_name(frame: Frame, visit: Visit) -> str | None:
    """What the awaited signal is called. An approval whose text is no name is called after its task."""
    if signal := visit.input.get("signal"):
        return str(signal)
    text = visit.input.get("approval")
    if not text or _NAME.fullmatch(str(text)):
        return str(text) if text else None
    step = frame.around.step
    place = step if visit.label == f"{step}_task" else f"{step}.{visit.label}"
    return place + "".join(_INDEX.findall(frame.at))


def wait_s(wanted: Mapping[str, Json], now: int) -> float | None:
    """How long a wait for a time takes from now; None of one for something else. Raises EvaluationError."""
    if wanted.get("seconds") is not None:
        return task_policy.seconds(wanted["seconds"], now)
    if wanted.get("until") is not None:
        return max(0.0, (_moment(wanted["until"]) - now) / 1000)
    return None


def _moment(value: Json) -> int:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise EvaluationError(
            "value", f"until is {value!r}; it must be a date and time such as 2030-01-31T12:00:00Z"
        ) from None
    if moment.tzinfo is None:
        message = f"until is {str(value)!r}, which names no time zone"
        raise EvaluationError("value", f"{message}; write one at its end, such as 2030-01-31T12:00:00Z")
    return int(moment.timestamp() * 1000)


def _playbook(frame: Frame, visit: Visit, bound: float | None) -> Driven[Output]:
    task = visit.task
    try:
        call = dict(task.call.render(binding(task.call, frame.scope(task.label))))
    except TemplateError as error:
        return failed(problem("template", f"call of task {visit.label!r}: {error.message}"))
    call["input"] = _call_input(frame, visit)
    data: dict[str, object] = {
        "for": "child",
        "call": call,
        "key": idempotency_key(frame, visit),
        "wait": call.pop("wait", True),
    }
    if is_marker(call["input"]):
        data["aside"] = True
    if bound is not None:
        data["expires"] = frame.around.now() + int(bound * 1000)
    frame.waiting = "child"
    answer: Output = yield parking(frame, visit, data)
    frame.waiting = None
    return (yield from with_payload(frame, visit, answer))


def _call_input(frame: Frame, visit: Visit) -> JsonObject:
    """What the child receives; a large input rests in the result store."""
    whole = dict(visit.input)
    around = frame.around
    return frame.stored(whole, around.limits["max_payload_bytes"]) if around.stores_call_input else whole


def with_payload(frame: Frame, visit: Visit, answer: Output) -> Driven[Output]:
    """The answer of a child with its payload, as that of any task, unless it is over the limit."""
    ref = stored_payload(answer)
    if ref is None or ref["meta"].get("bytes", 0) > frame.around.limits["max_hydrate_bytes"]:
        return answer
    payload = yield ReadPayload(visit.task.label, ref)
    if isinstance(payload, UnreadablePayload):
        return failed(problem(payload.kind, f"the output of task {visit.label!r}: {payload.message}"))
    return {**answer, "data": payload}


def _call(visit: Visit, number: int) -> str:
    """What one call of a task is known by: the first one by its label alone."""
    return visit.label if (visit.visit, number) == (1, 1) else f"{visit.label}.{visit.visit}.{number}"


def _workbook(frame: Frame, visit: Visit, bound: float | None) -> Driven[Output]:
    task = visit.task
    block = task.block or task.label
    if frame.prefix.count("/") >= CALL_DEPTH:
        message = f"task {task.label!r}: blocks call one another more than {CALL_DEPTH} deep, here {block!r}"
        return failed(problem("limit", f"{message}; end the recursion, or use a loop"))
    at = f"{frame.at}/{_call(visit, frame.attempt)}"
    keyed = f"{frame.at if frame.keyed is None else frame.keyed}/{_call(visit, frame.answered + 1)}"
    if bound is not None and frame.call_ends is None:  # else it is taken up again
        frame.call_ends = frame.around.now() + int(bound * 1000)
        frame.moved = True  # what waits inside is told of together with this
    frame.inside = at
    ended: tuple[Output, Patch] = yield CallBlock(
        block, visit.label, at, visit.input, frame, keyed=keyed, bound=bound, ends=frame.call_ends
    )
    frame.inside, frame.call_ends = None, None
    output, writes = ended
    frame.write(writes)
    return output


OWN_KINDS = frozenset({"noop", "wait", "playbook"})
"""Those whose end is in the log, not in the hands of somebody else."""
ENGINE_KINDS = {"noop": _noop, "wait": _wait, "playbook": _playbook, "workbook": _workbook}

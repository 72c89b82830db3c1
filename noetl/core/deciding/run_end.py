"""The end of a step run: step output and set, the terminal event, the router, the tokens that follow.

Order of effects: the run's own writes, the step's set, the guards of all arcs, the sets of the chosen arcs,
the new tokens. An error in the step's set turns the terminal event into `step.failed`.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from noetl.core.deciding import router, synthesize, template_scopes
from noetl.core.deciding.draft import Draft
from noetl.core.deciding.execution_end import awaited, cancel_left
from noetl.core.deciding.payload_hydration import hydrated
from noetl.core.program.evaluator import EvaluationError
from noetl.core.program.program import StepProgram
from noetl.core.shapes import ArcEvent, ArcEventData, ErrorObject, Output, Patch, ScopeValues, Write
from noetl.core.state import Run
from noetl.core.values.output import externalise, failed, problem, size_of
from noetl.core.values.patch import apply
from noetl.core.values.scope import Scope
from noetl.json_value import Json

PAIR_BYTES = 64  # about what stands around a value in a patch: its path, brackets


class RunOutcome(msgspec.Struct, frozen=True):
    """How a run ended: the terminal event's name, the output envelope, and what it still writes."""

    name: str
    output: Output
    writes: Patch = []
    extra: ScopeValues = {}
    by: str = "s"
    most_bytes: int = -1  # that the output can take, where a report was measured

    @classmethod
    def failed(cls, error: ErrorObject) -> "RunOutcome":
        """A run that ended in an error."""
        return cls("step.failed", failed(error))


def finish(draft: Draft, run: Run, outcome: RunOutcome) -> None:
    """End a run and route on."""
    if outcome.writes:
        publish(draft, run, outcome.writes)
    step = draft.step(run.step)
    output = with_ref(draft, step, outcome.output, outcome.most_bytes)
    if output is not outcome.output:
        outcome = replace(outcome, output=output)
    if step.ends_plainly:
        _end(draft, run, outcome)
        router.route(draft, run, outcome.name, outcome.output)
        return
    before = outcome.name
    outcome, written, left_out = _boundary(draft, run, outcome)
    if before == "loop.done" and outcome.name == "step.failed":
        outcome = replace(outcome, extra={**outcome.extra, "was": before})
    fragment = (
        synthesize.requested(draft, run, outcome.output)
        if step.synthesize and outcome.name == "step.done"
        else None
    )
    if isinstance(fragment, dict):
        outcome, fragment = replace(outcome, name="step.failed", output=failed(fragment)), None
    _end(draft, run, outcome, written, left_out)
    publish(draft, run, written, origin="set")
    if fragment is not None:
        synthesize.extend(draft, run, fragment)
    else:
        router.route(draft, run, outcome.name, outcome.output)


def _end(
    draft: Draft, run: Run, outcome: RunOutcome, written: Sequence[Write] = (), left_out: Sequence[str] = ()
) -> None:
    """Record the end, and call back the children that nothing waits for any more."""
    children = awaited(draft, run) if run.parked else []
    _record(draft, run, outcome, written, left_out)
    if children:
        cancel_left(draft, children, f"the step run {run.id} that waited for it is over")


def publish(draft: Draft, run: Run, pairs: Patch, origin: str = "run", at: str | None = None) -> None:
    """Make kept writes effective: ctx through `ctx.patched`, step in the run itself."""
    if not pairs:
        return
    patch: Patch = []
    room, used = draft.program.max_payload_bytes, 0
    for path, value in pairs:
        if path[0] != "ctx":
            continue
        entry, size = draft.measured(value)
        if patch and used + size > room:  # what has no room in one event comes in several, in order
            draft.emit("ctx.patched", run.id, at, patch=patch, origin=origin)
            patch, used = [], 0
        patch.append([path[1:], entry])
        used += size + PAIR_BYTES
    if patch:
        draft.emit("ctx.patched", run.id, at, patch=patch, origin=origin)
    own = [[path[1:], value] for path, value in pairs if path[0] == "step"]
    if own:
        run.step_scope = apply(run.step_scope, own)


def _boundary(draft: Draft, run: Run, outcome: RunOutcome) -> tuple[RunOutcome, Patch, list[str]]:
    """The step's `output`, its schema, and its `set`; any error of them is the run's."""
    step = draft.step(run.step)
    well = outcome.name != "step.failed"
    try:
        if well and step.output is not None:
            scope = _ending(draft, run, step, outcome)
            data = draft.evaluator.value(("output", run.id), step.output, scope)
            changed: Output = {**outcome.output, "data": data}
            changed.pop("ref", None)
            outcome = replace(outcome, output=with_ref(draft, step, changed), most_bytes=-1)
        if well and (schema := step.validate.get("output")):
            data = hydrated(draft, run, outcome.output).get("data")
            draft.evaluator.fits(("output", run.id), schema, data)
        if not step.set:
            return outcome, [], []
        scope = _ending(draft, run, step, outcome)
        written = draft.evaluator.writes(("set", run.id), step.set, scope, lenient=not well)
        values = draft.kept(
            [value for _, value in written.pairs], lambda: size_of(_recorded_output(draft, outcome))
        )
    except EvaluationError as error:
        if not well:  # the first error is never replaced
            return outcome, [], [".".join(write.path) for write in step.set]
        wrong = failed(problem(error.kind, error.message), outcome.output.get("loop"))
        return RunOutcome("step.failed", wrong, by=outcome.by), [], []
    pairs = [[path, value] for (path, _), value in zip(written.pairs, values, strict=True)]
    run.step_scope = apply(run.step_scope, [[path[1:], value] for path, value in pairs if path[0] == "step"])
    return outcome, pairs, written.left_out


def _ending(draft: Draft, run: Run, step: StepProgram, outcome: RunOutcome) -> Scope:
    event = event_of(run, outcome) if step.reads_event else None
    return template_scopes.ending(draft, run, event, hydrated(draft, run, outcome.output))


def event_of(run: Run, outcome: RunOutcome) -> ArcEvent:
    """The event as arcs see it."""
    output = outcome.output
    data: ArcEventData = {"output": output, "error": output.get("error"), "loop": output.get("loop")}
    return {"name": outcome.name, "step": run.step, "data": data}


def _record(
    draft: Draft, run: Run, outcome: RunOutcome, written: Sequence[Write], left_out: Sequence[str]
) -> None:
    """The terminal event. Its own output is put aside when it is too large."""
    step, final_step = draft.steps[run.step], draft.program.final_step
    well = outcome.name != "step.failed"
    data: dict[str, object] = {"output": _recorded_output(draft, outcome), **outcome.extra}
    if not well:
        data["error"] = outcome.output.get("error")
    if written:
        data["set"] = written
    if left_out:
        data["left_out"] = left_out
    if well and (final_step is None or final_step == run.step):
        data["result"] = True
    if not step.read_later:
        data["keep"] = False
    if run.fragment:
        data["fragment"] = run.fragment
    if well and step.best_effort:
        data |= _failed_iterations(run)
    draft.record(outcome.name, run.id, data, outcome.by)


def _failed_iterations(run: Run) -> dict[str, int]:
    """How many iterations a best-effort run goes on without, those of inner loops included."""
    failed = run.failed_inside + (run.loop.failed if run.loop is not None else 0)
    return {"failed_iterations": failed} if failed else {}


def with_ref(draft: Draft, step: StepProgram, output: Output, most_bytes: int = -1) -> Output:
    """The output with a reference when its payload is large or someone reads the reference."""
    value = output.get("data")
    if "ref" in output or output["status"] != "ok":
        return output
    if not step.wants_ref and not _large(draft, value, most_bytes):
        return output
    ref, payload = externalise(draft.state.execution_id, value)
    draft.payloads.append(payload)
    draft.hydrated[payload.key] = value
    return {**output, "ref": ref}


def _large(draft: Draft, value: Json, most_bytes: int) -> bool:
    """Whether a value is put aside; nothing is encoded when the report that brought it is small enough."""
    if value is None or isinstance(value, bool | int | float):
        return False
    program = draft.program
    if program.reference_first:
        return True
    if 0 <= most_bytes <= program.max_payload_bytes:
        return False
    return size_of(value) > program.max_payload_bytes


def _recorded_output(draft: Draft, outcome: RunOutcome) -> Output:
    output = outcome.output
    if "ref" in output and _large(draft, output.get("data"), outcome.most_bytes):
        output = {**output, "data": None}
    return draft.slim(output) if "results" in output else output

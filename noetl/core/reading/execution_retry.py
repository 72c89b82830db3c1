"""What a new execution keeps of an ended one: `retry` what succeeded, `rerun` what came before a step.

The runs that happen again are the chosen ones and all that came of them. Everything else is kept: its ctx
writes, its results, its counts. Tokens that kept runs sent to runs that happen again are put on their way
again. Starting the new execution is start.py's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from noetl.core.event import Event
from noetl.core.program.program import Program
from noetl.core.reading.log_history import LogHistory, PastLoop, PastRun
from noetl.core.shapes import Output, Retained, RetainedBatch, RetainedState, RunCount, TokenParts
from noetl.core.values.output import result_of
from noetl.core.values.patch import apply
from noetl.errors import Conflict, NotFound
from noetl.json_value import Json, JsonObject

Loops = Mapping[str, PastLoop | None]  # of runs that happen again


def retained_by_retry(past: LogHistory, program: Program, step: str | None = None) -> Retained | None:
    """What a retry keeps: all that succeeded, of a loop its finished iterations; None: nothing had begun."""
    if not past.tokens:
        return None
    chosen = _unsuccessful(past)
    if step is not None:
        chosen |= {_latest_unsuccessful(past, step)}
    elif past.state.status == "completed" and not chosen:
        chosen = _with_failed_iterations(past)
    return _kept(past, program, chosen, keep_iterations=True)


def retained_by_rerun(past: LogHistory, program: Program, start: str) -> Retained | None:
    """What a rerun from a step (its first run) or a step run keeps; None: nothing had begun."""
    if not past.tokens:
        return None
    run_id = start if start in past.runs else _first_run(past, start)
    return _kept(past, program, _unsuccessful(past) | {run_id}, keep_iterations=False)


def failed_before(past: LogHistory) -> str | None:
    """The execution that this one went on from, when what failed is in its log, or in one before it."""
    before = past.state.continued_from
    if before is None:
        return None
    own = _unsuccessful(past) or any(run.failed_iterations for run in past.runs.values())
    carried = past.base.get("failures") or (past.base.get("failed_iterations") and not own)
    return before["execution_id"] if carried else None


def _unsuccessful(past: LogHistory) -> set[str]:
    """The runs that failed the execution, at once or in the end, and those that its end cut off."""
    failed = {run_id for run_id, run in past.runs.items() if run.fails or run.unfinished or run.unanswered}
    open_fragments = {name for name, fragment in past.state.fragments.items() if not fragment.ended}
    return failed | open_fragments


def _with_failed_iterations(past: LogHistory) -> set[str]:
    """The runs of a completed execution that went on without some of their iterations."""
    runs = {run_id for run_id, run in past.runs.items() if run.failed_iterations}
    if runs:
        return runs
    name, origin = past.state.execution_id, past.state.retry_of
    if past.state.failed_iterations:
        message = f"the iterations that failed are of execution {origin}, from which {name} kept them"
        raise Conflict(message, hint=f"noetl execution retry {origin} --step STEP")
    hint = f"noetl execution rerun {name} --from STEP runs it again from a step"
    raise Conflict(f"execution {name} completed; there is nothing to retry", hint=hint)


def _first_run(past: LogHistory, step: str, *, retries: bool = False) -> str:
    for run_id, run in past.runs.items():
        if run.step == step:
            return run_id
    name, origin = past.state.execution_id, past.state.retry_of
    if origin is not None and step in past.base.get("steps", {}):
        message = f"step {step!r} did not run in execution {name}, which kept it of execution {origin}"
        again = f"noetl execution rerun {origin} --from {step}"
        raise NotFound(message, hint=f"noetl execution retry {origin} --step {step}" if retries else again)
    ran = ", ".join(dict.fromkeys(run.step for run in past.runs.values()))
    raise NotFound(f"step {step!r} never ran in execution {name}", hint=f"these steps ran: {ran}")


def _latest_unsuccessful(past: LogHistory, step: str) -> str:
    _first_run(past, step, retries=True)
    run_id, run = [(run_id, run) for run_id, run in past.runs.items() if run.step == step][-1]
    if run.ended == "step.failed" or run.failed_iterations:
        return run_id
    hint = f"noetl execution rerun {past.state.execution_id} --from {step}"
    raise Conflict(f"step run {run_id} has nothing that failed", hint=hint)


def _premature(past: LogHistory, program: Program, chosen: set[str]) -> set[str]:
    """Joins that ran because a branch had failed; they wait for it now that it runs again."""
    premature: set[str] = set()
    before: list[str] = []
    for run_id, run in past.runs.items():
        step = program.steps.get(run.step)
        joins = step is not None and step.join in ("sync", "all")
        if joins and any(name != run.step and program.graph.can_reach(name, run.step) for name in before):
            premature.add(run_id)
        if run_id in chosen and run.step in program.steps:
            before.append(run.step)
    return premature


def _again(past: LogHistory, chosen: Iterable[str]) -> set[str]:
    """The chosen runs and everything that came of them; a fragment happens again as a whole."""
    again: set[str] = set(chosen)
    size = -1
    while size != len(again):
        size = len(again)
        for run_id, run in past.runs.items():
            if run_id in again and run.fragment is not None:
                again.add(run.fragment)
            elif run.fragment in again or any(past.tokens[token].origin in again for token in run.tokens):
                again.add(run_id)
    return again


def _kept(past: LogHistory, program: Program, chosen: set[str], *, keep_iterations: bool) -> Retained:
    again = _again(past, chosen | _premature(past, program, chosen))
    retained = {run_id: run for run_id, run in past.runs.items() if run_id not in again}
    loops = {run_id: _begun_loop(past.runs[run_id], program) for run_id in chosen if keep_iterations}
    fired = {past.runs[run_id].step for run_id in again if run_id in past.runs}
    tokens = [
        _token(past, name, loops, fired)
        for name, token in past.tokens.items()
        if token.origin not in again
        and token.fragment not in again
        and (token.discarded or token.taken_by in again)
    ]
    _check_targets(tokens, program)
    state: RetainedState = {
        "ctx": _ctx(past, retained, loops),
        "results": _results(past, retained, program),
        "steps": _counts(past, retained),
        "failures": [
            *past.base.get("failures", ()),
            *(run.failure for run in retained.values() if run.failure),
        ],
        "signals": past.state.signals,
        "output": _output(past, retained),
    }
    if failed := _failed_iterations(past, retained):
        state["failed_iterations"] = failed
    left = {key: value for key, value in state.items() if value not in (None, [], {})}
    return {"state": cast("RetainedState", left), "tokens": tokens}


def _begun_loop(run: PastRun, program: Program) -> PastLoop | None:
    """The loop of a run with the iterations that need not happen again; best effort may have flawed some."""
    step = program.steps.get(run.step)
    if run.loop is None or step is None or not step.best_effort:
        return run.loop
    sound = {index: outcome for index, outcome in run.loop.done.items() if int(index) not in run.loop.flawed}
    return replace(run.loop, done=sound)


def _token(past: LogHistory, name: str, loops: Loops, fired: set[str]) -> TokenParts:
    """A token as it is put on its way again; a join that runs again itself has not fired yet."""
    token = past.tokens[name]
    taker = past.runs.get(token.taken_by or "")
    barred = taker.barred if taker is not None else token.barred
    parts: TokenParts = {**token.parts, "barred": [join for join in barred if join not in fired]}
    loop = loops.get(token.taken_by or "")
    if taker is not None and loop is not None and (loop.done or loop.batches) and taker.tokens[0] == name:
        parts["loop"] = {"total": loop.total, "collection": loop.collection, "iterations": loop.done}
        if loop.batches:
            parts["loop"]["batches"] = _unfinished_rows(loop)
    return parts


def _unfinished_rows(loop: PastLoop) -> list[RetainedBatch]:
    """The batches of a loop that claims its items; rows of which all are done are not needed again."""
    batches: list[RetainedBatch] = []
    first = 0
    for batch in loop.batches:
        last = first + batch["count"]
        over = all(str(index) in loop.done for index in range(first, last))
        batches.append({"count": batch["count"], "last": batch.get("last")} if over else batch)
        first = last
    return batches


def _check_targets(tokens: list[TokenParts], program: Program) -> None:
    missing = sorted({token["step"] for token in tokens} - set(program.steps))
    if missing:
        raise Conflict(
            f"the playbook has no step {', '.join(map(repr, missing))}, to which what is kept leads",
            hint="rerun from an earlier step",
        )


def _ctx(past: LogHistory, retained: dict[str, PastRun], loops: Loops) -> JsonObject:
    """ctx as the kept runs wrote it, the kept iterations of a sequential loop included."""
    ctx = past.base.get("ctx", {})
    for run_id, index, patch in past.patches:
        if run_id in retained or _kept_iteration(loops.get(run_id), index):
            ctx = apply(ctx, patch)
    return ctx


def _kept_iteration(loop: PastLoop | None, index: int | None) -> bool:
    return loop is not None and str(index) in loop.done


def _results(past: LogHistory, retained: dict[str, PastRun], program: Program) -> dict[str, Output]:
    """The latest kept output of every step that a template reads."""
    results = dict(past.base.get("results", {}))
    for run in retained.values():
        step_program = program.steps.get(run.step)
        if run.ended is not None and (step_program is None or step_program.read_later):
            results[run.step] = run.output
    return results


def _counts(past: LogHistory, retained: dict[str, PastRun]) -> dict[str, RunCount]:
    counts: dict[str, RunCount] = {step: {**count} for step, count in past.base.get("steps", {}).items()}
    for run in retained.values():
        count = counts.setdefault(run.step, {"runs": 0})
        count["runs"] += 1
        count["status"] = "failed" if run.ended == "step.failed" else "done"
    return counts


def _output(past: LogHistory, retained: dict[str, PastRun]) -> Json:
    output = past.base.get("output")
    for run in retained.values():
        if run.result:
            output = result_of(run.output)
    return output


def _failed_iterations(past: LogHistory, retained: dict[str, PastRun]) -> int:
    return past.base.get("failed_iterations", 0) + sum(run.failed_iterations for run in retained.values())


def past_of(execution_id: str, events: Iterable[Event]) -> LogHistory:
    """The execution, looked back upon; raises Conflict while it is not over."""
    past = LogHistory.of(execution_id, events)
    if not past.state.ended:
        raise Conflict(
            f"execution {execution_id} is {past.state.status}; only an ended one can be run again",
            hint=f"noetl execution resume {execution_id}, or cancel it first",
        )
    return past

"""Loops as the worker drives them: frames of iterations, and what the iterations of one level amount to.

The outer loop's outcome is the server's (loop.py); inner loops and block loops end here. Concurrency, and so
everything that waits, is the worker's shell.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from noetl.core.event import Event
from noetl.core.fold import outer_index
from noetl.core.pipeline.effects import Ended
from noetl.core.pipeline.frame import Frame, PipelineContext
from noetl.core.pipeline.recorded_output import recorded
from noetl.core.program.program import LoopProgram, Pipeline
from noetl.core.shapes import ErrorObject, IterationRecord, Output, Patch
from noetl.core.state import loop_totals
from noetl.core.values.error_details import short
from noetl.core.values.event_size import MARKER_BYTES, bounded_errors
from noetl.core.values.loop_merge import merged
from noetl.core.values.output import failed, ok, problem, size_of
from noetl.core.values.patch import PatchProblem, assign, look_up
from noetl.json_value import Json, JsonObject


class InnerLoop(msgspec.Struct):
    """One level of iteration: where it is, what it iterates, and what every iteration starts from."""

    address: str
    loop: LoopProgram
    pipeline: Pipeline
    around: PipelineContext
    total: int
    share: int
    best_effort: bool
    input: JsonObject
    ctx: JsonObject
    step: JsonObject
    args: JsonObject
    parent: JsonObject | None = None
    iterators: JsonObject = {}
    prefix: str = ""
    buffered: bool = False  # an enclosing loop is parallel
    inner: LoopProgram | None = None
    reduced: Mapping[tuple[str, ...], str] = {}  # by enclosing loops
    keyed: str | None = None  # see Frame
    within: int | None = None

    def frame(self, index: int, item: Json) -> Frame:
        """The frame of one iteration."""
        name = self.loop.iterator
        own: JsonObject = {name: item, "index": index}
        if self.loop.claim is None:  # else nobody knows how many there will be
            own["count"] = self.total
        if self.parent is not None:
            own["parent"] = self.parent
        return Frame(
            at=f"{self.address}[{index}]",
            pipeline=self.pipeline,
            around=self.around,
            input=self.input,
            ctx=self.ctx,
            step=self.step,
            iter=own,
            iterators={**self.iterators, name: item},
            prefix=self.prefix,
            buffered=self.buffered or self.loop.parallel or bool(self.loop.reduce),
            reduced={**self.reduced, **self.loop.reduce} if self.loop.reduce else self.reduced,
            args=self.args,
            keyed=None if self.keyed is None else f"{self.keyed}[{index}]",
            within=self.within,
        )

    def take_up(self, outcomes: Mapping[int, "IterationOutcome"]) -> None:
        """In a sequential loop what is left to run sees what the iterations that are over wrote."""
        if self.loop.parallel:
            return
        reduced = {**self.reduced, **self.loop.reduce}
        for _, outcome in sorted(outcomes.items()):
            for path, value in outcome.writes:
                if tuple(path) in reduced:
                    continue
                if path[0] == "ctx":
                    self.ctx = assign(self.ctx, path[1:], value)
                else:
                    self.step = assign(self.step, path[1:], value)

    def carry(self, frame: Frame) -> None:
        """In a sequential loop the next iteration sees what this one wrote."""
        if not self.loop.parallel:
            self.ctx, self.step = frame.ctx, frame.step


class IterationOutcome(msgspec.Struct):
    """How one iteration ended."""

    well: bool
    output: Output
    error: ErrorObject | None = None
    writes: Patch = []
    broke: bool = False

    @classmethod
    def of(cls, ended: Ended, writes: Patch) -> "IterationOutcome":
        """The outcome of an iteration whose pipeline ended."""
        return cls(ended.well, ended.output, ended.error, writes, ended.broke)

    @classmethod
    def known(cls, data: IterationRecord) -> "IterationOutcome":
        """The outcome that an earlier report recorded."""
        error = data.get("error")
        return cls(error is None, data.get("output") or ok(), error, list(data.get("writes", ())))


def iteration_started(around: PipelineContext, at: str) -> None:
    """Say that an iteration begins."""
    around.record(Event("loop.iteration.started", around.now(), "w", around.run, at))


def iteration_ended(frame: Frame, outcome: IterationOutcome) -> None:
    """Say how an iteration ended; a successful output is put aside when it is large."""
    around = frame.around
    data: dict[str, Any] = {}
    if outcome.writes:
        data["writes"] = frame.fit(outcome.writes)
    if outcome.well:
        output = (
            recorded(frame, outcome.output, size_of(data["writes"]) if "writes" in data else 0)
            if outer_index(frame.at) is not None
            else _taken_up_again(frame, outcome)
        )
        if output.get("data") is not None or "ref" in output or output["status"] != "ok":
            data["output"] = {
                key: output[key] for key in ("status", "data", "ref", "error") if output.get(key) is not None
            }
        if outcome.broke:
            data["break"] = True
    else:
        data["error"] = outcome.error if outer_index(frame.at) is not None else _told_again(frame, outcome)
    name = "loop.iteration.done" if outcome.well else "loop.iteration.failed"
    around.record(Event(name, around.now(), "w", around.run, frame.at, None, None, None, data or None))


def _taken_up_again(frame: Frame, outcome: IterationOutcome) -> Output:
    """The output of an inner iteration: whoever takes the enclosing one over goes on with it as it was."""
    most = MARKER_BYTES if outcome.writes else None  # which have room beside it then
    return {**outcome.output, "data": frame.stored(outcome.output.get("data"), most)}


def _told_again(frame: Frame, outcome: IterationOutcome) -> ErrorObject:
    """The error of an inner iteration, kept like its output."""
    error: ErrorObject = {**(outcome.error or {})}
    if "details" in error:
        error["details"] = frame.stored(error["details"])
    return error


def inner_loop_result(level: InnerLoop, outcomes: Sequence[IterationOutcome | None]) -> tuple[Output, Patch]:
    """What an inner loop amounts to: its output envelope and the writes it passes outward."""
    errors = [
        (i, iteration_outcome.error)
        for i, iteration_outcome in enumerate(outcomes)
        if iteration_outcome is not None and not iteration_outcome.well
    ]
    done = sum(
        1 for iteration_outcome in outcomes if iteration_outcome is not None and iteration_outcome.well
    )
    totals = loop_totals(level.total, done, len(errors))
    if errors and not level.best_effort:
        return failed(errors[0][1] or {}, loop=totals), []
    if errors:
        totals["errors"] = bounded_errors([(index, short(error or {})) for index, error in errors[:100]])
    data = [
        iteration_outcome.output.get("data")
        if iteration_outcome is not None and iteration_outcome.well
        else None
        for iteration_outcome in outcomes
    ]
    try:
        writes = _combined(level, outcomes)
    except PatchProblem as wrong:
        return failed(problem("conflict", str(wrong)), loop=totals), []
    return {**ok(data), "loop": totals}, writes


def _combined(level: InnerLoop, outcomes: Sequence[IterationOutcome | None]) -> Patch:
    """All writes in index order; a failed iteration contributes nothing."""
    writes = [
        (index, path, value)
        for index, iteration_outcome in enumerate(outcomes)
        if iteration_outcome is not None and iteration_outcome.well
        for path, value in iteration_outcome.writes
    ]
    return merged(
        writes,
        reduce=level.loop.reduce,
        parallel=level.loop.parallel,
        existing=lambda key: look_up(level.ctx if key[0] == "ctx" else level.step, key[1:]),
        outer=level.reduced,
    )

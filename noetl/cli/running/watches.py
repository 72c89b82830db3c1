"""What a run shows where there is no terminal: one JSON object, a stream of events, or plain lines."""

import sys
import time

import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.cli.formats import text
from noetl.cli.options import server_flag
from noetl.cli.playbooks.sources import Source
from noetl.cli.running.progress import LoopProgress, Progress, StepProgress
from noetl.cli.running.run_summary import (
    duration,
    error_lines,
    flawed_lines,
    number,
    stuck_lines,
    tally_lines,
)
from noetl.cli.running.runner import Watch
from noetl.cli.terminal import Paint, Tone, colourful, emit, emit_json, note
from noetl.core.event import Event, envelope
from noetl.dsl.diagnostic import finding_fields
from noetl.errors import PlaybookError
from noetl.json_value import Json
from noetl.ports.answers import ExecutionAnswer

LOOP_LINE_S = 10.0  # how often a long loop says in a log file how far it is


class JsonWatch(Watch):
    """`--json`: nothing but one object at the end."""

    def rejected(self, source: Source, error: PlaybookError) -> None:
        findings = [finding_fields(item) for item in error.diagnostics]
        emit_json({"status": "rejected", "diagnostics": findings})

    def ended(self, result: ExecutionAnswer) -> None:
        emit_json(result)

    def detached(self, result: ExecutionAnswer) -> None:
        emit_json(result)


class EventWatch(Watch):
    """`--events`: every event of the execution, a line each, as it is committed."""

    listens = True

    def __init__(self) -> None:
        self._execution_id, self._last = "", 0

    def rejected(self, source: Source, error: PlaybookError) -> None:
        """Findings are no events; they go where errors go."""
        print_findings(source, error)

    def began(self, execution_id: str, path: str, page: str | None = None) -> None:
        self._execution_id = execution_id

    def receive(self, first: int, events: list[Event]) -> None:
        """Print the events that were not printed yet."""
        numbered = [(seq, event) for seq, event in enumerate(events, first) if seq > self._last]
        if numbered:
            self._last = numbered[-1][0]
            encode, name = msgspec.json.encode, self._execution_id
            emit("\n".join(encode(envelope(name, seq, event)).decode() for seq, event in numbered))

    def continued(self, execution_id: str) -> None:
        self._execution_id, self._last = execution_id, 0

    def detached(self, result: ExecutionAnswer) -> None:
        """Its events are printed by whoever asks for them."""
        note(result["execution_id"])


def emit_output(output: Json, *, raw: bool) -> None:
    """Print what a run gave, as JSON; a text as it is where that is wanted."""
    if raw and isinstance(output, str):
        emit(output)
    else:
        emit_json(output)


class TextWatch(Watch):
    """For a person or a log file: a line as each step ends, and a closing tally."""

    tick_s: float | None = 1.0

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet, self.listens = quiet, not quiet
        self.progress = Progress()
        self.paint = Paint(colourful(sys.stderr))
        self._spoke = time.monotonic()

    def rejected(self, source: Source, error: PlaybookError) -> None:
        print_findings(source, error)

    def began(self, execution_id: str, path: str, page: str | None = None) -> None:
        """Say which execution it is, and where a browser shows it."""
        if not self.quiet:
            note(f"execution {execution_id}  {path}")
            if page is not None:
                note(f"  {page}")

    def receive(self, first: int, events: list[Event]) -> None:
        self.progress.receive(first, events)
        for step in self.progress.changed:
            note(f"  {step_line(step, self.progress.now, self.paint)}")
            self._spoke = time.monotonic()
        self.progress.changed.clear()

    def continued(self, execution_id: str) -> None:
        """Begin anew: the runs of a fresh log are counted from one."""
        self.progress = Progress()
        if not self.quiet:
            self.announce(f"its log is long: it goes on as execution {execution_id}")

    def tick(self) -> None:
        """Once in a while, say how far the loops are."""
        if self.quiet or time.monotonic() - self._spoke < LOOP_LINE_S:
            return
        self._spoke = time.monotonic()
        for step in self.progress.steps.values():
            if step.active and step.loop is not None:
                note(f"  {step_line(step, now_ms(), self.paint)}")

    def ended(self, result: ExecutionAnswer) -> None:
        """The output as data, then the tally, then what failed and what can be done."""
        if result["status"] == "completed" and result["output"] is not None:
            emit_output(result["output"], raw=self.raw)
        lines = [] if self.quiet else tally_lines(result, self.paint)
        lines += flawed_lines(self.progress.flawed(), result, self.paint)
        for line in lines + self._next(result):
            note(line)

    def _next(self, result: ExecutionAnswer) -> list[str]:
        execution_id, error = result["execution_id"], result["error"]
        if error and result["status"] in ("failed", "timeout", "cancelled"):
            return error_lines(error, execution_id, self.paint)
        if result["status"] == "stuck":
            return stuck_lines(result, self.paint)
        if result["status"] not in ("interrupted", "paused"):
            return []
        resume = f"noetl execution resume {execution_id}{server_flag()}"
        return [f"  {self.paint('=', 'info')} go on with: {resume}"]

    def detached(self, result: ExecutionAnswer) -> None:
        """The id as data, and how to look after it."""
        emit(result["execution_id"])
        if not self.quiet:
            see = f"noetl execution watch {result['execution_id']}{server_flag()}"
            note(f"  {self.paint('=', 'info')} it goes on by itself; see it with: {see}")


def step_line(step: StepProgress, now: int, paint: Paint) -> str:
    """One step in words: state, name, duration, and how its loop or its attempts went."""
    tones: dict[str, Tone] = {"done": "good", "failed": "error"}
    parts = [paint(f"{step.state:<7}", tones.get(step.state, "info")), step.name]
    if step.runs > 1:
        parts.append(f"(run {step.runs})")
    if step.loop is not None:
        parts.append(loop_words(step.loop))
    if step.attempt > 1:
        parts.append(f"{step.attempt} attempts")
    parts.append(step.why if step.state == "waiting" and step.why else duration(step.elapsed(now)))
    return "  ".join(parts)


def loop_words(loop: LoopProgress) -> str:
    """A loop in words: how many went well, failed and run."""
    parts = [f"{number(loop.done)}/{number(loop.total)} ok"]
    if loop.claiming:
        parts = [f"{number(loop.done)} ok of {number(loop.total)} claimed so far"]
    if loop.failed:
        parts.append(f"{number(loop.failed)} failed")
    if loop.running:
        parts.append(f"{number(loop.running)} running")
    if loop.kept:
        parts.append(f"{number(loop.kept)} kept")
    return " · ".join(parts)


def print_findings(source: Source, error: PlaybookError | None = None) -> None:
    """Every finding of a playbook, as a compiler prints them: as it is checked here, or as it was refused."""
    from noetl.cli.playbooks.validation import check, with_findings

    paint = Paint(colourful(sys.stderr))
    checked = check(source) if error is None else with_findings(source, error.diagnostics)
    note(text.findings_text([checked], paint))
    note(text.summary_line([checked], paint))

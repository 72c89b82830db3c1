"""Where an execution stands, as its graph shows it: steps with their runs, arcs with what they saw, tokens.

One pass over the log, event by event, so a live execution is read on from where the last look ended. Nothing
here knows the playbook: the graph's shape comes from elsewhere and is joined by step name and arc number.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from noetl.core import event_data
from noetl.core.deciding.waiting_status import status_of, waiting_runs
from noetl.core.event import TERMINAL, Event, iso, step_of
from noetl.core.fold import evolve
from noetl.core.reading import views
from noetl.core.shapes import ErrorObject, LoopCounts
from noetl.core.state import Run, State

REFUSALS_MOST = 500


class Turn(event_data.Controlled, total=False):
    """What is read of the events that change the status of an execution."""

    status: str


@dataclass(slots=True)
class _Step:
    """All runs of one step so far."""

    runs: int = 0
    done: int = 0
    failed: int = 0
    retries: int = 0
    refused: int = 0
    duration_ms: int = 0  # of the runs that have ended
    started_at: int | None = None
    ended_at: int | None = None
    last: str = "idle"
    error: ErrorObject | None = None
    loop: LoopCounts | None = None


@dataclass(slots=True)
class _Arc:
    """What an arc was asked so far."""

    to: str
    taken: int = 0
    not_taken: int = 0
    not_asked: int = 0
    seq: int = 0
    record: event_data.ArcRecord = field(default_factory=event_data.ArcRecord)


class Progress:
    """The reader of one log."""

    def __init__(self, execution_id: str) -> None:
        self.state = State(execution_id)
        self._steps: dict[str, _Step] = {}
        self._arcs: dict[tuple[str, int], _Arc] = {}
        self._refusals: deque[views.Refusal] = deque(maxlen=REFUSALS_MOST)
        self._history: list[views.Turn] = []
        self._holds: dict[str, views.Hold] = {}
        self._since: dict[str, dict[str, int]] = {}  # run -> address -> when it began to wait
        self._ts = 0

    def read(self, seq: int, event: Event) -> None:
        """Take one more event in."""
        reader = READERS.get(event.name)
        if reader is not None:
            reader(self, seq, event, event.data or {})
        evolve(self.state, event)
        self._ts = event.ts

    # Readers

    def _step(self, name: str) -> _Step:
        return self._steps.setdefault(name, _Step())

    def _turned(self, seq: int, event: Event, data: Turn) -> None:
        status = data.get("status") or STATUS_AFTER[event.name]
        turn: views.Turn = {"seq": seq, "at": iso(event.ts), "status": status}
        if by := data.get("by"):
            turn["by"] = by
        if why := data.get("why"):
            turn["why"] = why
        self._history.append(turn)

    def _restored(self, seq: int, event: Event, data: event_data.Restored) -> None:
        for name in data.get("steps", {}):
            self._step(name).last = "kept"

    def _held(self, seq: int, event: Event, data: event_data.TokenMoved) -> None:
        self._holds[data["token"]] = {"seq": seq, "at": iso(event.ts), "waits_for": data["waits_for"]}

    def _refused(self, seq: int, event: Event, data: event_data.TokenMoved) -> None:
        self._step(data["step"]).refused += 1
        token = self.state.tokens[data["token"]]
        self._refusals.append(
            {
                "seq": seq,
                "from": token.source,
                "step": data["step"],
                "reason": data.get("reason"),
                "rule": data.get("rule"),
                "guards": data.get("guards"),
            }
        )

    def _scheduled(self, seq: int, event: Event, data: event_data.Scheduled) -> None:
        step = self._step(data["step"])
        for token in data["tokens"]:
            self._holds.pop(token, None)
        step.runs += 1
        step.started_at = step.started_at or event.ts
        step.loop = None

    def _parked(self, seq: int, event: Event, data: event_data.NoData) -> None:
        self._since.setdefault(event.run or "", {})[event.at or ""] = event.ts

    def _task_done(self, seq: int, event: Event, data: event_data.TaskDone) -> None:
        if data.get("do") == "retry":
            self._step(step_of(event.run or "")).retries += 1

    def _ended(self, seq: int, event: Event, data: event_data.RunEnded) -> None:
        run = self.state.runs[event.run or ""]
        step = self._step(run.step)
        self._since.pop(run.id, None)
        failed = event.name == "step.failed"
        step.last, step.error = ("failed", data.get("error")) if failed else ("done", None)
        step.failed, step.done = step.failed + failed, step.done + (not failed)
        step.ended_at, step.duration_ms = event.ts, step.duration_ms + event.ts - run.scheduled_at
        counts = (data.get("output") or {}).get("loop")
        if counts is not None:
            total, done = counts["total"], counts["done"]
            step.loop = LoopCounts(total=total, done=done, failed=counts["failed"], running=0, queued=0)
            if "batches" in counts:
                step.loop |= {"claimed": total, "batches": counts["batches"]}
        elif run.loop is not None:
            step.loop = run.loop.so_far()

    def _routed(self, seq: int, event: Event, data: event_data.Routed) -> None:
        source = step_of(event.run or "")
        for order, record in enumerate(data.get("arcs", ())):
            arc = self._arcs.setdefault((source, order), _Arc(record["step"]))
            arc.taken += bool(record["matched"])
            asked = record.get("asked", True)
            arc.not_taken += asked and not record["matched"]
            arc.not_asked += not asked
            arc.seq, arc.record = seq, record

    # What is shown

    def view(self) -> views.ProgressAnswer:
        """The graph's colours, counts and tokens."""
        state = self.state
        waits = self.waiting_runs()
        return {
            "execution_id": state.execution_id,
            "seq": state.seq,
            "at": iso(self._ts),
            "status": status_of(state),
            "history": self._history,
            "steps": {name: self._step_view(name, step, waits) for name, step in self._steps.items()},
            "arcs": [_arc_view(source, order, arc) for (source, order), arc in self._arcs.items()],
            "refused": list(self._refusals),
            "tokens": [self._token_view(token) for token in state.tokens],
            "waits": [wait for run in state.runs.values() for wait in self._waits(run)],
            "error": state.error,
        }

    def waiting_runs(self) -> set[str]:
        """The runs that have not ended and wait."""
        return waiting_runs(self.state)

    def _step_view(self, name: str, step: _Step, waits: set[str]) -> views.StepProgress:
        live = [run for run in self.state.runs.values() if run.step == name]
        loops = [run.loop for run in live if run.loop is not None]
        return {
            "status": _status(step, live, waits),
            "runs": step.runs,
            "running": len(live),
            "done": step.done,
            "failed": step.failed,
            "refused": step.refused,
            "retries": step.retries,
            "duration_ms": step.duration_ms,
            "started_at": iso(step.started_at) if step.started_at is not None else None,
            "ended_at": iso(step.ended_at) if step.ended_at is not None else None,
            "loop": loops[-1].so_far() if loops else step.loop,
            "error": step.error,
        }

    def _token_view(self, token_id: str) -> views.TokenProgress:
        token = self.state.tokens[token_id]
        hold = self._holds.get(token_id) if token.held else None
        return {"id": token_id, "step": token.step, "from": token.source, "held": token.held, "hold": hold}

    def _waits(self, run: Run) -> list[views.Wait]:
        return [
            {
                "run": run.id,
                "step": run.step,
                "address": address,
                "task": parked.label,
                "since": iso(self._since[run.id][address]),
                "signal": parked.signal,
                "approval": parked.approval,
                "child": parked.child,
                "path": (parked.call or {}).get("path"),
                "until": None if parked.until is None else iso(parked.until),
                "expires": None if parked.expires is None else iso(parked.expires),
            }
            for address, parked in run.parked.items()
            if parked.output is None
        ]


def _status(step: _Step, live: list[Run], waits: set[str]) -> str:
    if not live:
        return "refused" if not step.runs and step.refused else step.last
    if all(run.id in waits for run in live):
        return "waiting"
    started = any(run.started_at is not None for run in live)
    return "running" if started else "queued"


def _arc_view(source: str, order: int, arc: _Arc) -> views.ArcProgress:
    return {
        "from": source,
        "to": arc.to,
        "order": order,
        "taken": arc.taken,
        "not_taken": arc.not_taken,
        "not_asked": arc.not_asked,
        "seq": arc.seq,
        "matched": bool(arc.record["matched"]),
        "asked": arc.record.get("asked", True),
        "seen": arc.record.get("seen", {}),
        "set": arc.record.get("set", []),
    }


STATUS_AFTER = {
    "playbook.execution.requested": "pending",
    "workflow.started": "running",
    "execution.paused": "paused",
    "execution.resumed": "running",
    "execution.cancelled": "cancelling",
}

READERS: dict[str, Callable[[Progress, int, Event, Any], None]] = {
    **dict.fromkeys(STATUS_AFTER, Progress._turned),
    "playbook.processed": Progress._turned,
    "execution.restored": Progress._restored,
    "token.held": Progress._held,
    "token.refused": Progress._refused,
    "step.scheduled": Progress._scheduled,
    "task.parked": Progress._parked,
    "task.done": Progress._task_done,
    **dict.fromkeys(TERMINAL, Progress._ended),
    "next.evaluated": Progress._routed,
}

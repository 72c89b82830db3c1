"""Why an execution went as it did, in words with the values seen, from the log alone.

One pass over the events; each handler turns a recorded decision into reasons. Words: explain_text.py.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from noetl.core import event_data
from noetl.core.deciding.waiting_status import status_of
from noetl.core.event import TERMINAL, Event, iso, step_of
from noetl.core.fold import evolve
from noetl.core.reading import explain_text
from noetl.core.reading.under_way import RunningTask, UnderWay
from noetl.core.shapes import Failure, ScopeValues
from noetl.core.state import Parked, Run, State

EXAMPLES = 3  # of one decision that a task took again and again


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that happened and why: the event that says so, what it is about, the sentence, the facts."""

    seq: int
    about: str
    text: str
    step: str | None = None
    run: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The execution's status, why it is as it is, and every reason on the way."""

    status: str
    summary: str
    reasons: list[Reason]
    under_way: list[RunningTask] = field(default_factory=list)


@dataclass(slots=True)
class _Repeated:
    """A decision of one task of one run, taken perhaps many times."""

    count: int = 0
    examples: list[tuple[int, str, ScopeValues]] = field(default_factory=list)


def explain(execution_id: str, events: Iterable[tuple[int, Event]], step: str | None = None) -> Explanation:
    """Explain an execution, or one of its steps."""
    story = _Story(State(execution_id))
    for seq, event in events:
        reader = READERS.get(event.name)
        if reader is not None:
            reader(story, seq, event, event.data or {})
        story.under_way.receive(seq, event)
        evolve(story.state, event)
    story.stand_still()
    reasons = sorted(story.reasons, key=lambda reason: reason.seq)
    if step is not None:
        reasons = [reason for reason in reasons if reason.step == step or step in reason.facts.get("to", ())]
        if step not in story.state.steps:
            reasons.append(story.never_ran(step, reasons))
    return Explanation(status_of(story.state), story.summary, reasons, story.still_runs(step))


@dataclass(slots=True)
class _Story:
    """What is remembered while the log is read."""

    state: State
    reasons: list[Reason] = field(default_factory=list)
    under_way: UnderWay = field(default_factory=UnderWay)
    summary: str = ""
    sources: dict[str, str] = field(default_factory=dict)  # token -> where it came from
    repeated: dict[tuple[str, str, str], _Repeated] = field(default_factory=dict)
    retrying: set[tuple[str | None, ...]] = field(default_factory=set)  # tasks whose last attempt was retried

    def say(self, seq: int, about: str, text: str, event: Event | None = None, **facts: Any) -> None:
        """Add a reason."""
        run = event.run if event is not None else None
        step = facts.pop("step", None) or (step_of(run) if run else None)
        self.reasons.append(Reason(seq, about, text, step, run, facts))

    # The request and the end

    def _requested(self, seq: int, event: Event, data: event_data.Requested) -> None:
        before = data.get("continued_from")
        kept = before["execution_id"] if before else data.get("retry_of")
        origin = f", going on from execution {kept}" if kept else ""
        parent = data.get("parent")
        by = f"step run {parent['run']} of execution {parent['execution_id']}" if parent else data.get("by")
        self.say(seq, "execution", f"requested by {by}{origin}", payload=data.get("payload"))

    def _evaluated(self, seq: int, event: Event, data: event_data.Evaluated) -> None:
        if "error" in data:
            self.summary = f"the request could not be carried out: {explain_text.error(data['error'])}"
            self.say(seq, "execution", self.summary, error=data["error"])

    def _restored(self, seq: int, event: Event, data: event_data.Restored) -> None:
        if data.get("more") or self.state.continued_from is not None:
            return  # what had no room in the event before, or what the request says already
        steps = ", ".join(data.get("steps", {})) or "nothing"
        self.say(seq, "execution", f"kept of execution {data['of']}: {steps}", steps=data.get("steps", {}))

    def _loop_restored(self, seq: int, event: Event, data: event_data.LoopRestored) -> None:
        count = len(data["iterations"])
        text = f"{count} of {data['total']} iterations are kept and do not run again"
        self.say(seq, "loop", text, step=data["step"])

    def _controlled(self, seq: int, event: Event, data: event_data.Controlled) -> None:
        what = event.name.partition(".")[2]
        why = f": {data['why']}" if data.get("why") else ""
        self.say(seq, "execution", f"{what} by {data.get('by')}{why}")

    def _signalled(self, seq: int, event: Event, data: event_data.Signalled) -> None:
        self.say(seq, "execution", f"the signal '{data['signal']}' came", payload=data.get("payload"))

    def _continued(self, seq: int, event: Event, data: event_data.Continued) -> None:
        text = f"its log had {seq - 1} events at step '{data['step']}': it goes on as execution {data['as']}"
        self.say(seq, "execution", text, step=data["step"], input=data["input"])
        self.summary = f"completed: {text}"

    def _finished(self, seq: int, event: Event, data: event_data.Finished) -> None:
        if self.state.continued_as is not None:
            return
        self.summary = _ending(data, self.reasons, self.state.unanswered)
        self.say(seq, "execution", self.summary, error=data.get("error"))

    # Tokens

    def _enqueued(self, seq: int, event: Event, data: event_data.Enqueued) -> None:
        came = data.get("from_run") or data.get("from")
        self.sources[data["token"]] = f"from {came}" if came else "as the first one"

    def _held(self, seq: int, event: Event, data: event_data.TokenMoved) -> None:
        came, others = self.sources[data["token"]], ", ".join(data["waits_for"])
        text = f"the token that came {came} waits here: another may still come from {others}"
        self.say(seq, "token", text, step=data["step"], waits_for=data["waits_for"])

    def _claimed(self, seq: int, event: Event, data: event_data.TokenMoved) -> None:
        if data.get("rule") is not None:
            text = explain_text.admission(data["rule"], data.get("guards", ()), allowed=True)
            self.say(seq, "token", text, step=data["step"], rule=data["rule"], guards=data.get("guards"))

    def _refused(self, seq: int, event: Event, data: event_data.TokenMoved) -> None:
        came = f"the token that came {self.sources[data['token']]} is refused"
        if data.get("reason") == "join":
            text = f"{came}: this join runs for the first token only, and that was another"
        else:
            text = (
                f"{came}: {explain_text.admission(data.get('rule'), data.get('guards', ()), allowed=False)}"
            )
        self.say(seq, "token", text, step=data["step"], rule=data.get("rule"), guards=data.get("guards"))

    def _discarded(self, seq: int, event: Event, data: event_data.TokenMoved) -> None:
        text = f"the token that came {self.sources[data['token']]} is discarded: {data['reason']}"
        self.say(seq, "token", text, step=data["step"])

    # Runs

    def _scheduled(self, seq: int, event: Event, data: event_data.Scheduled) -> None:
        came = " and ".join(dict.fromkeys(self.sources[token] for token in data["tokens"]))
        many = f"{len(data['tokens'])} tokens that came {came} met" if len(data["tokens"]) > 1 else ""
        text = f"runs ({event.run}): {many or f'a token came {came}'}"
        if "problem" in data:
            text += f"; it could not start: {explain_text.error(data['problem'])}"
        self.say(seq, "step", text, event, input=data.get("input"))

    def _batch_claimed(self, seq: int, event: Event, data: event_data.Claimed) -> None:
        text = explain_text.claimed(data["number"], data["count"])
        self.say(seq, "loop", text, event, key=data["key"])

    def _claim_failed(self, seq: int, event: Event, data: event_data.Claimed) -> None:
        text = f"claim {data['number']} failed, so that nothing more is claimed"
        error = data["error"]
        self.say(seq, "loop", f"{text}: {explain_text.error(error)}", event, key=data["key"], error=error)

    def _expired(self, seq: int, event: Event, data: event_data.LeaseMoved) -> None:
        cause = explain_text.again(
            "returned" if event.name == "lease.returned" else data.get("why", "silent")
        )
        if event.name == "lease.returned" and _only_waits(self.state.runs.get(event.run or "")):
            return  # it goes out again when the wait is over, as the wait says
        self.say(seq, "step", f"its work {cause} and goes out again from where it stood", event)

    def _parked(self, seq: int, event: Event, data: event_data.TaskParked) -> None:
        self._repeat(seq, event, "parked", f"waits for {explain_text.waiting(data)}", {})

    def _rejected(self, seq: int, event: Event, data: event_data.Rejected) -> None:
        self.say(seq, "step", f"a reported {data['event']} was not accepted: {data['why']}", event)

    def _task_done(self, seq: int, event: Event, data: event_data.TaskDone) -> None:
        directive, place = data.get("do", "continue"), (event.run, event.at, event.label, str(event.visit))
        exhausted = directive == "fail" and place in self.retrying
        self.retrying.discard(place)
        if directive == "retry":
            self.retrying.add(place)
        text = _directive(event, data, exhausted=exhausted)
        if text is not None and not _is_plumbing(event, data):
            error = (data.get("output") or {}).get("error")
            self._repeat(seq, event, directive, text, {"error": error} if error else {})

    def _repeat(self, seq: int, event: Event, what: str, text: str, facts: ScopeValues) -> None:
        decision = self.repeated.setdefault((event.run or "", event.label or "", what), _Repeated())
        decision.count += 1
        if len(decision.examples) < EXAMPLES:
            where = f" in iteration {event.at}" if event.at else ""
            decision.examples.append((seq, f"task '{event.label}'{where} {text}", facts))

    def _tell_repeated(self, event: Event) -> None:
        for key in [key for key in self.repeated if key[0] == event.run]:
            decision = self.repeated.pop(key)
            _, task, what = key
            for seq, example, facts in decision.examples:
                self.say(seq, "task", example, event, task=task, do=what, **facts)
            if decision.count > EXAMPLES:
                text = f"task '{task}' did so {decision.count} times in all ({what})"
                self.say(
                    decision.examples[-1][0], "task", text, event, task=task, do=what, count=decision.count
                )

    def _ended(self, seq: int, event: Event, data: event_data.RunEnded) -> None:
        self._tell_repeated(event)
        output = data.get("output") or {}
        loop = output.get("loop")
        counts = explain_text.loop(loop)
        failed = loop["failed"] if loop and event.name != "step.failed" else 0
        flawed = {"failed_iterations": failed} if failed else {}
        if event.name == "step.failed":
            text = explain_text.failed(data.get("error")) + (f" ({counts})" if counts else "")
        else:
            text = "ended well" + (f": {counts}" if counts else "")
        if data.get("left_out"):
            text += f"; not set, because a value was missing: {', '.join(data['left_out'])}"
        self.say(seq, "step", text, event, error=data.get("error"), **flawed)

    def _routed(self, seq: int, event: Event, data: event_data.Routed) -> None:
        if "error" in data:
            self.say(seq, "arc", f"its arcs could not be evaluated: {data['error']}", event)
            return
        for record in data["arcs"]:
            self.say(seq, "arc", explain_text.arc(record), event, to=[record["step"]], **_only(record))
        if not data["taken"]:
            after = (
                "nothing took the failure" if "fails" in data else "no arc was taken: this branch ends here"
            )
            self.say(seq, "arc", after, event)
        elif "failure" in data:
            self.say(seq, "arc", explain_text.taken(data["failure"]), event)

    def _extended(self, seq: int, event: Event, data: event_data.Extended) -> None:
        names = ", ".join(str(item["step"]) for item in data["steps"])
        self.say(seq, "step", f"added steps to the workflow: {names}", event)

    # What is still open

    def stand_still(self) -> None:
        """Of an execution that is not over: what it waits for."""
        state = self.state
        for run_id in list(state.runs):
            self._tell_repeated(Event("step.started", 0, run=run_id))
        if state.ended:
            return
        waits = [f"{run.id} {_doing(run, self.under_way.of_run(run.id))}" for run in state.runs.values()]
        waits += [f"a token is held at '{token.step}'" for token in state.tokens.values() if token.held]
        self.summary = f"it is {status_of(state)}: {'; '.join(waits) or 'nothing is under way'}"

    def still_runs(self, step: str | None) -> list[RunningTask]:
        """The tasks that have begun and are not over, of one step or all."""
        told = []
        for task in self.under_way.tasks.values():
            run = self.state.runs.get(task.run)
            if run is not None and step in (None, task.step):
                ends = [moment for moment in (run.timeout_at, run.deadline) if moment is not None]
                told.append(replace(task, step_ends=min(ends, default=None)))
        return told

    def never_ran(self, step: str, reasons: list[Reason]) -> Reason:
        """Why a step has no run, or none yet."""
        text = "it never ran" if self.state.ended else "it has not run yet"
        if reasons:
            text += "; the reasons stand above"
        else:
            ran = ", ".join(self.state.steps) or "none"
            text += f": no step that ran has an arc to it (steps that ran: {ran})"
        return Reason(self.state.seq, "step", text, step)


def _only(record: event_data.ArcRecord) -> dict[str, object]:
    return {key: value for key, value in record.items() if key in ("matched", "seen", "asked")}


def _ending(data: event_data.Finished, reasons: list[Reason], unanswered: Failure | None) -> str:
    if data["status"] == "completed":
        failed = data["counts"].get("failed_iterations", 0) if "counts" in data else 0
        without = f", and {explain_text.failed_iterations(failed)}" if failed else ""
        return f"it completed: no token was left to move{without}"
    error = data.get("error")
    if data["status"] == "cancelled":
        return f"it was cancelled: {(error or {}).get('message', 'no reason was given')}"
    step = (error or {}).get("step")
    if step is None or (error or {}).get("kind") == "join":  # a join that was in vain never ran
        return f"it failed: {explain_text.error(error)}"
    if unanswered is not None and unanswered["error"] == error:
        return f"it failed because {explain_text.unasked(unanswered)}: {explain_text.error(error)}"
    untaken = any(reason.step == step and reason.text.startswith("nothing took") for reason in reasons)
    why = "failed and no arc took the failure" if untaken else "failed"
    return f"it failed because step '{step}' {why}: {explain_text.error(error)}"


def _directive(event: Event, data: event_data.TaskDone, *, exhausted: bool) -> str | None:
    """What a task's policy chose, when that was more than going on."""
    directive, output = data.get("do", "continue"), data.get("output") or {}
    place = "before" if "before" in data else "rule"
    rule = explain_text.rule(data, place)
    error = f" after {explain_text.error(output.get('error'))}" if output.get("status") == "error" else ""
    if directive == "retry":
        return (
            f"is tried again in {data.get('delay', 0):.3g} s (attempt {event.attempt} failed){error}: {rule}"
        )
    if exhausted:
        return f"failed: its {event.attempt} attempts are used up{error}"
    if directive == "fail":
        return f"failed{error}: {rule}"
    if directive == "jump":
        return f"jumped to '{data.get('to')}': {rule}"
    if directive in ("break", "skip"):
        return f"{'ended the pipeline' if directive == 'break' else 'was skipped'}: {rule}"
    return f"went on{error}: {rule}" if error else None


def _is_plumbing(event: Event, data: event_data.TaskDone) -> bool:
    """Whether a generated task (its label has a dot) only passed on, and chose nothing the author wrote."""
    generated = "." in (event.label or "") and "before" in data
    return generated and (data.get("do") == "skip" or data["before"] == "else")


def _only_waits(run: Run | None) -> bool:
    """Whether nothing of a run is left to do before a wait of it is over."""
    return (
        run is not None and run.loop is None and any(parked.output is None for parked in run.parked.values())
    )


def _doing(run: Run, tasks: list[RunningTask]) -> str:
    waits = [explain_text.waiting(_facts(parked)) for parked in run.parked.values() if parked.output is None]
    if waits:
        return f"waits for {' and '.join(dict.fromkeys(waits))}"
    if run.loop is not None and run.loop.claims is not None:
        over = run.loop.total - run.loop.left
        return f"has {over} of {run.loop.total} rows behind it that were claimed so far"
    if run.loop is not None:
        return f"has {run.loop.done + run.loop.failed} of {run.loop.total} iterations behind it"
    if tasks:
        return f"has been running task '{tasks[0].task}' since {iso(tasks[0].since)}"
    return "is running" if run.started_at is not None else "has not been started by a worker"


def _facts(parked: Parked) -> event_data.TaskParked:
    return {
        "until": parked.until,
        "signal": parked.signal,
        "approval": parked.approval,
        "child": parked.child,
        "call": parked.call,
    }


READERS: dict[str, Callable[[_Story, int, Event, Any], None]] = {
    "playbook.execution.requested": _Story._requested,
    "playbook.request.evaluated": _Story._evaluated,
    "execution.restored": _Story._restored,
    "loop.restored": _Story._loop_restored,
    "loop.claimed": _Story._batch_claimed,
    "loop.claim.failed": _Story._claim_failed,
    "execution.paused": _Story._controlled,
    "execution.resumed": _Story._controlled,
    "execution.cancelled": _Story._controlled,
    "execution.signalled": _Story._signalled,
    "execution.continued": _Story._continued,
    "workflow.finished": _Story._finished,
    "token.enqueued": _Story._enqueued,
    "token.held": _Story._held,
    "token.claimed": _Story._claimed,
    "token.refused": _Story._refused,
    "token.discarded": _Story._discarded,
    "step.scheduled": _Story._scheduled,
    "lease.expired": _Story._expired,
    "lease.returned": _Story._expired,
    "task.parked": _Story._parked,
    "task.done": _Story._task_done,
    "event.rejected": _Story._rejected,
    **dict.fromkeys(TERMINAL, _Story._ended),
    "next.evaluated": _Story._routed,
    "workflow.extended": _Story._extended,
}

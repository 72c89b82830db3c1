"""What is known of a task that runs beside what its log says: its timeout, last line, worker and usual time.

Read when somebody asks why nothing goes on; nothing here is kept.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from statistics import median_low

from noetl.control.catalog import Catalog
from noetl.control.history import events
from noetl.core.pipeline.engine_kinds import wait_s
from noetl.core.program.evaluator import EvaluationError
from noetl.core.program.program import Program
from noetl.core.reading.explain import Reason
from noetl.core.reading.timeline import Timeline
from noetl.core.reading.under_way import RunningTask, Signs, sentences
from noetl.dsl.effective_spec import effective_spec
from noetl.dsl.model import Pipeline, Step, Task
from noetl.errors import NoetlError
from noetl.ports.front import Worker, counts_of
from noetl.ports.store import Find, Store

TOLD = 3  # tasks that are told of one by one
LINE_CHARS = 200
COMPARED = 5  # executions whose step is compared
COMPARED_EVENTS = 2000  # of each at most


class RunningTasks:
    """Finds out about tasks of one store's executions."""

    def __init__(
        self, store: Store, catalog: Catalog, fleet: Callable[[], Awaitable[Sequence[Worker]]]
    ) -> None:
        self._store, self._catalog, self._fleet = store, catalog, fleet

    async def reasons(self, execution_id: str, tasks: Sequence[RunningTask]) -> list[Reason]:
        """What can be said of the tasks that have run for longest."""
        summary, now = await self._store.summary(execution_id), await self._store.clock()
        program = await self._program(summary.hash)
        heard = {worker.worker_id: worker.heard_at for worker in await self._fleet()}
        printed = await self._printed(execution_id)
        usual: dict[str, list[int]] = {}
        told: list[Reason] = []
        said: set[str] = set()  # what holds of all tasks of a loop is told once
        for task in tasks[:TOLD]:
            if task.step not in usual:
                usual[task.step] = await self._durations(summary.path, task.step)
            durations = usual[task.step]
            signs = Signs(
                now=now,
                timeout_s=None if program is None else timeout_of(program, task),
                printed=printed.get((task.run, task.at, task.task)),
                waits_until=None if program is None else wait_end(program, task),
                heard_at=heard.get(task.worker or ""),
                usual_ms=median_low(durations) if durations else None,
                counted=len(durations),
            )
            told += [_reason(task, text) for text in sentences(task, signs) if text not in said]
            said |= {reason.text for reason in told if reason.step == task.step}
        if len(tasks) > TOLD:
            told.append(_reason(tasks[TOLD], f"and {len(tasks) - TOLD:,} more tasks are under way"))
        return told

    async def _program(self, digest: str) -> Program | None:
        try:
            return await self._catalog.program(digest)
        except NoetlError:  # it was refused, or is of a newer release: what else is known is told
            return None

    async def _printed(self, execution_id: str) -> dict[tuple[str, str, str], tuple[int, str]]:
        """The newest line of each task that printed one."""
        newest: dict[tuple[str, str, str], tuple[int, str]] = {}
        after = 0
        while rows := await self._store.lines(execution_id, after):
            for row in rows:
                if row.printed.lines:
                    line = row.printed.lines[-1]
                    place = (row.printed.run, row.printed.at, row.printed.task)
                    newest[place] = (line.ts, line.text[:LINE_CHARS])
            after = rows[-1].number
        return newest

    async def _durations(self, path: str, step: str) -> list[int]:
        """How long a step took in the newest executions that ended well."""
        page = await self._store.executions(Find(path=path, status="completed", limit=COMPARED))
        durations: list[int] = []
        for summary in page.items:
            if (counts_of(summary) or {}).get("events", COMPARED_EVENTS) < COMPARED_EVENTS:
                timeline = Timeline()
                async for seq, event in events(self._store, summary.execution_id):
                    timeline.read(seq, event)
                durations += [took for name, took in timeline.step_durations() if name == step]
        return durations


def timeout_of(program: Program, task: RunningTask) -> float | str | None:
    """The timeout that a task has by its playbook; a template as it is written."""
    playbook, (pipeline, found) = program.playbook, _place(program, task)
    if found is None:
        return None
    own = pipeline if isinstance(pipeline, Step) else None
    loop = None if own is None else own.loop
    spec = effective_spec(playbook.executor, own, loop, found, program.kinds.get(found.kind))
    timeout = spec.get("timeout")
    return timeout if isinstance(timeout, float | int | str) and not isinstance(timeout, bool) else None


def wait_end(program: Program, task: RunningTask) -> int | None:
    """When a task ends that does nothing but wait for a time."""
    _, found = _place(program, task)
    if found is None or found.kind != "wait":
        return None
    try:
        seconds = wait_s({**found.input, **task.rendered}, task.since)
    except EvaluationError:  # it fails by that, or what it was given was too long to be noted
        return None
    return None if seconds is None else task.since + int(seconds * 1000)


def _place(program: Program, task: RunningTask) -> tuple[Pipeline | None, Task | None]:
    """The pipeline that a task is in, and what the playbook says of it."""
    playbook = program.playbook
    pipeline: Pipeline | None = next((one for one in playbook.steps if one.name == task.step), None)
    for label in re.findall(r"/([^/\[]+)", task.at):  # the calls of blocks that it is inside of
        call = _task(pipeline, label)
        pipeline = playbook.workbook.get((call and call.block) or "")
    return pipeline, _task(pipeline, task.task)


def _task(pipeline: Pipeline | None, label: str) -> Task | None:
    tasks = () if pipeline is None else pipeline.tasks
    return next((task for task in tasks if task.label == label), None)


def _reason(task: RunningTask, text: str) -> Reason:
    facts = {"task": task.task, "since": task.since, "worker": task.worker}
    return Reason(task.seq, "task", text, task.step, task.run, facts)

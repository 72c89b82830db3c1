"""The product over this process's engine and store: what the CLI and the HTTP face call.

It asks others and answers in the shapes of the port. Nothing is decided here: not what a message means, nor
what a playbook says. What only few readings need is imported by them: every run begins with this module.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Protocol, cast

import msgspec

from noetl.control import rerun_request
from noetl.control.backfills import BackfillBook
from noetl.control.catalog import Catalog
from noetl.control.credential_spelling import current_fields
from noetl.control.deliveries import Deliveries
from noetl.control.descriptions import Descriptions, has_label
from noetl.control.engine import Engine
from noetl.control.front.control import Steering
from noetl.control.front.evaluate import evaluated
from noetl.control.front.follow import Followers
from noetl.control.front.logs import LogFollower, read_cursor
from noetl.control.front.logs import page as page_of_lines
from noetl.control.front.playbook_facts import PlaybookFacts
from noetl.control.front.result import Reader
from noetl.control.front.state import moments, result_so_far, whole_state
from noetl.control.history import envelopes, events, rows_of, state_at
from noetl.control.log_rows import events_of, outcome_of, request_of, stored_result
from noetl.control.notification_playbook import NotificationPlaybook
from noetl.control.notifications import NotificationBook
from noetl.control.recovery import newest_state
from noetl.control.schedules import ScheduleBook
from noetl.control.storable import require_plain, storable_json
from noetl.control.tokens import TokenBook
from noetl.control.triggers import Keeper, TriggerBook
from noetl.core.deciding.synthesize import with_fragments
from noetl.core.event import Event, EventEnvelope, iso
from noetl.core.message import Control, Start
from noetl.core.program.program import Program
from noetl.core.shapes import TriggerFacts
from noetl.core.state import Fragment, State
from noetl.dsl.effective_spec import LIMITS
from noetl.dsl.nearest import nearest
from noetl.errors import BackendError, Conflict, NotFound, RequestError, UnknownPlaybook
from noetl.json_value import Json, JsonObject
from noetl.ports import answers
from noetl.ports.front import (
    ALL_LINES,
    ME,
    Ask,
    FindLines,
    Slice,
    Started,
    Worker,
)
from noetl.ports.notification import KEY_PREFIX
from noetl.ports.results import Payloads
from noetl.ports.store import Find, Listed, PlaybookText, Projection, Row, Summary, Tally

if TYPE_CHECKING:
    from noetl.core.reading.explain import Explanation, Reason

LINES_PAGE = 1000
MANUAL: TriggerFacts = {"kind": "manual"}
# Beginnings of keys: one execution for each tick, message or delivery.
RESERVED_KEYS = ("schedule/", "backfill/", "trigger/", KEY_PREFIX)

Fleet = Callable[[], Awaitable[Sequence[Worker]]]


class Vault(Keeper, Protocol):
    """Keeps credentials, sealed, and seals them again."""

    async def seal_again(self) -> int: ...


async def _sent() -> None:
    """No task runs in this process."""


async def nobody() -> Sequence[Worker]:
    """A fleet without workers."""
    return ()


class LocalFront(TokenBook, ScheduleBook, BackfillBook, TriggerBook, NotificationBook):
    """Front over an engine of this process; other processes may share its store.

    `fleet` tells the workers. `adopts`: an execution that nobody runs is run on here once it was told
    something, as a server does; a command that only passes by leaves it as it is.
    """

    def __init__(
        self,
        engine: Engine,
        catalog: Catalog,
        payloads: Payloads,
        vault: Vault,
        new_id: Callable[[], str],
        *,
        fleet: Fleet = nobody,
        adopts: bool = True,
    ) -> None:
        self._engine, self._catalog, self._payloads, self._vault = engine, catalog, payloads, vault
        self._store, self._new_id, self.fleet = engine.store, new_id, fleet
        self.lines_sent: Callable[[], Awaitable[None]] = _sent  # until lines of this process are in the store
        self.backlog: Callable[[], int] = lambda: 0  # for how long work has waited for a worker, in ms
        self._steering, self._adopts = Steering(engine, adopts=adopts), adopts
        self._followers = Followers(engine)
        TokenBook.__init__(self, engine.store, engine.now)
        ScheduleBook.__init__(self, engine.store, self._started, self._asked, self.control)
        BackfillBook.__init__(self, engine.store, self._asked, new_id)
        TriggerBook.__init__(self, engine.store, vault, self._started, self._asked)
        self.sending = Deliveries(engine.store, vault)
        self.notification_playbook = NotificationPlaybook(self._started, engine.store.by_key)
        NotificationBook.__init__(self, engine.store, self.sending, self._asked)
        self._descriptions = Descriptions()
        self._playbook_facts = PlaybookFacts(engine.store, catalog, self._descriptions)
        self._reader = Reader(engine.store, engine.results, payloads)

    # Playbooks

    async def register(self, text: str, file: str | None = None, by: str = "cli") -> PlaybookText:
        entry, _ = await self._catalog.register(text, file, by)
        return await self._described(entry)

    async def _described(self, entry: PlaybookText) -> PlaybookText:
        return (await self._descriptions.tell([entry]))[0]

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        return await self._descriptions.tell(await self._store.playbooks(path))

    async def playbook(self, path: str, version: int | None = None) -> PlaybookText:
        try:
            return await self._described(await self._store.playbook(path=path, version=version))
        except NotFound:
            raise await self._unknown_playbook(path, version) from None

    async def _unknown_playbook(self, path: str, version: int | None) -> NotFound:
        versions = await self._store.playbooks(path)
        if versions:
            numbers = ", ".join(str(entry.version) for entry in versions)
            return NotFound(f"'{path}' has no version {version}", hint=f"its versions: {numbers}")
        return UnknownPlaybook(path, nearest(path, [entry.path for entry in await self._store.playbooks()]))

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        await self.playbook(path, version)
        return await self._store.delete_playbook(path, version)

    async def playbook_of(self, execution_id: str) -> PlaybookText:
        summary = await self._store.summary(execution_id)
        if not summary.hash:
            raise NotFound(f"execution {execution_id} never had a playbook")
        return await self._described(await self._store.playbook(digest=summary.hash))

    # Executions

    async def start(self, ask: Ask) -> Started:
        """Begin an execution, or find the one that the same key began."""
        if ask.idempotency_key is not None and ask.idempotency_key.startswith(RESERVED_KEYS):
            of = "a schedule, a trigger or a notification"
            message = f"the idempotency key '{ask.idempotency_key[:80]}' belongs to {of}"
            raise RequestError(message, hint=f"let it begin with anything but {' and '.join(RESERVED_KEYS)}")
        return await self._started(ask)

    async def _started(self, ask: Ask) -> Started:
        """The same, for the schedules and triggers as well: keys of theirs are nobody else's."""
        storable_json({"path": ask.path, "idempotency_key": ask.idempotency_key}, "request")
        playbook_text = (
            self._catalog.probably(ask.path) if ask.path is not None and ask.version is None else None
        )
        if playbook_text is not None and ask.text is None:
            with suppress(Conflict, NotFound):  # perhaps there is a newer version by now
                return await self._start(
                    ask, playbook_text, await self._catalog.program(playbook_text.hash), newest=True
                )
            self._catalog.forget(playbook_text.path)
        return await self._start(ask, *await self._asked(ask))

    async def _start(
        self, ask: Ask, entry: PlaybookText, program: Program, *, newest: bool = False
    ) -> Started:
        workload = storable_json(ask.workload, "workload")
        request = hashlib.sha256(entry.hash.encode() + workload).hexdigest()
        summary = await self._known(ask.idempotency_key, request)
        if summary is not None:
            return Started(summary.execution_id, summary.status, summary.path, existed=True)
        if ask.until is not None and ask.until not in program.steps:
            message = f"until: the playbook has no step '{ask.until}'"
            raise RequestError(message, hint=f"its steps: {', '.join(program.steps)}")
        start = await self._catalog.request(
            entry,
            program,
            ask.workload,
            until=ask.until,
            idempotency_key=ask.idempotency_key,
            by=ask.by,
            trigger={**(ask.trigger or MANUAL), "by": ask.by},
        )
        try:
            return await self._begin(start, program, request, newest=newest)
        except Conflict:  # another process may have been quicker with the same key
            summary = await self._known(ask.idempotency_key, request)
            if summary is None:
                raise
            return Started(summary.execution_id, summary.status, summary.path, existed=True)

    async def _asked(self, ask: Ask) -> tuple[PlaybookText, Program]:
        if (ask.text is None) == (ask.path is None):
            raise RequestError("name one of a playbook's text and its path")
        if ask.text is not None:
            return await self._catalog.register(ask.text, ask.file, ask.by)
        require_plain(ask.path, "path")
        try:
            entry = await self._catalog.find(ask.path or "", ask.version)
        except NotFound:
            raise await self._unknown_playbook(ask.path or "", ask.version) from None
        return entry, await self._catalog.program(entry.hash)

    async def _known(self, key: str | None, request: str) -> Summary | None:
        """The execution that has a key; raises Conflict when it was another request."""
        summary = None if key is None else await self._store.by_key(key)
        if summary is not None and summary.request != request:
            message = (
                f"the idempotency key '{key}' belongs to execution {summary.execution_id}, "
                "which had another playbook or other input"
            )
            raise Conflict(message, hint="use another key, or the same playbook and input")
        return None if summary is None else await self._store.newest(summary.execution_id)

    async def _begin(
        self, start: Start, program: Program, request: str | None = None, *, newest: bool = False
    ) -> Started:
        start = await self._catalog.gate(start, program)
        execution_id = self._new_id()
        await self._engine.start(execution_id, start, request, newest=newest)
        return Started(execution_id, await self.status(execution_id), start.path)

    async def control(self, execution_id: str, wish: Control) -> None:
        """Pause, resume, cancel or signal, here or where it runs."""
        storable_json({"name": wish.name, "why": wish.why, "payload": wish.payload}, "request")
        await self._steering.tell(execution_id, wish)

    async def release(self, execution_id: str, by: str = "cli") -> None:
        """Let a stuck execution go on."""
        from noetl.control.front.stuck import release

        await release(self._engine, execution_id, by, adopts=self._adopts)

    async def retry(self, execution_id: str, step: str | None = None, by: str = "cli") -> Started:
        start, program = await rerun_request.retry(self._catalog, self._payloads, execution_id, step)
        return await self._begin(msgspec.structs.replace(start, by=by), program)

    async def rerun(self, execution_id: str, start: str, text: str | None = None, by: str = "cli") -> Started:
        request, program = await rerun_request.rerun(
            self._catalog, self._payloads, execution_id, start, text, by
        )
        return await self._begin(msgspec.structs.replace(request, by=by), program)

    async def executions(self, find: Find) -> Listed:
        """Those that are wanted, the newest first; what runs here with what it has done so far."""
        if find.by == ME:  # of this process: there is nobody else to tell from
            find = msgspec.structs.replace(find, by=None)
        if find.label is not None:
            find = msgspec.structs.replace(find, label=None, paths=await self._labelled(find.label))
        page = await self._store.executions(find)
        return Listed([await self._told(item) for item in page.items], page.cursor)

    async def _told(self, item: Summary) -> Summary:
        return await self._playbook_facts.of_summary(await self._with_counts(item))

    async def _labelled(self, label: str) -> list[str]:
        return [item.path for item in await self.playbooks() if has_label(item.labels, label)]

    async def tally(self, since: int, part_ms: int, path: str | None = None) -> Sequence[Tally]:
        return await self._store.tally(since, part_ms, path)

    async def retried(self, execution_ids: Sequence[str]) -> set[str]:
        return await self._store.retried(execution_ids)

    async def _with_counts(self, item: Summary) -> Summary:
        if item.result is not None:
            return item
        counts = await self._engine.read(item.execution_id, lambda state: outcome_of(state)["counts"])
        return item if counts is None else _counted(item, counts)

    async def execution(self, execution_id: str, *, wait_s: float = 0) -> answers.ExecutionAnswer:
        """How it stands: from memory while it runs here, else from the projection.

        Whoever waits for one that goes on as another waits for the last of them.
        """
        answer = await self._standing(execution_id, wait_s)
        return await self._playbook_facts.of_answer(answer)

    async def _standing(self, execution_id: str, wait_s: float) -> answers.ExecutionAnswer:
        state = None
        if wait_s:
            execution_id, state = await self._last_over(execution_id, wait_s)
        if state is not None and state.ended:  # committed, and as it will be for ever
            return self._shown_live(state)
        live = await self._engine.read(execution_id, self._shown_live)
        if live is not None:
            return live
        summary = await self._store.summary(execution_id)
        if summary.stuck is not None:
            return await self._shown_stuck(summary)
        if summary.result:
            result = {**stored_result(summary), **moments(summary), "log": self._store.path}
            return cast(answers.ExecutionAnswer, result)
        from noetl.control.front.stuck import UNREADABLE, set_aside

        try:
            return self._shown(await newest_state(self._store, execution_id), summary)
        except UNREADABLE as error:
            return await self._shown_stuck(await set_aside(self._engine, execution_id, error))

    async def _last_over(self, execution_id: str, wait_s: float) -> tuple[str, State | None]:
        until = asyncio.get_running_loop().time() + wait_s
        while True:
            state = await self._over(execution_id, until - asyncio.get_running_loop().time())
            if state is not None and state.continued_as is None:
                return execution_id, state
            newest = (await self._store.newest(execution_id)).execution_id
            if newest == execution_id or asyncio.get_running_loop().time() >= until:
                return newest, state if newest == execution_id else None
            execution_id = newest

    async def _over(self, execution_id: str, wait_s: float) -> State | None:
        """Wait for an execution to be over or paused; its state then, when it ran here."""
        with suppress(TimeoutError, BackendError):  # still running, or being loaded again
            async with asyncio.timeout(wait_s):
                state = await self._engine.until_quiet(execution_id)
                if state is None:
                    await self._over_elsewhere(execution_id)
                return state
        return None

    async def _over_elsewhere(self, execution_id: str) -> None:
        behind = await self._store.end(execution_id) + 1
        if await self.status(execution_id) not in ("pending", "running", "waiting"):
            return
        async with aclosing(self._followers.follow(execution_id, behind)) as log:
            async for _, events in log:
                if any(event.name == "execution.paused" for event in events):
                    return

    def _shown_live(self, state: State) -> answers.ExecutionAnswer:
        return self._shown(state, state)

    async def _shown_stuck(self, summary: Summary) -> answers.ExecutionAnswer:
        """As much as can be read of it, and why it is stuck."""
        from noetl.control.front.stuck import UNREADABLE, outline_of, stuck_fields

        try:
            state = await newest_state(self._store, summary.execution_id)
        except UNREADABLE:
            state = outline_of(summary)
        stuck = {"status": summary.status, "stuck": stuck_fields(summary)}
        return cast(answers.ExecutionAnswer, {**self._shown(state, summary), **stuck})

    def _shown(self, state: State, told: Summary | State) -> answers.ExecutionAnswer:
        result = result_so_far(state, self._engine.now())
        whole = {**result, **moments(told), **request_of(state), "log": self._store.path}
        return cast(answers.ExecutionAnswer, whole)

    async def status(self, execution_id: str) -> str:
        return self._engine.status(execution_id) or (await self._store.summary(execution_id)).status

    def follow(self, execution_id: str, first: int = 1) -> AsyncGenerator[tuple[int, list[Event]]]:
        return self._followers.follow(execution_id, first)

    # Readings

    async def projection(self, execution_id: str) -> Projection:
        return await self._store.projection(execution_id)

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        return await self._store.rows(execution_id, first, limit)

    async def events(
        self,
        execution_id: str,
        *,
        first: int = 1,
        limit: int = 500,
        name: str | None = None,
        step: str | None = None,
    ) -> list[EventEnvelope]:
        matching: list[EventEnvelope] = []
        if limit < 1:
            return matching
        async for envelope in envelopes(self._store, execution_id, first=first, name=name, step=step):
            matching.append(envelope)
            if len(matching) >= limit:
                break
        return matching

    async def logs(
        self, execution_id: str, find: FindLines = ALL_LINES, *, after: str = "", limit: int = LINES_PAGE
    ) -> answers.LinesPage:
        await self.lines_sent()
        return await page_of_lines(self._store, execution_id, find, read_cursor(after), limit)

    def follow_logs(
        self, execution_id: str, find: FindLines = ALL_LINES, *, after: str = "", live: bool = True
    ) -> AsyncGenerator[answers.LinesPage]:
        follower = LogFollower(
            self._store, execution_id, find, after, LINES_PAGE
        )  # a wrong place is told now
        return self._follow_logs(follower, live)

    async def _follow_logs(self, follower: LogFollower, live: bool) -> AsyncGenerator[answers.LinesPage]:
        await self.lines_sent()
        async with aclosing(follower.pages(live=live)) as pages:
            async for page in pages:
                yield page

    async def state(self, execution_id: str, at: int | None = None) -> answers.StateAnswer:
        """The state after an event, or now."""
        if at is not None:
            then = await state_at(self._store, execution_id, at)
            return whole_state(then, await self._store.end(execution_id))
        live = await self._engine.read(execution_id, lambda state: whole_state(state, state.seq))
        if live is not None:
            return live
        state = await newest_state(self._store, execution_id)
        return whole_state(state, state.seq)

    async def graph(self, execution_id: str) -> JsonObject:
        from noetl.dsl.net.diagram import graph, sketch

        live = await self._engine.read(execution_id, lambda state: (state.hash, dict(state.fragments)))
        digest, fragments = live or await self._playbook_and_fragments(execution_id)
        if not digest:
            raise NotFound(f"execution {execution_id} never had a playbook")
        program = with_fragments(await self._catalog.program(digest), fragments)
        return graph(sketch(program.playbook))

    async def _playbook_and_fragments(self, execution_id: str) -> tuple[str, dict[str, Fragment]]:
        from noetl.control.front.stuck import UNREADABLE

        try:
            state = await newest_state(self._store, execution_id)
        except UNREADABLE:
            summary = await self._store.summary(execution_id)
            if summary.stuck is None:
                raise
            return summary.hash, {}
        return state.hash, dict(state.fragments)

    async def why(self, execution_id: str, step: str | None = None) -> answers.WhyAnswer:
        from noetl.control.front.stuck import UNREADABLE, set_aside, why_stuck

        summary = await self._store.summary(execution_id)
        if summary.stuck is not None:
            return await why_stuck(self._store, summary, step)
        try:
            return await self._explained(execution_id, step)
        except UNREADABLE as error:
            return await why_stuck(self._store, await set_aside(self._engine, execution_id, error), step)

    async def _explained(self, execution_id: str, step: str | None) -> answers.WhyAnswer:
        from noetl.core.reading.explain import explain

        log = [item async for item in events(self._store, execution_id)]
        if step is not None:
            await self._check_step(execution_id, step)
        explanation = await asyncio.to_thread(
            explain, execution_id, log, step
        )  # of a long log it takes seconds
        return {
            "execution_id": execution_id,
            "status": explanation.status,
            "step": step,
            "summary": explanation.summary,
            "reasons": [
                msgspec.to_builtins(reason)
                for reason in [*explanation.reasons, *await self._running_reasons(execution_id, explanation)]
            ],
        }

    async def _running_reasons(self, execution_id: str, explanation: "Explanation") -> "list[Reason]":
        if not explanation.under_way:
            return []
        from noetl.control.front.running_tasks import RunningTasks

        running = RunningTasks(self._store, self._catalog, self.fleet)
        await self.lines_sent()
        return await running.reasons(execution_id, explanation.under_way)

    async def _check_step(self, execution_id: str, step: str) -> None:
        """Refuse a name that is no step of the playbook and none that was added to it."""
        state = await newest_state(self._store, execution_id)
        program = await self._catalog.program(state.hash) if state.hash else None
        steps = list(dict.fromkeys([*(program.steps if program else ()), *state.steps]))
        if step not in steps:
            near = nearest(step, steps)
            hint = f"did you mean '{near}'?" if near else f"its steps: {', '.join(steps)}"
            raise NotFound(f"the playbook has no step '{step}'", hint=hint)

    async def diff(self, first: str, other: str) -> answers.DiffAnswer:
        from noetl.core.reading.compare import Course, compare

        courses = []
        for execution_id in (first, other):
            courses.append(course := Course(State(execution_id)))
            async for row in rows_of(self._store, execution_id):
                course.take(events_of(row))
        return cast(answers.DiffAnswer, await asyncio.to_thread(compare, courses[0], courses[1]))

    async def evaluate(self, execution_id: str, template: str, at: int | None = None) -> Json:
        summary = await self._store.summary(execution_id)
        limits: Mapping[str, int | None] = LIMITS
        with suppress(NotFound):  # its playbook may have been taken off the catalog
            limits = (await self._catalog.program(summary.hash or "")).limits
        most = limits["max_hydrate_bytes"] or 0
        return await evaluated(self._store, self._payloads, execution_id, template, seq=at, most=most)

    async def result(
        self, key: str, *, offset: int = 0, limit: int | None = None, select: str | None = None
    ) -> Slice:
        return await self._reader.read(key, offset, limit, select)

    # Credentials

    async def put_credential(self, name: str, material: JsonObject) -> None:
        await self._vault.keep(name, current_fields(material))

    async def credentials(self) -> Sequence[tuple[str, int]]:
        return await self._store.secrets()

    async def credential(self, name: str) -> answers.CredentialAnswer:
        material = await self._vault.credential(name)
        moment = dict(await self._store.secrets()).get(name, 0)
        return {"name": name, "fields": sorted(material), "set_at": iso(moment)}

    async def delete_credential(self, name: str) -> None:
        await self._store.delete_secret(name)

    async def seal_again(self) -> int:
        return await self._vault.seal_again()

    # The process

    async def workers(self) -> Sequence[Worker]:
        return await self.fleet()

    async def stuck(self) -> int:
        return await self._store.stuck()

    async def overdue_ms(self) -> int:
        now = self._engine.now()
        waits = [self.backlog()]
        for execution_id in await self._store.due(limit=20):
            due_at = (await self._store.summary(execution_id)).due_at
            waits.append(now - due_at if due_at is not None else 0)
        return max(waits)


def _counted(item: Summary, counts: dict[str, int]) -> Summary:
    return msgspec.structs.replace(item, result=msgspec.json.encode({"counts": counts}))

"""The store port in memory. It keeps what was committed and forgets it with the process."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import msgspec

from noetl.adapters.memory.notifications import MemoryNotifications
from noetl.adapters.memory.schedules import MemorySchedules
from noetl.adapters.memory.task_lines import MemoryLines
from noetl.errors import Conflict, NotFound
from noetl.ports import store
from noetl.ports.task_lines import KeptLines, PrintedLines, StoredLines
from noetl.ports.tick import Tick

RESTING = ("paused", "stuck")


@dataclass(slots=True)
class _Execution:
    summary: store.Summary
    rows: list[store.Row] = field(default_factory=list)
    batches: set[str] = field(default_factory=set)
    snapshot: store.Snapshot | None = None
    seq: int = 0
    head: bytes = b""
    owner: str | None = None
    owned_until: int = 0
    in_hand: str | None = None
    trimmed: bool = False
    expired: bool = False


class MemoryStore(MemorySchedules, MemoryNotifications):
    """Executions, playbooks and credentials of one process."""

    path = "memory"

    def __init__(self, now: Callable[[], int]) -> None:
        MemorySchedules.__init__(self)
        MemoryNotifications.__init__(self)
        self._now = now
        self._executions: dict[str, _Execution] = {}
        self._servers: dict[str, tuple[store.ServerAddress, int]] = {}
        self._keys: dict[str, str] = {}  # idempotency key -> execution
        self._mail: list[store.Letter] = []
        self._posted = 0
        self._playbooks: list[store.PlaybookText] = []
        self._deleted: set[tuple[str, int]] = set()
        self._secrets: dict[str, tuple[bytes, int]] = {}
        self._tokens: dict[str, store.AccessToken] = {}
        self._lines = MemoryLines()

    def _get(self, execution_id: str) -> _Execution:
        try:
            return self._executions[execution_id]
        except KeyError:
            raise store.unknown_execution(execution_id) from None

    async def commit(self, append: store.Append) -> None:
        """Append, all or nothing."""
        execution = self._executions.get(append.execution_id)
        if execution is None and append.summary is None:
            raise store.unknown_execution(append.execution_id)
        self._check(append, execution)
        if append.successor is not None:
            await self._begin_successor(append.execution_id, append.successor)
        before = None if execution is None else execution.summary.status
        if execution is None:
            execution = self._begin(append)
        execution.rows.extend(append.rows)
        execution.batches.update(row.batch for row in append.rows if row.batch is not None)
        newest = max(execution.summary.format, store.newest_format(append))
        execution.summary = msgspec.structs.replace(append.summary or execution.summary, format=newest)
        if append.snapshot is not None:
            execution.snapshot = store.Snapshot(append.rows[-1].last, append.rows[-1].hash, append.snapshot)
        if append.rows:
            execution.seq, execution.head = append.rows[-1].last, append.rows[-1].hash
        self._tell_status(before, execution.summary, execution.seq)
        self._arrive(before, execution.summary)
        for notice in append.notices:
            self._tell(execution.summary, notice)
        over = execution.summary.ended_at is not None
        own = [letter.id for letter in self._mail if letter.execution_id == append.execution_id]
        await self.discard_mail([*append.taken, *(own if over else ())])

    async def _begin_successor(self, execution_id: str, successor: store.Append) -> None:
        if successor.execution_id in self._executions:
            raise Conflict(f"the execution {successor.execution_id} already exists")
        await self.commit(successor)
        for letter in self._mail:
            if letter.execution_id == execution_id:
                letter.execution_id = successor.execution_id

    def _begin(self, append: store.Append) -> _Execution:
        assert append.summary is not None
        key = append.summary.idempotency_key
        if key is not None and key in self._keys:
            raise Conflict(f"an execution with the idempotency key {key!r} already exists")
        if append.newest and not self._is_newest(append.summary.path, append.summary.version):
            raise store.outdated(append.summary)
        if append.keeps is not None:
            store.check_kept(append, {name: each.expired for name, each in self._executions.items()})
        execution = self._executions[append.execution_id] = _Execution(append.summary)
        if key is not None:
            self._keys[key] = append.execution_id
        if append.claim is not None:
            execution.owner, execution.owned_until = append.claim[0], self._now() + append.claim[1]
        return execution

    def _is_newest(self, path: str, version: int | None) -> bool:
        offered = {playbook_text.version for playbook_text in self._playbooks if playbook_text.path == path}
        return version == max(
            offered - {gone for other, gone in self._deleted if other == path}, default=None
        )

    def _check(self, append: store.Append, execution: _Execution | None) -> None:
        store.check_append(append, execution.rows[-1].last if execution and execution.rows else 0)
        if execution is None:
            return
        store.check_owner(append, execution.owner)
        for row in append.rows:
            if row.batch in execution.batches:
                raise Conflict(f"the log of {append.execution_id} has the batch {row.batch} already")

    async def log(self, execution_id: str) -> store.StoredLog:
        """The newest snapshot and the rows behind it."""
        execution = self._get(execution_id)
        seq, state = (execution.snapshot.seq, execution.snapshot.state) if execution.snapshot else (0, None)
        head = execution.rows[-1].hash if execution.rows else b""
        return store.StoredLog(state, [row for row in execution.rows if row.first > seq], head)

    async def logs(self, execution_ids: Sequence[str]) -> Mapping[str, store.StoredLog]:
        return {key: await self.log(key) for key in execution_ids if key in self._executions}

    async def add_lines(self, printed: Sequence[PrintedLines], kept: KeptLines) -> None:
        for one in printed:
            if one.execution_id in self._executions:
                self._lines.add(one, kept)

    async def lines(self, execution_id: str, after: int = 0) -> Sequence[StoredLines]:
        return self._lines.read(execution_id, after)

    async def projection(self, execution_id: str) -> store.Projection:
        execution = self._get(execution_id)
        return store.Projection(execution.summary, execution.seq, execution.head, execution.snapshot)

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[store.Row]:
        return [row for row in self._get(execution_id).rows if row.last >= first][:limit]

    async def end(self, execution_id: str) -> int:
        rows = self._get(execution_id).rows
        return rows[-1].last if rows else 0

    async def answered(self, execution_id: str, batch: str) -> bool:
        return batch in self._get(execution_id).batches

    async def summary(self, execution_id: str) -> store.Summary:
        return self._get(execution_id).summary

    async def newest(self, execution_id: str) -> store.Summary:
        summary = self._get(execution_id).summary
        first = summary.chain or execution_id
        chain = [other.summary for other in self._executions.values() if other.summary.chain == first]
        return chain[-1] if chain else summary

    async def executions(self, find: store.Find = store.EVERY) -> store.Listed:
        """Executions, the newest first."""
        start = store.page_start(find.cursor)
        matching = [
            (number, execution.summary)
            for number, execution in enumerate(self._executions.values())
            if (start is None or number < start) and _matches(execution.summary, find)
        ][::-1]
        more = str(matching[find.limit - 1][0]) if len(matching) > find.limit else None
        return store.Listed([summary for _, summary in matching[: find.limit]], more)

    async def by_key(self, idempotency_key: str) -> store.Summary | None:
        execution_id = self._keys.get(idempotency_key)
        return None if execution_id is None else self._executions[execution_id].summary

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        execution, now = self._get(execution_id), self._now()
        foreign = execution.owner not in (None, owner)
        if execution.summary.stuck is not None or (foreign and execution.owned_until >= now):
            return False
        if foreign:
            execution.in_hand = execution.in_hand or ""
        execution.owner, execution.owned_until = owner, now + lease_ms
        return True

    async def take_in_hand(self, execution_id: str, owner: str) -> str | None:
        execution = self._get(execution_id)
        before = execution.in_hand
        execution.in_hand = owner if before is not None else None
        return before

    async def note_in_hand(self, execution_ids: Sequence[str], owner: str) -> None:
        for execution in self._there(execution_ids):
            execution.in_hand = owner

    async def take_over(
        self, owner: str, lease_ms: int, own: Sequence[str] = (), but: Sequence[str] = (), limit: int = 100
    ) -> Sequence[store.Claimed]:
        now = self._now()
        wanted = [self._executions[key] for key in own if key in self._executions]
        wanted = [execution for execution in wanted if execution.owner == owner and _is_open(execution)]
        left = [execution for execution in self._executions.values() if _is_left(execution, owner, now)]
        left = [execution for execution in left if execution.summary.execution_id not in but]
        left = [execution for execution in left if not self._rests(execution.summary)]
        left.sort(key=lambda execution: execution.summary.due_at or 0)
        return [self._take(execution, owner, now + lease_ms) for execution in [*wanted, *left][:limit]]

    def _there(self, execution_ids: Sequence[str]) -> list[_Execution]:
        return [self._executions[key] for key in execution_ids if key in self._executions]

    def _rests(self, summary: store.Summary) -> bool:
        """Whether an execution needs nobody; not one that is paused and ends with its parent."""
        parent = self._executions.get(summary.parent or "")
        over = parent is not None and parent.summary.ended_at is not None
        return summary.status in RESTING and not (summary.status == "paused" and over)

    def _take(self, execution: _Execution, owner: str, until: int) -> store.Claimed:
        before = execution.in_hand
        if execution.owner not in (None, owner):
            before = before or ""
            execution.in_hand = store.reading(owner)
        execution.owner, execution.owned_until = owner, until
        size = sum(len(row.body) for row in execution.rows)
        return store.Claimed(execution.summary, before, size)

    async def put_down(self, execution_ids: Sequence[str], note: str) -> None:
        for execution in self._there(execution_ids):
            if execution.in_hand == note:
                execution.in_hand = None

    async def set_aside(self, execution_id: str, owner: str, why: store.Stuck) -> bool:
        execution = self._get(execution_id)
        if execution.owner != owner or execution.summary.ended_at is not None:
            return False
        message = msgspec.json.encode(msgspec.structs.replace(why, status=execution.summary.status)).decode()
        before = execution.summary.status
        execution.summary = msgspec.structs.replace(execution.summary, status="stuck", stuck=message)
        self._tell_status(before, execution.summary, execution.seq)
        execution.owner, execution.owned_until, execution.in_hand = None, 0, None
        return True

    async def release(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        execution = self._get(execution_id)
        if execution.summary.stuck is None:
            return False
        why = msgspec.json.decode(execution.summary.stuck, type=store.Stuck)
        execution.summary = msgspec.structs.replace(execution.summary, status=why.status, stuck=None)
        self._tell_status("stuck", execution.summary, execution.seq)
        execution.owner, execution.owned_until = owner, self._now() + lease_ms
        execution.in_hand = store.custody_after(why)
        return True

    async def tally(self, since: int, part_ms: int, path: str | None = None) -> list[store.Tally]:
        wanted = store.Find(path=path)
        counts: Counter[tuple[str, int]] = Counter()
        for execution in self._executions.values():
            one = execution.summary
            moment = one.requested_at if one.ended_at is None else one.ended_at
            if _matches(one, wanted) and (one.ended_at is None or one.requested_at >= since):
                counts[one.status, max(0, (moment - since) // part_ms)] += 1
        return [store.Tally(*key, number) for key, number in counts.items()]

    async def retried(self, execution_ids: Sequence[str]) -> set[str]:
        given = {execution.summary.retry_of for execution in self._executions.values()}
        return {one for one in execution_ids if one in given}

    async def stuck(self) -> int:
        return sum(execution.summary.stuck is not None for execution in self._executions.values())

    async def owned(self, execution_id: str) -> bool:
        """Whether someone's claim is fresh."""
        execution = self._get(execution_id)
        return execution.owner is not None and execution.owned_until >= self._now()

    async def leave(self, owner: str) -> None:
        for execution_id in self._executions:
            await self.let_go(execution_id, owner)

    async def let_go(self, execution_id: str, owner: str) -> None:
        execution = self._get(execution_id)
        if execution.owner == owner:
            execution.owner, execution.owned_until = None, 0
            ours = execution.in_hand in (owner, store.reading(owner))
            execution.in_hand = None if ours else execution.in_hand

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        for execution in self._executions.values():
            if execution.owner == owner and execution.summary.ended_at is None:
                execution.owned_until = self._now() + lease_ms

    async def announce(self, address: store.ServerAddress, lease_ms: int) -> None:
        self._servers[address.server] = (address, self._now() + lease_ms)

    async def withdraw(self, server: str) -> None:
        self._servers.pop(server, None)

    async def servers(self) -> Sequence[store.ServerAddress]:
        here = [address for address, until in self._servers.values() if until >= self._now()]
        return sorted(here, key=lambda address: address.server)

    async def due(self, now: int | None = None, limit: int = 100) -> list[str]:
        """Executions with something due or no fresh owner."""
        now = self._now() if now is None else now
        waiting = [
            execution
            for execution in self._executions.values()
            if execution.summary.ended_at is None
            and execution.summary.status not in RESTING
            and _is_due(execution, now)
        ]
        waiting.sort(key=lambda execution: execution.summary.due_at or 0)
        return [execution.summary.execution_id for execution in waiting[:limit]]

    async def post(self, execution_id: str, message: bytes) -> int | None:
        """Leave a message for the owner of an execution that is not over."""
        execution = self._executions.get(execution_id)
        if execution is None or execution.summary.ended_at is not None:
            return None
        self._posted += 1
        self._mail.append(store.Letter(self._posted, execution_id, message))
        return self._posted

    async def is_posted(self, letter: int) -> bool:
        return any(letter == posted.id for posted in self._mail)

    async def mail(self, owner: str) -> Sequence[store.Letter]:
        own = {key for key, execution in self._executions.items() if execution.owner == owner}
        return [letter for letter in self._mail if letter.execution_id in own]

    async def discard_mail(self, letters: Sequence[int]) -> None:
        self._mail = [letter for letter in self._mail if letter.id not in letters]

    async def register(
        self,
        path: str,
        digest: str,
        text: str,
        file: str | None,
        by: str | None = None,
        language: int = 1,
    ) -> store.PlaybookText:
        versions = [entry for entry in self._playbooks if entry.path == path]
        if versions and versions[-1].hash == digest and (path, len(versions)) not in self._deleted:
            versions[-1].file = file or versions[-1].file
            return versions[-1]
        entry = store.PlaybookText(path, len(versions) + 1, digest, text, file, self._now(), by, language)
        self._playbooks.append(entry)
        return entry

    async def playbook(
        self, *, digest: str | None = None, path: str | None = None, version: int | None = None
    ) -> store.PlaybookText:
        playbook_texts = [
            entry
            for entry in self._playbooks
            if digest in (None, entry.hash)
            and path in (None, entry.path)
            and version in (None, entry.version)
            and (digest is not None or (entry.path, entry.version) not in self._deleted)
        ]
        if not playbook_texts:
            raise store.unknown_playbook(path, digest, version)
        return max(playbook_texts, key=lambda entry: entry.version)

    async def playbooks(self, path: str | None = None) -> Sequence[store.PlaybookText]:
        offered = [entry for entry in self._playbooks if (entry.path, entry.version) not in self._deleted]
        if path is not None:
            return [entry for entry in offered if entry.path == path][::-1]
        newest = {entry.path: entry for entry in offered}
        return [newest[path] for path in sorted(newest)]

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        gone = [entry for entry in await self.playbooks(path) if version in (None, entry.version)]
        self._deleted |= {(entry.path, entry.version) for entry in gone}
        return len(gone)

    async def put_secret(self, name: str, sealed: bytes) -> None:
        self._secrets[name] = (sealed, self._now())

    async def secret(self, name: str) -> bytes:
        if name not in self._secrets:
            raise store.unknown_credential(name)
        return self._secrets[name][0]

    async def reseal_secret(self, name: str, old: bytes, new: bytes) -> bool:
        sealed, set_at = self._secrets.get(name, (b"", 0))
        if sealed == old:
            self._secrets[name] = (new, set_at)
        return sealed == old

    async def secrets(self) -> Sequence[tuple[str, int]]:
        return [(name, set_at) for name, (_, set_at) in sorted(self._secrets.items())]

    async def delete_secret(self, name: str) -> None:
        if self._secrets.pop(name, None) is None:
            raise store.unknown_credential(name, hint="noetl credential list")

    async def put_token(self, token: store.AccessToken) -> None:
        self._tokens.pop(token.id, None)
        self._tokens[token.id] = token

    async def token(self, token_id: str) -> store.AccessToken:
        if token_id not in self._tokens:
            raise store.unknown_token(token_id)
        return self._tokens[token_id]

    async def tokens(self) -> Sequence[store.AccessToken]:
        return sorted(self._tokens.values(), key=lambda token: (-token.created_at, token.id))

    async def delete_token(self, token_id: str) -> None:
        if self._tokens.pop(token_id, None) is None:
            raise store.unknown_token(token_id)

    async def ended(self, before: int, *, after: str = "", limit: int = 200) -> Sequence[store.Outline]:
        outlines = (_outline(self._executions[key]) for key in sorted(self._executions) if key > after)
        return [
            outline for outline in outlines if outline.ended_at is not None and outline.ended_at <= before
        ][:limit]

    async def family(self, execution_id: str) -> Sequence[store.Outline]:
        members: dict[str, store.Outline] = {}
        waiting = [execution_id]
        while waiting:
            key = waiting.pop()
            if key not in members and key in self._executions:
                members[key] = _outline(self._executions[key])
                waiting += self._relatives(key)
        return list(members.values())

    def _relatives(self, execution_id: str) -> list[str]:
        own = self._executions[execution_id].summary
        named = [name for name in (own.parent, own.retry_of, own.chain) if name is not None]
        others = (execution.summary for execution in self._executions.values())
        return named + [
            execution.execution_id
            for execution in others
            if execution_id in (execution.parent, execution.retry_of, execution.chain)
        ]

    async def trim(self, execution_id: str, rows: Sequence[store.Row], *, whole: bool) -> None:
        execution = self._executions.get(execution_id)
        if execution is None or execution.summary.ended_at is None:
            raise Conflict(f"execution {execution_id} is not over")
        shorter = {(row.first, row.last): row for row in rows}
        execution.rows = [shorter.get((row.first, row.last), row) for row in execution.rows]
        execution.trimmed = execution.trimmed or whole

    async def refuse_tick(self, tick: Tick, told: Sequence[str], path: str, detail: str) -> bool:
        if not await self.move_tick(tick, "starting"):
            return False
        for name in told:
            with suppress(NotFound):
                await self.add_delivery(name, "failed", self._now(), path, detail)
        return True

    async def expire(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        for key in execution_ids:
            family = await self.family(key)
            for execution in self._there([member.execution_id for member in family]):
                execution.expired = execution.expired or store.family_over(family, before)
        return [key for key in execution_ids if key in self._executions and self._executions[key].expired]

    async def delete(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        """Forget executions with their logs, those whose whole family is over."""
        expired = await self.expire(execution_ids, before)
        gone = [key for key in expired if store.family_over(await self.family(key), before)]
        await self.note_ends(gone)
        for key in gone:
            self._keys.pop(self._executions.pop(key).summary.idempotency_key or "", None)
            self._lines.forget(key)
        self._mail = [letter for letter in self._mail if letter.execution_id not in gone]
        return gone

    async def extent(self) -> store.Extent:
        summaries = [execution.summary for execution in self._executions.values()]
        open_ = [
            execution
            for execution in summaries
            if execution.ended_at is None and execution.status not in RESTING
        ]
        due = min(
            (
                (execution.due_at, execution.execution_id)
                for execution in open_
                if execution.due_at is not None
            ),
            default=None,
        )
        return store.Extent(
            schema=0,
            bytes=sum(len(row.body) for execution in self._executions.values() for row in execution.rows),
            executions=dict(Counter(execution.status for execution in summaries)),
            events=sum(execution.rows[-1].last for execution in self._executions.values() if execution.rows),
            playbooks=len(
                [
                    execution
                    for execution in self._playbooks
                    if (execution.path, execution.version) not in self._deleted
                ]
            ),
            credentials=len(self._secrets),
            messages=len(self._mail),
            oldest_due=due and (due[1], due[0]),
        )

    async def close(self) -> None:
        """Nothing is held open."""


def _outline(execution: _Execution) -> store.Outline:
    summary = execution.summary
    return store.Outline(summary.execution_id, summary.hash, summary.ended_at, execution.trimmed)


def _matches(summary: store.Summary, find: store.Find) -> bool:
    part = (find.text or "").lower()
    return (
        find.status in (None, summary.status)
        and (find.path is None or fnmatchcase(summary.path, store.glob_of(find.path)))
        and (find.paths is None or summary.path in find.paths)
        and find.parent in (None, summary.parent)
        and find.by in (None, summary.requested_by)
        and summary.execution_id.startswith(find.prefix)
        and (part in summary.execution_id or part in summary.path.lower())
        and (find.since is None or summary.requested_at >= find.since)
        and (find.until is None or summary.requested_at <= find.until)
        and (find.children or summary.parent is None)
        and (find.continued or summary.continued_as is None)
    )


def _is_open(execution: _Execution) -> bool:
    return execution.summary.ended_at is None and execution.summary.stuck is None


def _is_left(execution: _Execution, owner: str, now: int) -> bool:
    """Whether nobody alive owns an execution that someone should go on with."""
    silent = execution.owner is None or (execution.owner != owner and execution.owned_until < now)
    return silent and _is_open(execution)


def _is_due(execution: _Execution, now: int) -> bool:
    due_at = execution.summary.due_at
    return (due_at is not None and due_at <= now) or execution.owned_until < now

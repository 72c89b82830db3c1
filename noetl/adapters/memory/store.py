"""The store port in memory. It keeps what was committed and forgets it with the process."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from noetl.adapters.memory.schedules import MemorySchedules
from noetl.errors import Conflict, NotFound
from noetl.ports.store import (
    AccessToken,
    Append,
    Extent,
    Letter,
    Listed,
    Outline,
    PlaybookText,
    Projection,
    Row,
    Snapshot,
    StoredLog,
    Stuck,
    Summary,
    check_append,
    check_owner,
    custody_after,
    family_over,
    outdated,
    page_start,
    unknown_execution,
    unknown_token,
)

RESTING = ("paused", "stuck")


@dataclass(slots=True)
class _Execution:
    summary: Summary
    rows: list[Row] = field(default_factory=list)
    batches: set[str] = field(default_factory=set)
    snapshot: Snapshot | None = None
    seq: int = 0
    head: bytes = b""
    owner: str | None = None
    owned_until: int = 0
    in_hand: str | None = None
    trimmed: bool = False


class MemoryStore(MemorySchedules):
    """Executions, playbooks and credentials of one process."""

    path = "memory"

    def __init__(self, now: Callable[[], int]) -> None:
        super().__init__()
        self._now = now
        self._executions: dict[str, _Execution] = {}
        self._keys: dict[str, str] = {}  # idempotency key -> execution
        self._mail: list[Letter] = []
        self._posted = 0
        self._playbooks: list[PlaybookText] = []
        self._deleted: set[tuple[str, int]] = set()
        self._secrets: dict[str, tuple[bytes, int]] = {}
        self._tokens: dict[str, AccessToken] = {}

    def _get(self, execution_id: str) -> _Execution:
        try:
            return self._executions[execution_id]
        except KeyError:
            raise unknown_execution(execution_id) from None

    async def commit(self, append: Append) -> None:
        """Append, all or nothing."""
        known = self._executions.get(append.execution_id)
        if known is None and append.summary is None:
            raise unknown_execution(append.execution_id)
        self._check(append, known)
        if known is None:
            known = self._begin(append)
        known.rows.extend(append.rows)
        known.batches.update(row.batch for row in append.rows if row.batch is not None)
        known.summary = append.summary or known.summary
        if append.snapshot is not None:
            known.snapshot = Snapshot(append.rows[-1].last, append.rows[-1].hash, append.snapshot)
        if append.rows:
            known.seq, known.head = append.rows[-1].last, append.rows[-1].hash
        over = known.summary.ended_at is not None
        own = [letter.id for letter in self._mail if letter.execution_id == append.execution_id]
        await self.discard_mail([letter for letter in own if over or letter in append.taken])

    def _begin(self, append: Append) -> _Execution:
        assert append.summary is not None
        key = append.summary.idempotency_key
        if key is not None and key in self._keys:
            raise Conflict(f"an execution with the idempotency key {key!r} already exists")
        if append.newest and not self._is_newest(append.summary.path, append.summary.version):
            raise outdated(append.summary)
        known = self._executions[append.execution_id] = _Execution(append.summary)
        if key is not None:
            self._keys[key] = append.execution_id
        if append.claim is not None:
            known.owner, known.owned_until = append.claim[0], self._now() + append.claim[1]
        return known

    def _is_newest(self, path: str, version: int | None) -> bool:
        offered = {one.version for one in self._playbooks if one.path == path}
        return version == max(
            offered - {gone for other, gone in self._deleted if other == path}, default=None
        )

    def _check(self, append: Append, known: _Execution | None) -> None:
        check_append(append, known.rows[-1].last if known and known.rows else 0)
        if known is None:
            return
        check_owner(append, known.owner)
        for row in append.rows:
            if row.batch in known.batches:
                raise Conflict(f"the log of {append.execution_id} has the batch {row.batch} already")

    async def log(self, execution_id: str) -> StoredLog:
        """The newest snapshot and the rows behind it."""
        found = self._get(execution_id)
        seq, state = (found.snapshot.seq, found.snapshot.state) if found.snapshot else (0, None)
        head = found.rows[-1].hash if found.rows else b""
        return StoredLog(state, [row for row in found.rows if row.first > seq], head)

    async def projection(self, execution_id: str) -> Projection:
        """What stands beside the log."""
        found = self._get(execution_id)
        return Projection(found.summary, found.seq, found.head, found.snapshot)

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        """Rows in order, from the one that holds an event."""
        return [row for row in self._get(execution_id).rows if row.last >= first][:limit]

    async def end(self, execution_id: str) -> int:
        """The number of the newest event."""
        rows = self._get(execution_id).rows
        return rows[-1].last if rows else 0

    async def answered(self, execution_id: str, batch: str) -> bool:
        """Whether a batch has been appended."""
        return batch in self._get(execution_id).batches

    async def summary(self, execution_id: str) -> Summary:
        """One execution."""
        return self._get(execution_id).summary

    async def executions(
        self,
        *,
        status: str | None = None,
        path: str | None = None,
        prefix: str = "",
        text: str | None = None,
        since: int | None = None,
        until: int | None = None,
        parent: str | None = None,
        by: str | None = None,
        children: bool = True,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Listed:
        """Executions, the newest first."""
        start = page_start(cursor)
        part = (text or "").lower()
        found = [
            (number, one)
            for number, one in enumerate(each.summary for each in self._executions.values())
            if status in (None, one.status) and path in (None, one.path) and parent in (None, one.parent)
            if one.execution_id.startswith(prefix) and (part in one.execution_id or part in one.path.lower())
            if (since is None or one.requested_at >= since) and (until is None or one.requested_at <= until)
            if by in (None, one.requested_by)
            and (children or one.parent is None)
            and (start is None or number < start)
        ][::-1]
        more = str(found[limit - 1][0]) if len(found) > limit else None
        return Listed([summary for _, summary in found[:limit]], more)

    async def by_key(self, idempotency_key: str) -> Summary | None:
        """The execution with an idempotency key."""
        found = self._keys.get(idempotency_key)
        return None if found is None else self._executions[found].summary

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the one writer of an execution, or stay it."""
        found, now = self._get(execution_id), self._now()
        another = found.owner not in (None, owner)
        if found.summary.stuck is not None or (another and found.owned_until >= now):
            return False
        if another:
            found.in_hand = found.in_hand or ""
        found.owner, found.owned_until = owner, now + lease_ms
        return True

    async def take_in_hand(self, execution_id: str, owner: str, *, always: bool = False) -> str | None:
        """Note that an owner is about to read or decide on an execution."""
        found = self._get(execution_id)
        before = found.in_hand
        found.in_hand = owner if always or before is not None else None
        return before

    async def put_down(self, execution_id: str, owner: str) -> None:
        """It went well."""
        found = self._get(execution_id)
        found.in_hand = None if found.in_hand == owner else found.in_hand

    async def set_aside(self, execution_id: str, owner: str, why: Stuck) -> bool:
        """Give up an execution of an owner."""
        found = self._get(execution_id)
        if found.owner != owner or found.summary.ended_at is not None:
            return False
        told = msgspec.json.encode(msgspec.structs.replace(why, status=found.summary.status)).decode()
        found.summary = msgspec.structs.replace(found.summary, status="stuck", stuck=told)
        found.owner, found.owned_until, found.in_hand = None, 0, None
        return True

    async def release(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the owner of an execution that is stuck."""
        found = self._get(execution_id)
        if found.summary.stuck is None:
            return False
        why = msgspec.json.decode(found.summary.stuck, type=Stuck)
        found.summary = msgspec.structs.replace(found.summary, status=why.status, stuck=None)
        found.owner, found.owned_until = owner, self._now() + lease_ms
        found.in_hand = custody_after(why)
        return True

    async def stuck(self) -> int:
        """How many executions are stuck."""
        return sum(one.summary.stuck is not None for one in self._executions.values())

    async def owned(self, execution_id: str) -> bool:
        """Whether someone's claim is fresh."""
        found = self._get(execution_id)
        return found.owner is not None and found.owned_until >= self._now()

    async def leave(self, owner: str) -> None:
        """Give every claim of an owner up."""
        for one in self._executions.values():
            if one.owner == owner:
                one.owner, one.owned_until = None, 0
                one.in_hand = None if one.in_hand == owner else one.in_hand

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        """Renew every claim of an owner."""
        for one in self._executions.values():
            if one.owner == owner and one.summary.ended_at is None:
                one.owned_until = self._now() + lease_ms

    async def due(self, now: int | None = None, limit: int = 100) -> list[str]:
        """Executions with something due or no fresh owner."""
        now = self._now() if now is None else now
        waiting = [
            one
            for one in self._executions.values()
            if one.summary.ended_at is None and one.summary.status not in RESTING and _is_due(one, now)
        ]
        waiting.sort(key=lambda one: one.summary.due_at or 0)
        return [one.summary.execution_id for one in waiting[:limit]]

    async def post(self, execution_id: str, message: bytes) -> None:
        """Leave a message for the owner of an execution that is not over."""
        known = self._executions.get(execution_id)
        if known is not None and known.summary.ended_at is None:
            self._posted += 1
            self._mail.append(Letter(self._posted, execution_id, message))

    async def mail(self, owner: str) -> Sequence[Letter]:
        """The messages left for the executions of an owner."""
        own = {key for key, one in self._executions.items() if one.owner == owner}
        return [letter for letter in self._mail if letter.execution_id in own]

    async def discard_mail(self, letters: Sequence[int]) -> None:
        """Throw letters away."""
        self._mail = [letter for letter in self._mail if letter.id not in letters]

    async def register(
        self, path: str, digest: str, text: str, file: str | None, by: str | None = None
    ) -> PlaybookText:
        """Keep a playbook; the same text is the version it already is."""
        versions = [entry for entry in self._playbooks if entry.path == path]
        if versions and versions[-1].hash == digest and (path, len(versions)) not in self._deleted:
            versions[-1].file = file or versions[-1].file
            return versions[-1]
        entry = PlaybookText(path, len(versions) + 1, digest, text, file, self._now(), by)
        self._playbooks.append(entry)
        return entry

    async def playbook(
        self, *, digest: str | None = None, path: str | None = None, version: int | None = None
    ) -> PlaybookText:
        """A playbook by its content, or by path and version."""
        found = [
            entry
            for entry in self._playbooks
            if digest in (None, entry.hash)
            and path in (None, entry.path)
            and version in (None, entry.version)
            and (digest is not None or (entry.path, entry.version) not in self._deleted)
        ]
        if not found:
            told = f"there is no playbook {path or digest}" + (
                f" version {version}" if version is not None else ""
            )
            raise NotFound(told, hint="noetl catalog list")
        return max(found, key=lambda entry: entry.version)

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        """The newest version of every path, or every version of one."""
        offered = [entry for entry in self._playbooks if (entry.path, entry.version) not in self._deleted]
        if path is not None:
            return [entry for entry in offered if entry.path == path][::-1]
        newest = {entry.path: entry for entry in offered}
        return [newest[path] for path in sorted(newest)]

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version, off the catalog."""
        gone = [entry for entry in await self.playbooks(path) if version in (None, entry.version)]
        self._deleted |= {(entry.path, entry.version) for entry in gone}
        return len(gone)

    async def put_secret(self, name: str, sealed: bytes) -> None:
        """Keep a sealed credential."""
        self._secrets[name] = (sealed, self._now())

    async def secret(self, name: str) -> bytes:
        """A sealed credential."""
        if name not in self._secrets:
            raise NotFound(f"there is no credential {name!r}", hint=f"noetl credential set {name} --value -")
        return self._secrets[name][0]

    async def reseal_secret(self, name: str, old: bytes, new: bytes) -> bool:
        """Put other bytes in place of exactly these."""
        sealed, set_at = self._secrets.get(name, (b"", 0))
        if sealed == old:
            self._secrets[name] = (new, set_at)
        return sealed == old

    async def secrets(self) -> Sequence[tuple[str, int]]:
        """Names of credentials and when each was last set."""
        return [(name, set_at) for name, (_, set_at) in sorted(self._secrets.items())]

    async def delete_secret(self, name: str) -> None:
        """Forget a credential."""
        if self._secrets.pop(name, None) is None:
            raise NotFound(f"there is no credential {name!r}", hint="noetl credential list")

    async def put_token(self, token: AccessToken) -> None:
        """Keep a token."""
        self._tokens.pop(token.id, None)
        self._tokens[token.id] = token

    async def token(self, token_id: str) -> AccessToken:
        """One token."""
        if token_id not in self._tokens:
            raise unknown_token(token_id)
        return self._tokens[token_id]

    async def tokens(self) -> Sequence[AccessToken]:
        """Every token, the newest first."""
        return sorted(self._tokens.values(), key=lambda token: (-token.created_at, token.id))

    async def delete_token(self, token_id: str) -> None:
        """Forget a token."""
        if self._tokens.pop(token_id, None) is None:
            raise unknown_token(token_id)

    async def ended(self, before: int, *, after: str = "", limit: int = 200) -> Sequence[Outline]:
        """Executions that were over at a moment, by id."""
        found = (_outline(self._executions[key]) for key in sorted(self._executions) if key > after)
        return [one for one in found if one.ended_at is not None and one.ended_at <= before][:limit]

    async def family(self, execution_id: str) -> Sequence[Outline]:
        """An execution with all that may hold its references."""
        found: dict[str, Outline] = {}
        waiting = [execution_id]
        while waiting:
            key = waiting.pop()
            if key not in found and key in self._executions:
                found[key] = _outline(self._executions[key])
                waiting += self._relatives(key)
        return list(found.values())

    def _relatives(self, execution_id: str) -> list[str]:
        own = self._executions[execution_id].summary
        named = [one for one in (own.parent, own.retry_of) if one is not None]
        others = (one.summary for one in self._executions.values())
        return named + [one.execution_id for one in others if execution_id in (one.parent, one.retry_of)]

    async def trim(self, execution_id: str, rows: Sequence[Row], *, whole: bool) -> None:
        """Put rows that say less in the place of the same ones."""
        known = self._executions.get(execution_id)
        if known is None or known.summary.ended_at is None:
            raise Conflict(f"execution {execution_id} is not over")
        shorter = {(row.first, row.last): row for row in rows}
        known.rows = [shorter.get((row.first, row.last), row) for row in known.rows]
        known.trimmed = known.trimmed or whole

    async def delete(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        """Forget executions with their logs, those whose whole family is over."""
        gone = [key for key in execution_ids if family_over(await self.family(key), before)]
        for key in gone:
            self._keys.pop(self._executions.pop(key).summary.idempotency_key or "", None)
        self._mail = [letter for letter in self._mail if letter.execution_id not in gone]
        return gone

    async def extent(self) -> Extent:
        """How much there is."""
        summaries = [one.summary for one in self._executions.values()]
        open_ = [one for one in summaries if one.ended_at is None and one.status not in RESTING]
        due = min(((one.due_at, one.execution_id) for one in open_ if one.due_at is not None), default=None)
        return Extent(
            schema=0,
            bytes=sum(len(row.body) for one in self._executions.values() for row in one.rows),
            executions=dict(Counter(one.status for one in summaries)),
            events=sum(one.rows[-1].last for one in self._executions.values() if one.rows),
            playbooks=len([one for one in self._playbooks if (one.path, one.version) not in self._deleted]),
            credentials=len(self._secrets),
            messages=len(self._mail),
            oldest_due=due and (due[1], due[0]),
        )

    async def close(self) -> None:
        """Nothing is held open."""


def _outline(one: _Execution) -> Outline:
    summary = one.summary
    return Outline(summary.execution_id, summary.hash, summary.ended_at, one.trimmed)


def _is_due(one: _Execution, now: int) -> bool:
    due_at = one.summary.due_at
    return (due_at is not None and due_at <= now) or one.owned_until < now

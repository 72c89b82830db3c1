"""The store port in memory. It keeps what was committed and forgets it with the process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from noetl.errors import Conflict, NotFound
from noetl.ports.store import Append, Listed, PlaybookText, Row, StoredLog, Summary


@dataclass(slots=True)
class _Execution:
    summary: Summary
    rows: list[Row] = field(default_factory=list)
    snapshot: tuple[int, bytes] | None = None
    owner: str | None = None
    owned_until: int = 0


class MemoryStore:
    """Executions, playbooks and credentials of one process."""

    path = "memory"

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._executions: dict[str, _Execution] = {}
        self._mail: list[tuple[str, bytes]] = []
        self._playbooks: list[PlaybookText] = []
        self._deleted: set[tuple[str, int]] = set()
        self._secrets: dict[str, tuple[bytes, int]] = {}

    def _get(self, execution_id: str) -> _Execution:
        try:
            return self._executions[execution_id]
        except KeyError:
            raise NotFound(f"there is no execution {execution_id}", hint="noetl execution list") from None

    async def commit(self, append: Append) -> None:
        """Append, all or nothing."""
        known = self._executions.get(append.execution_id)
        if known is None and append.summary is None:
            raise NotFound(f"there is no execution {append.execution_id}")
        rows = known.rows if known else []
        self._check(append, rows)
        if append.summary is not None:
            self._check_key(append.summary)
        if known is None:
            assert append.summary is not None
            known = self._executions[append.execution_id] = _Execution(append.summary)
            if append.claim is not None:
                known.owner, known.owned_until = append.claim[0], self._now() + append.claim[1]
        known.rows.extend(append.rows)
        known.summary = append.summary or known.summary
        if append.snapshot is not None:
            known.snapshot = (append.rows[-1].last, append.snapshot)

    def _check(self, append: Append, rows: list[Row]) -> None:
        end = rows[-1].last if rows else 0
        if end != append.expected:
            raise Conflict(f"the log of {append.execution_id} ends at {end}, not at {append.expected}")
        batches = {row.batch for row in rows if row.batch is not None}
        for row in append.rows:
            if row.first != end + 1 or row.batch in batches:
                raise Conflict(f"the log of {append.execution_id} cannot take a row at {row.first}")
            end = row.last

    def _check_key(self, summary: Summary) -> None:
        key = summary.idempotency_key
        for other in self._executions.values():
            taken = key is not None and other.summary.idempotency_key == key
            if taken and other.summary.execution_id != summary.execution_id:
                raise Conflict(f"an execution with the idempotency key {key!r} already exists")

    async def log(self, execution_id: str) -> StoredLog:
        """The newest snapshot and the rows behind it."""
        found = self._get(execution_id)
        seq, snapshot = found.snapshot or (0, None)
        head = found.rows[-1].hash if found.rows else b""
        return StoredLog(snapshot, [row for row in found.rows if row.first > seq], head)

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        """Rows in order, from the one that holds an event."""
        return [row for row in self._get(execution_id).rows if row.last >= first][:limit]

    async def end(self, execution_id: str) -> int:
        """The number of the newest event."""
        rows = self._get(execution_id).rows
        return rows[-1].last if rows else 0

    async def answered(self, execution_id: str, batch: str) -> bool:
        """Whether a batch has been appended."""
        return any(row.batch == batch for row in self._get(execution_id).rows)

    async def summary(self, execution_id: str) -> Summary:
        """One execution."""
        return self._get(execution_id).summary

    async def executions(
        self,
        *,
        status: str | None = None,
        path: str | None = None,
        prefix: str = "",
        children: bool = True,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Listed:
        """Executions, the newest first."""
        numbered = list(enumerate(self._executions.values()))[::-1]
        end = _cursor(cursor, len(numbered))
        found = [
            (number, one.summary)
            for number, one in numbered
            if number < end and status in (None, one.summary.status) and path in (None, one.summary.path)
            if one.summary.execution_id.startswith(prefix) and (children or one.summary.parent is None)
        ]
        more = str(found[limit - 1][0]) if len(found) > limit else None
        return Listed([summary for _, summary in found[:limit]], more)

    async def by_key(self, idempotency_key: str) -> Summary | None:
        """The execution with an idempotency key."""
        summaries = (one.summary for one in self._executions.values())
        return next((one for one in summaries if one.idempotency_key == idempotency_key), None)

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the one writer of an execution, or stay it."""
        found, now = self._get(execution_id), self._now()
        if found.owner not in (None, owner) and found.owned_until >= now:
            return False
        found.owner, found.owned_until = owner, now + lease_ms
        return True

    async def owned(self, execution_id: str) -> bool:
        """Whether someone's claim is fresh."""
        found = self._get(execution_id)
        return found.owner is not None and found.owned_until >= self._now()

    async def release(self, execution_id: str, owner: str) -> None:
        """Give a claim up."""
        found = self._get(execution_id)
        if found.owner == owner:
            found.owner, found.owned_until = None, 0

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        """Renew every claim of an owner."""
        for one in self._executions.values():
            if one.owner == owner and one.summary.ended_at is None:
                one.owned_until = self._now() + lease_ms

    async def due(self, now: int, limit: int = 100) -> list[str]:
        """Executions with something due or no fresh owner."""
        waiting = [
            one
            for one in self._executions.values()
            if one.summary.ended_at is None and one.summary.status != "paused" and _is_due(one, now)
        ]
        waiting.sort(key=lambda one: one.summary.due_at or 0)
        return [one.summary.execution_id for one in waiting[:limit]]

    async def post(self, execution_id: str, message: bytes) -> None:
        """Leave a message for the owner of an execution."""
        self._mail.append((execution_id, message))

    async def take(self, owner: str) -> Sequence[tuple[str, bytes]]:
        """The messages left for the executions of an owner."""
        own = {key for key, one in self._executions.items() if one.owner == owner}
        found = [letter for letter in self._mail if letter[0] in own]
        self._mail = [letter for letter in self._mail if letter[0] not in own]
        return found

    async def register(self, path: str, digest: str, text: str, file: str | None) -> PlaybookText:
        """Keep a playbook; the same text is the version it already is."""
        versions = [entry for entry in self._playbooks if entry.path == path]
        if versions and versions[-1].hash == digest and (path, len(versions)) not in self._deleted:
            versions[-1].file = file or versions[-1].file
            return versions[-1]
        entry = PlaybookText(path, len(versions) + 1, digest, text, file, self._now())
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
            raise NotFound(f"there is no credential {name!r}", hint=f"noetl credential set {name}")
        return self._secrets[name][0]

    async def secrets(self) -> Sequence[tuple[str, int]]:
        """Names of credentials and when each was last set."""
        return [(name, set_at) for name, (_, set_at) in sorted(self._secrets.items())]

    async def delete_secret(self, name: str) -> None:
        """Forget a credential."""
        if self._secrets.pop(name, None) is None:
            raise NotFound(f"there is no credential {name!r}", hint="noetl credential list")

    async def close(self) -> None:
        """Nothing is held open."""


def _is_due(one: _Execution, now: int) -> bool:
    due_at = one.summary.due_at
    return (due_at is not None and due_at <= now) or one.owned_until < now


def _cursor(text: str | None, end: int) -> int:
    if text is None:
        return end
    try:
        return int(text)
    except ValueError:
        raise NotFound(f"{text!r} is no cursor", hint="use the cursor of the page before") from None

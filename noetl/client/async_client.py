"""A server, awaited: its catalog, its executions, what starts them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from noetl import settings
from noetl.adapters.http.front import HttpFront
from noetl.client.execution import AsyncExecution, fetched
from noetl.errors import NotFound, RequestError
from noetl.json_value import Json, JsonObject
from noetl.ports.answers import ExecutionItem
from noetl.ports.front import Ask, Worker, execution_row
from noetl.ports.schedule import Schedule, ScheduleAsk
from noetl.ports.store import Find, PlaybookText

SUFFIXES = (".yaml", ".yml")
PAGE = 200


class AsyncClient:
    """Speaks to one server under one token.

    Without an address, the server and token that the settings name: environment, project, contexts.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        chosen = settings.load({"server": url, "token": token})
        if chosen.server is None:
            message = "no server is named"
            raise RequestError(message, hint='Client("http://127.0.0.1:8080"), or NOETL_SERVER')
        self._front = HttpFront(chosen.server, chosen.token)

    @property
    def url(self) -> str:
        """The server's address."""
        return self._front.url

    async def close(self) -> None:
        """Let go of the connection."""
        await self._front.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Executions

    async def run(
        self,
        playbook: str | Path,
        /,
        workload: Mapping[str, Json] | None = None,
        *,
        version: int | None = None,
        idempotency_key: str | None = None,
        **values: Json,
    ) -> AsyncExecution:
        """Start an execution of a registered playbook by its path, or of a file by its name.

        What it works on is `workload`, with `values` over it. Under one key at most one execution is started.
        """
        ask = Ask(
            version=version,
            workload={**(workload or {}), **values},
            idempotency_key=idempotency_key,
            by="python",
        )
        name_playbook(ask, playbook)
        started = await self._front.start(ask)
        path = started.path or str(playbook)
        return AsyncExecution(self._front, started.execution_id, path, existed=started.existed)

    def execution(self, execution_id: str) -> AsyncExecution:
        """An execution by its whole id; nothing is asked yet."""
        return AsyncExecution(self._front, execution_id)

    async def executions(
        self,
        *,
        path: str | None = None,
        status: str | None = None,
        parent: str | None = None,
        children: bool = True,
        limit: int = 50,
    ) -> list[ExecutionItem]:
        """Executions that match, the newest first."""
        rows: list[ExecutionItem] = []
        find = Find(path=path, status=status, parent=parent, children=children, limit=min(limit, PAGE))
        while len(rows) < limit:
            page = await self._front.executions(find)
            rows += [execution_row(item, item.ended_at or item.requested_at) for item in page.items]
            if page.cursor is None:
                break
            find.cursor = page.cursor
        return rows[:limit]

    async def fetch(self, reference: Json) -> Json:
        """The payload that a reference of an output stands for."""
        return await fetched(self._front, reference)

    # The catalog

    async def register(self, playbook: str | Path) -> PlaybookText:
        """Check and keep a playbook, from its file or its text; raises PlaybookError with every finding."""
        is_text = isinstance(playbook, str) and "\n" in playbook
        return await self._front.register(str(playbook) if is_text else read_text(playbook))

    async def playbooks(self) -> Sequence[PlaybookText]:
        """The newest version of every path."""
        return await self._front.playbooks()

    async def playbook(self, path: str, version: int | None = None) -> PlaybookText:
        """A playbook with its text."""
        return await self._front.playbook(path, version)

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version of it, off the catalog; how many versions."""
        return await self._front.delete_playbook(path, version)

    # Beside them

    async def workers(self) -> Sequence[Worker]:
        """Workers that were heard of."""
        return await self._front.workers()

    async def schedules(self) -> Sequence[Schedule]:
        return await self._front.schedules()

    async def put_schedule(self, schedule: ScheduleAsk) -> Schedule:
        """Keep a schedule, in the place of one that has the name."""
        return await self._front.put_schedule(schedule)

    async def run_schedule(self, name: str) -> AsyncExecution:
        """Start at once what a schedule starts."""
        started = await self._front.run_schedule(name, "python")
        return AsyncExecution(self._front, started.execution_id, started.path)

    async def put_credential(self, name: str, material: JsonObject) -> None:
        """Keep a credential, sealed; its values never come back."""
        await self._front.put_credential(name, material)


def name_playbook(ask: Ask, playbook: str | Path) -> None:
    """Ask for a file's text, or for the path of a registered playbook."""
    if isinstance(playbook, Path) or playbook.endswith(SUFFIXES):
        ask.text, ask.file = read_text(playbook), str(Path(playbook).resolve())
    else:
        ask.path = playbook


def read_text(file: str | Path) -> str:
    """The text of a playbook's file."""
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        message = f"there is no file '{file}'"
        raise NotFound(message, hint=f"the current folder is {Path.cwd()}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"cannot read '{file}': {error}") from None

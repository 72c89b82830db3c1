"""A server, awaited: its catalog and its executions. What else stands on it is async_standing's."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from noetl import settings
from noetl.adapters.http.front import HttpFront
from noetl.client.async_standing import AsyncStanding
from noetl.client.execution import AsyncExecution, fetched
from noetl.dsl.diagnostic import Diagnostic
from noetl.errors import NotFound, RequestError
from noetl.json_value import Json, JsonObject
from noetl.ports.answers import ExecutionItem
from noetl.ports.front import Ask, execution_row
from noetl.ports.store import Find, PlaybookText
from noetl.ports.values import from_python

SUFFIXES = (".yaml", ".yml")
PAGE = 200


class AsyncClient(AsyncStanding):
    """Speaks to one server under one token.

    Without an address, the server and token that the settings name: environment, project, contexts.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        chosen = settings.load(
            {"server": url, "token": token}, named={"server": "argument url", "token": "argument token"}
        )
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
        workload: Mapping[str, object] | None = None,
        *,
        version: int | None = None,
        idempotency_key: str | None = None,
        **values: object,
    ) -> AsyncExecution:
        """Start an execution of a registered playbook by its path, or of a file by its name.

        What it works on is `workload`, with `values` over it. Under one key at most one execution is started.
        """
        ask = Ask(
            version=version,
            workload=workload_of(workload, values),
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
        return await self._front.register(_text_of(playbook))

    async def validate(self, playbook: str | Path, *, strict: bool = False) -> list[Diagnostic]:
        """Every finding in a playbook, from its file or its text; nothing is kept."""
        return await self._front.findings(_text_of(playbook), strict=strict)

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        """The newest version of every path, or every version of one."""
        return await self._front.playbooks(path)

    async def playbook(self, path: str, version: int | None = None) -> PlaybookText:
        """A playbook with its text."""
        return await self._front.playbook(path, version)

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version of it, off the catalog; how many versions."""
        return await self._front.delete_playbook(path, version)


def workload_of(workload: Mapping[str, object] | None, values: Mapping[str, object]) -> JsonObject:
    """What a playbook works on as plain JSON, the caller's own no more; ValueProblem names what cannot be."""
    return {
        name: from_python(value, f"workload.{name}") for name, value in {**(workload or {}), **values}.items()
    }


def name_playbook(ask: Ask, playbook: str | Path) -> None:
    """Ask for a file's text, or for the path of a registered playbook."""
    if isinstance(playbook, Path) or playbook.endswith(SUFFIXES):
        ask.text, ask.file = read_text(playbook), str(Path(playbook).resolve())
    else:
        ask.path = playbook


def _text_of(playbook: str | Path) -> str:
    """A playbook's text, given itself or by its file."""
    is_text = isinstance(playbook, str) and "\n" in playbook
    return str(playbook) if is_text else read_text(playbook)


def read_text(file: str | Path) -> str:
    """The text of a playbook's file."""
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        message = f"there is no file '{file}'"
        raise NotFound(message, hint=f"the current folder is {Path.cwd()}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"cannot read '{file}': {error}") from None

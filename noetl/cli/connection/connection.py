"""What a command speaks to: the server that the settings name, else the store of this project."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from noetl.cli.connection.embedded_engine import current_settings, open_reader, store_exists
from noetl.cli.options import server_flag
from noetl.cli.terminal import note
from noetl.errors import Denied, NotFound
from noetl.ports import execution_name
from noetl.ports.front import Front
from noetl.settings import Settings

if TYPE_CHECKING:
    from noetl.wiring.embedded import Embedded

Answer = TypeVar("Answer")
Item = TypeVar("Item")


@dataclass(slots=True)
class Connection:
    """The product, and what is behind it: a server's address, or the engine of this process."""

    front: Front
    settings: Settings
    url: str | None = None
    embedded: "Embedded | None" = None

    def page(self, execution_id: str) -> str | None:
        return None if self.url is None else f"{self.url}/executions/{execution_id}"

    async def interrupted(self, execution_id: str) -> bool:
        """Whether an execution lies still because its process is gone; a server takes care of its own."""
        return self.embedded is not None and not await self.embedded.store.owned(execution_id)


@asynccontextmanager
async def connect(
    settings: Settings | None = None, *, make: bool = False, notify: Callable[[str], None] = note
) -> AsyncIterator[Connection]:
    """The product for all that runs nothing here; `make`: also a store where there is none.

    `notify` is told of a server that lets one wait.
    """
    chosen = settings or current_settings()
    if chosen.server is not None:
        async with connect_server(chosen, notify) as connection:
            yield connection
        return
    if make:
        from noetl.wiring.embedded import embedded

        async with embedded(chosen) as engine:
            yield Connection(engine.front, chosen, embedded=engine)
        return
    async with open_reader(chosen) as engine:
        yield Connection(engine.front, chosen, embedded=engine)


async def call_front(
    work: Callable[[Front], Awaitable[Answer]], without_data: NotFound | None = None
) -> Answer:
    """What the product of a server, or of this project, answers; `without_data` where nothing is kept yet."""
    settings = current_settings()
    if without_data is not None and not has_data(settings):
        raise without_data
    async with connect(settings) as connection:
        return await work(connection.front)


async def list_from_front(work: Callable[[Front], Awaitable[Sequence[Item]]]) -> Sequence[Item]:
    """The same for a list, which is empty where nothing is kept yet."""
    return await call_front(work) if has_data(current_settings()) else []


@asynccontextmanager
async def connect_server(
    settings: Settings, notify: Callable[[str], None] = note
) -> AsyncIterator[Connection]:
    from noetl.adapters.http.front import HttpFront

    front = HttpFront(settings.server or "", settings.token, notify=notify)
    try:
        yield Connection(front, settings, url=front.url)
    except Denied as error:
        if settings.withheld is not None:
            error.hint = (
                f"the token of {settings.withheld} is not sent to a server that {settings.origins['server']} "
                f"names; give it to that server: noetl context add NAME {front.url} --token -"
            )
        raise
    finally:
        await front.close()


def has_data(settings: Settings) -> bool:
    """Whether there is something to look at: a server, or a store of this project."""
    return settings.server is not None or store_exists(settings)


async def find_execution(front: Front, name: str) -> str:
    """The id of an execution, by any of its names."""
    return await execution_name.find_execution(front, name, server_flag)


@asynccontextmanager
async def connect_execution(name: str) -> AsyncIterator[tuple[Connection, str]]:
    """The product that has an execution, and the execution's id."""
    async with connect() as connection:
        yield connection, await find_execution(connection.front, name)

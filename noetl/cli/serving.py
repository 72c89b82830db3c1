"""What every command that serves shares: the options of a server, made from the settings, and its signals."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from noetl.ports.store import Store
from noetl.settings import Settings

if TYPE_CHECKING:
    from noetl.server.oidc import Oidc
    from noetl.server.options import Options


def options_for(settings: Settings, store: Store) -> "Options":
    """The options of a server with these settings, over a store that keeps its tokens."""
    from noetl import __version__, tools
    from noetl.cli.kind_page import facts
    from noetl.server.auth import Auth
    from noetl.server.options import Options

    names = sorted({*tools.own(), *tools.installed()})
    found = [tools.get(name) for name in names]
    return Options(
        kinds={tool.kind.name: tool.kind for tool in found},
        tools=[facts(tool) for tool in found],
        version=__version__,
        auth=Auth(store.token, _oidc(settings)) if is_guarded(settings) else None,
        rate_per_s=settings.rate if is_guarded(settings) else 0,
        rate_burst=2 * settings.rate,
        body_bytes=settings.body_bytes,
        ready_after_ms=int(settings.ready_s * 1000),
    )


def is_guarded(settings: Settings) -> bool:
    """Whether a server asks callers who they are: as told, else unless only this machine can reach it."""
    from noetl.server.listen import is_loopback

    return settings.auth if settings.auth is not None else not is_loopback(settings.host)


def _oidc(settings: Settings) -> "Oidc | None":
    from noetl.server.oidc import Oidc

    if settings.oidc_issuer is None:
        return None
    return Oidc(issuer=settings.oidc_issuer, audience=settings.oidc_audience)


@contextmanager
def stopped_by_signals() -> Iterator[asyncio.Event]:
    """An event that Ctrl-C and SIGTERM set; the second Ctrl-C is not held back."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        stopping.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield stopping
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

"""What every command that serves shares: the options of a server, made from the settings, and its signals."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from noetl import __version__
from noetl.control.engine import Engine
from noetl.errors import MissingExtra
from noetl.settings import Settings

if TYPE_CHECKING:
    from noetl.server.oidc import Oidc
    from noetl.server.options import Options
    from noetl.server.sign_in import SignIn


def options_for(settings: Settings, engine: Engine) -> "Options":
    """The options of a server with these settings, over an engine whose store keeps its tokens."""
    from noetl import __version__
    from noetl.cli.tool_page import facts, library_for
    from noetl.server.auth import Auth
    from noetl.server.execution_log import tell
    from noetl.server.metrics import EventTally
    from noetl.server.options import Options
    from noetl.wiring.tool_kinds import every, kinds

    tally = EventTally(engine.left)
    engine.listeners += [tally.count, tell]
    return Options(
        kinds=kinds(settings),
        tools=[facts(tool) for tool in every()],
        library=library_for(settings),
        version=__version__,
        auth=Auth(engine.store.token, _oidc(settings), _sign_in(settings)) if settings.guarded else None,
        public_url=settings.public_url,
        rate_per_s=settings.rate if settings.guarded else 0,
        rate_burst=2 * settings.rate,
        body_bytes=settings.body_bytes,
        ready_after_ms=int(settings.ready_s * 1000),
        collect=tally.collect,
    )


def _oidc(settings: Settings) -> "Oidc | None":
    from noetl.server.oidc import Oidc

    if settings.oidc_issuer is None:
        return None
    return Oidc(issuer=settings.oidc_issuer, audience=settings.oidc_audience)


def _sign_in(settings: Settings) -> "SignIn | None":
    from noetl.server.sign_in import LoginClient, SignIn

    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    secret, scope = settings.oidc_client_secret, settings.oidc_scope
    client = LoginClient(client_id=settings.oidc_client_id, secret=secret, scope=scope)
    return SignIn(settings.oidc_issuer, client)


@contextmanager
def tracing(settings: Settings, engine: Engine) -> Iterator[None]:
    """Send the executions of an engine to the collector that the settings name, if they name one."""
    if settings.otlp is None:
        yield
        return

    try:
        from noetl.adapters.otel.spans import Spans, collector
    except ImportError as error:
        raise MissingExtra("opentelemetry", "otel") from error
    spans = Spans(collector(settings.otlp), __version__)
    engine.listeners.append(spans.heard)
    try:
        yield
    finally:
        engine.listeners.remove(spans.heard)
        spans.close()


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

"""`noetl execution watch`: follow an execution that a server or another process runs."""

import asyncio
from typing import Any

import click

from noetl.cli import options


@click.command("watch")
@options.execution
@options.showing
def command(execution: str, **given: Any) -> int:
    """Follow an execution until it is over or paused, as `noetl run` shows it; the exit code is the run's.

    Ctrl-C stops watching; the execution goes on.
    """
    from noetl.cli.connection import embedded_engine
    from noetl.cli.running import run_flow

    watch = run_flow.watcher(**options.shown(given))
    return asyncio.run(run_flow.watch_other(embedded_engine.settings(), execution, watch))

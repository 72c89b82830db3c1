"""`noetl worker`: start, stop and list workers."""

import asyncio
import time
from typing import Any

import click
import msgspec

from noetl.cli import options
from noetl.cli.command_classes import Group
from noetl.cli.terminal import emit, emit_list, note
from noetl.core.event import iso
from noetl.ports.front import Worker
from noetl.settings import Settings, load

EPILOG = """\b
Examples:
  noetl worker start --server http://localhost:8080
  noetl worker start --server http://one:8080 --server http://two:8080 --pool gpu --concurrency 4 --count 2
  NOETL_BUS=nats://localhost:4222 noetl worker start
"""


@click.group("worker", cls=Group)
def command() -> None:
    """Start, stop and list the processes that run tasks.

    A worker needs the address of a server, which tells it of the others, or of the bus, where there is one.
    It opens no port and no database.
    """


@command.command("start", epilog=EPILOG)
@click.option("--server", multiple=True, metavar="URL", help="A server: http://HOST:8080; repeatable.")
@click.option("--bus", metavar="URL", help="Reach servers over NATS instead: nats://HOST:4222.")
@click.option("--pool", metavar="NAME", help="The pool it serves.  [default: default]")
@click.option("--concurrency", metavar="N", help="How many pipelines run at once.  [default: 32]")
@click.option("--count", type=click.IntRange(min=1), default=1, metavar="N", help="How many workers.")
@click.option("--background", is_flag=True, help="Go on in processes of their own.")
def start(count: int, background: bool, server: tuple[str, ...], **flags: str | None) -> int:
    """Take work from the servers until Ctrl-C or SIGTERM, then hand back what is not finished."""
    from noetl.cli.processes import lifecycle

    flags["server"] = ",".join(server) or None
    settings = load(flags)
    arguments = [f"--{name}={value}" for name, value in flags.items() if value is not None]
    if background:
        for _ in range(count):
            process = lifecycle.start_background(settings, "worker", ["worker", "start", *arguments])
            emit(process["worker_id"])
            pid = process["pid"]
            note(
                f"worker {pid} runs; its log is {process['log']}; stop it with: noetl worker stop --pid {pid}"
            )
        return 0
    if count > 1:
        return lifecycle.run_several(["worker", "start", *arguments], count)
    return lifecycle.run_fast(lambda: _work(settings))


async def _work(settings: Settings) -> int:
    from noetl.cli.processes.lifecycle import announce
    from noetl.cli.processes.process_log import set_up
    from noetl.cli.processes.serving import stopped_by_signals
    from noetl.wiring.distributed import working

    set_up("worker")
    with stopped_by_signals() as stopping:
        async with working(settings) as worker:
            if worker.refused.done():
                worker.refused.result()
            facts = {"worker_id": worker.hello.worker_id, "pool": settings.pool}
            with announce(settings, "worker", **facts):
                emit(worker.hello.worker_id)
                note(f"worker of pool '{settings.pool}', {settings.concurrency} at once; Ctrl-C stops it")
                await _until(stopping, worker.refused)
                note("stopping: tasks that run have 10 seconds to end, the rest is handed back")
    return 0


async def _until(stopping: asyncio.Event, refused: "asyncio.Future[Any]") -> None:
    """Wait for the order to stop; raises when the servers do not let this worker work."""
    stop_order: asyncio.Future[Any] = asyncio.ensure_future(stopping.wait())
    try:
        done, _ = await asyncio.wait({stop_order, refused}, return_when=asyncio.FIRST_COMPLETED)
        if refused in done:
            refused.result()
    finally:
        stop_order.cancel()


@command.command("stop")
@click.option("--pid", type=int, metavar="N", help="Only this one.")
def stop(pid: int | None) -> None:
    """Stop the workers that run on this machine; what they do not finish goes to others."""
    from noetl.cli.processes import lifecycle

    for process_id in lifecycle.stop(load(), "worker", pid):
        note(f"worker {process_id} has stopped")


@command.command("list")
@options.server
@options.as_json
async def list_workers(as_json: bool) -> None:
    """List the workers that the server knows; without a server, those that run on this machine."""
    from noetl.cli.processes import lifecycle

    settings = load({"server": options.chosen_server()})
    if settings.server is not None:
        workers = await _server_workers(settings)
    else:
        workers = [{**process} for process in lifecycle.running(settings, "worker")]
    empty = "no worker is known; start one with: noetl worker start"
    emit_list(workers, _line, fields=dict, empty=empty, as_json=as_json)


def _line(worker: dict[str, object]) -> str:
    """One worker in words: what each knows of it differs between a server and this machine."""
    from noetl.adapters.http.moment import ms
    from noetl.cli.running.run_summary import duration
    from noetl.tools import own

    ran = duration(time.time() * 1000 - ms(str(worker["started_at"])))
    parts = [f"{worker['worker_id']}  pool {worker['pool']}  up {ran}"]
    if worker.get("version"):
        parts.append(f"release {worker['version']}  protocol {worker.get('protocol') or 'unknown'}")
    kinds = worker.get("kinds")
    if added := sorted({*kinds} - {*own()} if isinstance(kinds, list) else ()):
        parts.append(f"also {', '.join(added)}")
    if worker.get("host"):
        parts.append(f"host {worker['host']}")
    if worker.get("pid"):
        parts.append(f"pid {worker['pid']}")
    if "concurrency" in worker:
        parts.append(
            f"{worker['running']} of {worker['concurrency']} running  {worker.get('finished', 0)} done"
        )
    if worker.get("draining"):
        parts.append("draining")
    return "  ".join(parts)


async def _server_workers(settings: Settings) -> list[dict[str, object]]:
    from noetl.cli.connection.connection import connect_server

    async with connect_server(settings) as connection:
        return [_worker_fields(worker) for worker in await connection.front.workers()]


def _worker_fields(worker: Worker) -> dict[str, object]:
    """A worker with its times as the server's API writes them."""
    times = {"heard_at": iso(worker.heard_at), "started_at": iso(worker.started_at)}
    return {**msgspec.structs.asdict(worker), **times}

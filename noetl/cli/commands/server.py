"""`noetl server`: start, stop and look at servers."""

import click

from noetl.cli import options
from noetl.cli.formats.text import printable
from noetl.cli.processes.lifecycle import ProcessFields
from noetl.cli.terminal import emit, emit_list, note
from noetl.settings import Settings, load

READY_S = 15  # a server waits ten seconds for its database before it says that it is not ready
EPILOG = """\b
Examples:
  noetl server start
  NOETL_STORE=postgresql://localhost/noetl noetl server start --background
"""


class ServerFields(ProcessFields):
    """A server of this machine, and whether it answers."""

    ready: bool
    why: str | None  # it is not


@click.group("server")
def command() -> None:
    """Start, stop and look at the control plane.

    A server keeps executions in its store. Over SQLite it is its own worker. Over PostgreSQL, which several
    servers may share, it hands work to workers that connect to it, or that it reaches over a bus (NATS).
    """


@command.command("start", epilog=EPILOG)
@click.option("--host", metavar="ADDRESS", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", metavar="N", help="The port; 0 takes a free one.  [default: 8080]")
@click.option("--store", metavar="URL", help="Where executions are kept.")
@click.option("--bus", metavar="URL", help="Reach workers over NATS: nats://HOST:4222.")
@click.option("--advertise-url", metavar="URL", help="Where workers reach this server.")
@click.option("--own-worker", metavar="on|off", help="Run tasks in the server itself.")
@click.option("--background", is_flag=True, help="Go on in a process of its own; return once it is ready.")
def start(background: bool, **flags: str | None) -> int:
    """Serve the API, the web page and the workers until Ctrl-C or SIGTERM.

    An empty or older database is brought up to date first.
    """
    from noetl.cli.processes import lifecycle

    settings = load(flags)
    if background:
        arguments = [
            f"--{name.replace('_', '-')}={value}" for name, value in flags.items() if value is not None
        ]
        process = lifecycle.start_background(settings, "server", ["server", "start", *arguments])
        emit(process["url"])
        pid = process["pid"]
        note(f"server {pid} runs; its log is {process['log']}; stop it with: noetl server stop --pid {pid}")
        return 0
    return lifecycle.run_fast(lambda: _serve(settings))


async def _serve(settings: Settings) -> int:
    from noetl.cli.processes.lifecycle import announce
    from noetl.cli.processes.process_log import set_up
    from noetl.cli.processes.serving import options_for, stopped_by_signals, tracing
    from noetl.server.app import create_app
    from noetl.server.listen import bind, reachable_url, serve, url_of
    from noetl.wiring.distributed import serving

    set_up("server")
    with stopped_by_signals() as stopping:
        bound = bind(settings.host, settings.port, guarded=settings.guarded)
        async with serving(settings, url=reachable_url(bound)) as served:
            app = create_app(served.front, options_for(settings, served.plane.engine))
            url = url_of(bound)
            with announce(settings, "server", url=url), tracing(settings, served.plane.engine):
                emit(url)
                await serve(app, bound, stopping, served.acceptors)
            note("stopping: executions are left so that another server goes on with them")
    return 0


@command.command("stop")
@click.option("--pid", type=int, metavar="N", help="Only this one.")
@click.option("--all", "every", is_flag=True, help="Every one, where several run.")
def stop(pid: int | None, *, every: bool) -> None:
    """Stop the server that runs on this machine; what it was asked is answered first.

    Where several run, whatever their port, store or folder, say which one with --pid, or --all.
    """
    from noetl.cli.processes import lifecycle

    servers = lifecycle.running(load(), "server")
    if len(servers) > 1 and pid is None and not every:
        listed = ", ".join(f"{server['pid']} at {server['url']}" for server in servers)
        raise click.UsageError(f"{len(servers)} servers run on this machine: {listed}; add --pid N, or --all")
    for process_id in lifecycle.stop(load(), "server", pid):
        note(f"server {process_id} has stopped")


@command.command("status")
@options.as_json
def status(as_json: bool) -> int:
    """Say which servers run on this machine, and whether each is ready."""
    from noetl.cli.processes import lifecycle

    servers = [looked_at(process) for process in lifecycle.running(load(), "server")]
    emit_list(
        servers,
        _status_line,
        fields=dict,
        empty="no server runs here; start one with: noetl server start",
        as_json=as_json,
    )
    return 0 if servers and all(server["ready"] for server in servers) else 3


def looked_at(process: ProcessFields) -> ServerFields:
    """Whether a server says that it is ready; if not, what it says is wrong."""
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(f"{process['url']}/health/ready", timeout=READY_S) as answer:
            return {**process, "ready": answer.status == 200, "why": None}
    except urllib.error.HTTPError as refused:
        return {**process, "ready": False, "why": _detail(refused.read())}
    except OSError as error:
        return {**process, "ready": False, "why": f"it does not answer: {getattr(error, 'reason', error)}"}


def _detail(body: bytes) -> str:
    """What the server itself says is wrong."""
    import msgspec

    try:
        return str(msgspec.json.decode(body)["detail"])
    except (msgspec.DecodeError, LookupError, TypeError):
        return "it does not say why"


def _status_line(server: ServerFields) -> str:
    state = "ready" if server["ready"] else "not ready"
    why = f": {printable(server['why'])}" if server["why"] else ""
    return f"{server['pid']}  {server['url']}  {state}{why}"

"""Runs a command on another machine over SSH.

`auth` names the credential to log in with: `private_key` (and `passphrase`) or `password`, and where they
are not inputs `username`, `host`, `port` and `host_key`. Neither keys nor the agent of the worker's own user
are used. The key of the host is always checked: against the fingerprint or the known_hosts lines in
`host_key`, else against `~/.ssh/known_hosts` of the worker. A host that shows another key is error kind
`ssh` with the code `host_key`, and the message names the fingerprint that was seen.

The command runs in the shell of the user there; the items of a list are quoted for it. A non-zero exit is an
error of kind `ssh` whose `code` is the exit code or the signal; `data` still holds what was printed. Each of
the two outputs is kept up to `spec.max_output_bytes` (1 MiB); what goes beyond is counted and dropped. The
lines of both are the task's log while the command runs. When the task is cancelled or times out, the
command and its process group are sent TERM, and after `spec.grace` seconds KILL.

Needs the extra `ssh`.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from noetl.ports.envelope import Failed
from noetl.ports.tool import Count, Seconds, doc
from noetl.tools.parts.function import tool
from noetl.tools.parts.process import Printed
from noetl.tools.parts.ssh_link import Host, SshKnobs, connected, driver
from noetl.tools.parts.tool_context import ToolContext

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHClientProcess, SSHReader

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: ssh, path: tools/ssh}
keychain:
  - {name: build_host, kind: credential, credential: build_host}
workload: {host: build.example.com, port: 22}
workflow:
  - step: start
    tool:
      kind: ssh
      auth: build_host
      input:
        host: "{{ workload.host }}"
        port: "{{ workload.port }}"
        command: [echo, "free space of", "/"]
"""
PIECE = 64 * 1024
# Servers do not pass signals on to sessions of root; what else runs on this connection is the command.
SIGNAL_THE_OTHERS = """\
ps -A -o pid= -o ppid= | while read -r pid parent; do
  if [ "$parent" = "$PPID" ] && [ "$pid" != "$$" ]; then kill -{} -"$pid"; fi
done"""
REACTION_S = 10.0  # how long a host has to carry out what ends a command
STDERR_CHARS = 8_000  # more than is shown: secrets are taken out before it is cut


class RemoteCommand(Host, kw_only=True):
    """The command and where it runs."""

    command: Annotated[
        str | list[str | int | float],
        doc("The program and its arguments as a list, or a command line of the shell there as text."),
    ]
    stdin: Annotated[str | None, doc("Text to send to its standard input.")] = None


class Knobs(SshKnobs):
    """How much is kept and how long is waited."""

    max_output_bytes: Annotated[Count, doc("How much of each output is kept.")] = 1024**2
    grace: Annotated[Seconds, doc("Seconds between asking the command to stop and killing it.")] = 2.0


class Ended(TypedDict):
    """How a command ended."""

    exit_code: int | None
    signal: str | None
    stdout: str
    stderr: str


@tool(page=__doc__, example=EXAMPLE)
async def ssh(remote: RemoteCommand, knobs: Knobs, context: ToolContext) -> Ended:
    """Log in, run the command, and answer with what it printed and how it ended."""
    from asyncio import CancelledError

    line = _line(remote.command)
    async with connected(remote, knobs, context) as connection:
        process = await connection.create_process(line, encoding=None)
        printed = {1: Printed(knobs.max_output_bytes), 2: Printed(knobs.max_output_bytes)}
        try:
            await _carried_out(process, remote.stdin, printed, context)
        except CancelledError:
            await _stopped(connection, process, knobs.grace)
            raise
    exit_code = process.exit_status if process.exit_signal is None else None
    signal = None if process.exit_signal is None else process.exit_signal[0]
    stdout, stderr = printed[1].text, printed[2].text
    ended: Ended = {"exit_code": exit_code, "signal": signal, "stdout": stdout, "stderr": stderr}
    if exit_code != 0:
        raise _failed(ended)
    return ended


def _line(command: str | list[str | int | float]) -> str:
    import shlex

    line = command if isinstance(command, str) else shlex.join(str(item) for item in command)
    if not line.strip() or "\0" in line:
        raise Failed("input", "the command is empty or contains a NUL character")
    return line


async def _carried_out(
    process: "SSHClientProcess[bytes]", stdin: str | None, printed: dict[int, Printed], context: ToolContext
) -> None:
    """Feed it, read what it prints, and wait for its end."""
    import asyncio

    with suppress(BrokenPipeError):  # it has ended already, and reads no more
        process.stdin.write((stdin or "").encode())
        process.stdin.write_eof()
    async with asyncio.TaskGroup() as pumps:
        for number, reader in ((1, process.stdout), (2, process.stderr)):
            pumps.create_task(_pump(reader, number, printed[number], context))
    await process.wait_closed()


async def _pump(reader: "SSHReader[bytes]", number: int, printed: Printed, context: ToolContext) -> None:
    while data := await reader.read(PIECE):
        printed.add(data)
        context.call.output.write(data, number)


async def _stopped(
    connection: "SSHClientConnection", process: "SSHClientProcess[bytes]", grace_s: float
) -> None:
    """Ask the command to stop, then kill it: over SSH, and by the host where its server refuses that."""
    import asyncio

    for signal, patience_s in (("TERM", grace_s), ("KILL", REACTION_S)):
        if process.returncode is not None:
            return
        process.send_signal(signal)
        with suppress(TimeoutError, driver().Error):
            async with asyncio.timeout(REACTION_S):
                await connection.run(SIGNAL_THE_OTHERS.format(signal))
            async with asyncio.timeout(patience_s):
                await process.wait_closed()


def _failed(ended: Ended) -> Failed:
    code: Any = ended["exit_code"]
    how = f"ended with exit code {code}" if code is not None else f"was ended by signal {ended['signal']}"
    if code is None and ended["signal"] is None:
        return Failed("connect", "the connection was lost before the command ended", data=dict(ended))
    last = ended["stderr"].strip().splitlines()[-1:]
    details = {"stderr": ended["stderr"][-STDERR_CHARS:]} if last else {}
    message = f"the command {how}" + (f": {last[0][:500]}" if last else "")
    facts: Any = {"code": str(code), "answered": True} if code is not None else {"code": ended["signal"]}
    return Failed("ssh", message, details=details, data=dict(ended), **facts)

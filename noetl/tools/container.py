"""Runs a command in a container of Docker or Podman.

`auth` names the engine, since whoever starts containers may do anything on its machine: `host` is
`unix:///run/podman/podman.sock`, `unix:///var/run/docker.sock` or `tcp://engine.example.com:2376`, for which
`ca`, `certificate` and `private_key` are PEM. A socket is reached where playbooks may reach `loopback`, an
address where the network policy allows it. `networks` of the credential are those that containers may be in;
a container is in none unless the task names one of them, since what it can reach there is up to the engine.

The image is pulled when the engine does not have it, unless `pull` is `never`; a registry that wants a login
is one the engine itself is logged in to. A command that is a list is passed as it is, to the entry point of
the image if it has one; a text goes through `/bin/sh` of the image instead. The container has no folder of
the machine: `files` are put into it, and what it prints is its answer. It has `spec.cpus`,
`spec.memory_bytes` and `spec.pids` and no more, no privileges and no way to get any, `env`, and
`NOETL_EXECUTION_ID`, `NOETL_STEP`, `NOETL_TASK`, `NOETL_ATTEMPT` and `NOETL_IDEMPOTENCY_KEY`. Its lines are
the task's log while it runs; each output is kept up to `spec.max_output_bytes` (1 MiB), what goes beyond is
counted and dropped. With `result: json` the answer has what it printed as a value.

Another exit code than 0 is error kind `container` whose `code` is the exit code, 137 for one that was killed,
as by its limit of memory; `data` still holds what was printed. The container is named after the idempotency
key, so that a call which is repeated because its worker died finds the one that runs, or has run, and follows
it. It is removed when its end was read, and when its task is cancelled or times out: asked to stop first,
killed after `spec.grace` seconds. One whose engine cannot be reached any more stays there.

Jobs of Kubernetes are not started.
"""

import hashlib
import io
import re
import tarfile
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from noetl.core.values.output import ANSWERED
from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.tool import Count, Input, Seconds, Size, Spec, doc
from noetl.ports.values import to_json
from noetl.tools.parts.function import tool
from noetl.tools.parts.http_request import text_of
from noetl.tools.parts.process import Printed
from noetl.tools.parts.tool_context import ToolContext

if TYPE_CHECKING:
    from noetl.tools.parts.container_engine import Engine

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: container, path: tools/container}
keychain:
  - {name: engine, kind: env, env: CONTAINER_ENGINE}
workload: {image: registry.example/tools/busybox}
workflow:
  - step: start
    tool:
      kind: container
      auth: engine
      input:
        image: "{{ workload.image }}"
        command: [cat, /data/sale.json]
        files: {/data/sale.json: '{"item": "tea", "price": 3.5}'}
        result: json
"""
STDERR_CHARS = 8_000  # more than is shown: secrets are taken out before it is cut
NONE = "none"
KILLED = 137
NOT_STARTED = ("created", "configured", "initialized")
IMAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/:@-]{0,498}[A-Za-z0-9])?")
SHELL = ["/bin/sh", "-c"]


class Work(Input):
    """What runs in which image."""

    image: Annotated[str, doc("The image, with its registry: `registry.example/tools/python:3.12`.")]
    command: Annotated[
        str | list[str | int | float] | None,
        doc("The program and its arguments, or a line for `/bin/sh`; by default that of the image."),
    ] = None
    env: Annotated[dict[str, str | int | float | bool] | None, doc("Environment variables to add.")] = None
    files: Annotated[dict[str, str] | None, doc("Texts to put into it, by their absolute path.")] = None
    workdir: Annotated[str | None, doc("The folder in it to start in.")] = None
    user: Annotated[str | None, doc("As whom it runs; by default as the image says.")] = None
    network: Annotated[str, doc("A network of the engine that the credential allows, or `none`.")] = NONE
    pull: Annotated[Literal["missing", "never"], doc("Whether an image that is not there is pulled.")] = (
        "missing"
    )
    result: Annotated[Literal["text", "json"], doc("What it prints is text, or one JSON value.")] = "text"


class Knobs(Spec):
    """What it may use, and how long the engine has."""

    cpus: Annotated[float, msgspec.Meta(gt=0), doc("How many processors it may use.")] = 1.0
    memory_bytes: Annotated[Size, doc("How much memory it may use.")] = 512 * 1024**2
    pids: Annotated[Size, doc("How many processes and threads it may have.")] = 256
    max_output_bytes: Annotated[Count, doc("How much of each output is kept.")] = 1024**2
    max_file_bytes: Annotated[Size, doc("How much may be put into it.")] = 16 * 1024**2
    grace: Annotated[Count, doc("Seconds between asking it to stop and killing it.")] = 2
    connect_timeout: Annotated[Seconds, doc("Seconds to reach the engine.")] = 10.0
    answer_timeout: Annotated[Seconds, doc("Seconds that the engine has to create or start it.")] = 60.0


@tool(
    page=__doc__,
    returns="`{exit_code, stdout, stderr}`; with `result: json`, `{exit_code, result, stderr}`",
    example=EXAMPLE,
)
async def container(work: Work, knobs: Knobs, context: ToolContext) -> dict[str, Json]:
    """Run it, or find it running, and answer with what it printed and how it ended."""
    from asyncio import CancelledError

    from noetl.tools.parts.container_engine import engine, in_peace

    name = f"noetl-{hashlib.sha256(context.idempotency_key.encode()).hexdigest()[:32]}"
    _allowed(work, context)
    patience = (knobs.connect_timeout, knobs.answer_timeout)
    async with engine(context.auth or {}, context.call.network, *patience) as there:
        try:
            if await _needs_start(there, name, work, knobs, context):
                await there.ask("POST", f"/containers/{name}/start")
            printed = {1: Printed(knobs.max_output_bytes), 2: Printed(knobs.max_output_bytes)}
            await _read(there, name, "1", printed, context)
            _, waited = await there.ask("POST", f"/containers/{name}/wait", patient=True)
            await _read(there, name, "0", printed, context)
        except Failed as failure:
            if failure.output.get(ANSWERED):
                await _removed(there, name, None)
            raise
        except CancelledError:
            await in_peace(_removed(there, name, knobs.grace), knobs.grace + knobs.answer_timeout)
            raise
        await _removed(there, name, None)
    stdout, stderr = printed[1].text, printed[2].text
    ended: dict[str, Json] = {"exit_code": waited["StatusCode"], "stdout": stdout, "stderr": stderr}
    if ended["exit_code"] != 0:
        raise _failed(ended, knobs)
    if work.result == "json":
        ended = {"exit_code": 0, "result": _value(printed[1], ended), "stderr": stderr}
    return ended


def _allowed(work: Work, context: ToolContext) -> None:
    """No network but those that whoever keeps the credential allows."""
    networks = (context.auth or {}).get("networks") or []
    listed = networks if isinstance(networks, list) else [each.strip() for each in str(networks).split(",")]
    if work.network != NONE and work.network not in listed:
        hint = f"its 'networks' are {', '.join(map(str, listed)) or 'none'}"
        raise Failed("network", f"the credential does not allow the network {work.network!r}: {hint}")


async def _needs_start(there: "Engine", name: str, work: Work, knobs: Knobs, context: ToolContext) -> bool:
    """Whether it is to be started; it is there already when a worker died that had begun with it."""
    files = _archive(work.files or {}, knobs.max_file_bytes)
    status, told = await there.ask("GET", f"/containers/{name}/json", accept=(404,))
    if status != 404:
        context.log(f"the container {name} is there already: {told['State']['Status']}")
        if told["State"]["Status"] not in NOT_STARTED:
            return False
    else:
        await _imaged(there, work, context)
        asked = _asked(work, knobs, context)
        await there.ask("POST", "/containers/create", params={"name": name}, json=asked)
    if work.files:
        place = f"/containers/{name}/archive"
        headers = {"Content-Type": "application/x-tar"}
        await there.ask("PUT", place, params={"path": "/"}, data=files, headers=headers)
    return True


async def _imaged(there: "Engine", work: Work, context: ToolContext) -> None:
    """See that the engine has the image."""
    image = work.image
    if not IMAGE.fullmatch(image):
        raise Failed("input", f"{image[:200]!r} is no name of an image")
    status, _ = await there.ask("GET", f"/images/{image}/json", accept=(404,))
    if status != 404:
        return
    if work.pull == "never":
        raise Failed("not_found", f"the engine does not have the image {image!r}", answered=True)
    context.log(f"pulling {image}")
    last = b""
    tagged = "@" in image or ":" in image.rpartition("/")[2]
    wanted = {"fromImage": image if tagged else f"{image}:latest"}
    async for piece in there.stream("POST", "/images/create", params=wanted):
        last = (last + piece)[-64 * 1024 :]
    problems = [each["error"] for each in _lines(last) if isinstance(each, dict) and each.get("error")]
    if problems:
        raise Failed("container", f"{image!r} cannot be pulled: {problems[-1]}", code="pull", retryable=True)


def _lines(raw: bytes) -> list[Any]:
    """The JSON of each line; the first may be cut off."""
    found = []
    for line in raw.splitlines():
        try:
            found.append(msgspec.json.decode(line))
        except msgspec.DecodeError:
            continue
    return found


def _asked(work: Work, knobs: Knobs, context: ToolContext) -> dict[str, Any]:
    facts = {
        "NOETL_EXECUTION_ID": context.execution_id,
        "NOETL_STEP": context.step,
        "NOETL_TASK": context.task,
        "NOETL_ATTEMPT": str(context.attempt),
        "NOETL_IDEMPOTENCY_KEY": context.idempotency_key,
    }
    own = {name: text_of(value) for name, value in (work.env or {}).items()}
    line = isinstance(work.command, str)
    argv = [work.command] if line else [str(each) for each in work.command or ()]
    return {
        "Image": work.image,
        **({"Cmd": argv} if argv else {}),
        **({"Entrypoint": SHELL} if line else {}),
        **({"WorkingDir": work.workdir} if work.workdir else {}),
        **({"User": work.user} if work.user else {}),
        "Env": [f"{name}={text}" for name, text in {**facts, **own}.items()],
        "Labels": {"noetl.execution": context.execution_id, "noetl.step": context.step},
        "HostConfig": {
            "NetworkMode": work.network,
            "NanoCpus": int(knobs.cpus * 1_000_000_000),
            "Memory": knobs.memory_bytes,
            "MemorySwap": knobs.memory_bytes,
            "PidsLimit": knobs.pids,
            "SecurityOpt": ["no-new-privileges"],
        },
    }


def _archive(files: dict[str, str], max_bytes: int) -> bytes:
    """Files as the engine takes them."""
    total = sum(len(text.encode()) for text in files.values())
    if total > max_bytes:
        raise Failed(
            "too_large", f"the files have {total} bytes; raise spec.max_file_bytes above {max_bytes}"
        )
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, text in files.items():
            parts = path.split("/")
            if not path.startswith("/") or ".." in parts or not parts[-1] or "\0" in path:
                raise Failed(
                    "input", f"container input 'files': {path[:200]!r} is no absolute path of a file"
                )
            raw = text.encode()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode = len(raw), 0o644
            archive.addfile(entry, io.BytesIO(raw))
    return buffer.getvalue()


async def _read(
    there: "Engine", name: str, follow: str, printed: dict[int, Printed], context: ToolContext
) -> None:
    """What its log says beyond what was read of it.

    Followed, it is read as it is written; but an engine that hears of the end may stop before it has passed
    on all of it, so the log is read again when it is complete.
    """
    from noetl.tools.parts.container_engine import outputs

    behind = {number: output.size for number, output in printed.items()}
    wanted = {"follow": follow, "stdout": "1", "stderr": "1"}
    async for number, data in outputs(there.stream("GET", f"/containers/{name}/logs", params=wanted)):
        new = data[behind[number] :]
        behind[number] -= len(data) - len(new)
        if new:
            printed[number].add(new)
            context.call.output.write(new, number)


async def _removed(there: "Engine", name: str, grace: int | None) -> None:
    """Take it away; one that may be running is asked to stop first."""
    if grace is not None:
        stop = f"/containers/{name}/stop"
        await there.ask("POST", stop, params={"t": str(grace)}, accept=(304, 404, 409, 500), patient=True)
    await there.ask("DELETE", f"/containers/{name}", params={"force": "1", "v": "1"}, accept=(404,))


def _value(printed: Printed, ended: dict[str, Json]) -> Json:
    """What it printed, as the JSON that it is."""
    if printed.dropped:
        told = "it printed more than spec.max_output_bytes, and its JSON is cut off"
        raise Failed("too_large", told, answered=True, data=ended)
    try:
        value: Json = msgspec.json.decode(bytes(printed.buffer))
        return to_json(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Failed("format", f"what it printed is no JSON: {problem}", answered=True, data=ended) from None


def _failed(ended: dict[str, Json], knobs: Knobs) -> Failed:
    code, stderr = ended["exit_code"], str(ended["stderr"])
    message = f"the container ended with exit code {code}"
    if code == KILLED:
        message += f", killed as when it needs more memory than spec.memory_bytes, {knobs.memory_bytes}"
    if last := stderr.strip().splitlines()[-1:]:
        message += f": {last[0][:500]}"
    details: dict[str, Json] = {"stderr": stderr[-STDERR_CHARS:]} if stderr.strip() else {}
    return Failed("container", message, code=str(code), answered=True, details=details, data=ended)

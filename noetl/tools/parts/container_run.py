"""A container of Docker or Podman: made, followed and taken away over the engine's API."""

import asyncio
import io
import re
import tarfile
from asyncio import CancelledError
from typing import Any

import msgspec

from noetl.core.values.output import ANSWERED
from noetl.ports.envelope import Failed
from noetl.tools.parts.container_engine import Engine, engine, in_peace, outputs
from noetl.tools.parts.container_work import NONE, SHELL, Ended, Knobs, Work, facts, name_of
from noetl.tools.parts.http_request import text_of
from noetl.tools.parts.process import Printed
from noetl.tools.parts.tool_context import ToolContext

FOLLOWED_S = 1.0  # after its end, for what is on its way; the rest is read from the log
NOT_STARTED = ("created", "configured", "initialized")
IMAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/:@-]{0,498}[A-Za-z0-9])?")


async def ran(work: Work, knobs: Knobs, context: ToolContext) -> Ended:
    """Run it, or find it running, until it ends; nothing is left of it."""
    name = name_of(context)
    _allowed(work, context)
    patience = (knobs.connect_timeout, knobs.answer_timeout)
    async with engine(context.auth or {}, context.call.network, *patience) as there:
        try:
            if await _needs_start(there, name, work, knobs, context):
                await there.ask("POST", f"/containers/{name}/start")
            printed = {1: Printed(knobs.max_output_bytes), 2: Printed(knobs.max_output_bytes)}
            waited = await _followed(there, name, printed, context)
            await _read(there, name, "0", printed, context)
        except Failed as failure:
            if failure.output.get(ANSWERED):
                await _removed(there, name, None)
            raise
        except CancelledError:
            await in_peace(_removed(there, name, knobs.grace), knobs.grace + knobs.answer_timeout)
            raise
        await _removed(there, name, None)
    return Ended(waited["StatusCode"], printed[1], printed[2])


def _allowed(work: Work, context: ToolContext) -> None:
    """No network but those that whoever keeps the credential allows."""
    networks = (context.auth or {}).get("networks") or []
    listed = networks if isinstance(networks, list) else [each.strip() for each in str(networks).split(",")]
    if work.network != NONE and work.network not in listed:
        hint = f"its 'networks' are {', '.join(map(str, listed)) or 'none'}"
        raise Failed("network", f"the credential does not allow the network {work.network!r}: {hint}")


async def _needs_start(there: Engine, name: str, work: Work, knobs: Knobs, context: ToolContext) -> bool:
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


async def _imaged(there: Engine, work: Work, context: ToolContext) -> None:
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
    own = {name: text_of(value) for name, value in (work.env or {}).items()}
    line = isinstance(work.command, str)
    argv = [work.command] if line else [str(each) for each in work.command or ()]
    return {
        "Image": work.image,
        **({"Cmd": argv} if argv else {}),
        **({"Entrypoint": SHELL} if line else {}),
        **({"WorkingDir": work.workdir} if work.workdir else {}),
        **({"User": work.user} if work.user else {}),
        "Env": [f"{name}={text}" for name, text in {**facts(context), **own}.items()],
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


async def _followed(there: Engine, name: str, printed: dict[int, Printed], context: ToolContext) -> Any:
    """How it ended; what it prints is passed on meanwhile. An engine may never say that a log has ended."""
    following = asyncio.ensure_future(_read(there, name, "1", printed, context))
    try:
        _, waited = await there.ask("POST", f"/containers/{name}/wait", patient=True)
        await asyncio.wait({following}, timeout=FOLLOWED_S)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    return waited


async def _read(
    there: Engine, name: str, follow: str, printed: dict[int, Printed], context: ToolContext
) -> None:
    """What its log says beyond what was read of it.

    Followed, it is read as it is written; but an engine that hears of the end may stop before it has passed
    on all of it, so the log is read again when it is complete.
    """
    behind = {number: output.size for number, output in printed.items()}
    wanted = {"follow": follow, "stdout": "1", "stderr": "1"}
    async for number, data in outputs(there.stream("GET", f"/containers/{name}/logs", params=wanted)):
        new = data[behind[number] :]
        behind[number] -= len(data) - len(new)
        if new:
            printed[number].add(new)
            context.call.output.write(new, number)


async def _removed(there: Engine, name: str, grace: int | None) -> None:
    """Take it away; one that may be running is asked to stop first."""
    if grace is not None:
        stop = f"/containers/{name}/stop"
        await there.ask("POST", stop, params={"t": str(grace)}, accept=(304, 404, 409, 500), patient=True)
    await there.ask("DELETE", f"/containers/{name}", params={"force": "1", "v": "1"}, accept=(404,))

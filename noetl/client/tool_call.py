"""A tool called by itself, as a worker would call it: for tests of tools."""

from collections.abc import Callable, Mapping
from typing import Any

from noetl.adapters.memory.results import MemoryResults
from noetl.client.loop_thread import LoopThread
from noetl.errors import RequestError
from noetl.json_value import Json
from noetl.ports.call import Call, Resources
from noetl.ports.envelope import Failed
from noetl.ports.tool import Tool, invoke
from noetl.ports.values import from_python
from noetl.tools.parts.function import tool_of
from noetl.wiring.payloads import StoredPayloads

NO_EXECUTION = "0" * 32


def call_tool(
    tool: str | Callable[..., object],
    values: Mapping[str, object] | None = None,
    /,
    *,
    idempotency_key: str = "test",
    attempt: int = 1,
    auth: Mapping[str, object] | None = None,
    log: Callable[[str], None] = print,
) -> Any:
    """The answer of a tool to an input, both as a playbook has them; raises Failed as a task would fail.

    A text names a kind: of the project of this folder, or an installed one. The input passes the same checks
    as in a playbook, so that a wrong one fails with the kind `input`.
    """
    made = _named(tool) if isinstance(tool, str) else tool_of(tool)
    if made is None:
        raise RequestError(f"{tool!r} is no tool", hint="put @noetl.tool above the function")
    if made.run is None:
        message = f"kind '{made.kind.name}' is carried out by the engine, not by a tool"
        raise RequestError(message, hint="noetl.run() runs a playbook that uses it")
    payloads = StoredPayloads(MemoryResults(lambda: 0), NO_EXECUTION)
    resources = Resources()
    call = Call(payloads, resources, "test", "test", made.kind.name, attempt, idempotency_key)
    given = {name: from_python(value, name) for name, value in (values or {}).items()}
    call.auth = None if auth is None else {name: from_python(value, name) for name, value in auth.items()}
    call.output = _Lines(log)
    thread = LoopThread("noetl-tool")
    try:
        return thread.run(_answer(made, given, call))
    finally:
        thread.run(resources.close())
        thread.close()


class _Lines:
    """What a call logs, line by line to whoever calls it."""

    keep: int | None = None

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log

    def write(self, data: bytes, stream: int = 1) -> None:
        for line in data.decode(errors="replace").removesuffix("\n").split("\n"):
            self._log(line)


def _named(kind: str) -> Tool:
    from noetl.wiring import tool_kinds

    return tool_kinds.tool(kind)


async def _answer(tool: Tool, values: Mapping[str, Json], call: Call) -> Json:
    """The data of the answer, or what it refers to."""
    output = await invoke(tool, values, call)
    if output["status"] != "ok":
        raise Failed.again(output)
    ref = output.get("ref")
    return output["data"] if output["data"] is not None or ref is None else await call.payloads.get(ref)

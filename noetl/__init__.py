"""NoETL: durable workflows written as YAML playbooks.

From Python: `noetl.run("x.yaml")` runs a playbook in this process, `noetl.Client(url)` speaks to a server,
`@noetl.tool` makes a function a tool kind.
Importing this module costs nothing: what it offers is loaded when it is first used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noetl import errors as errors
    from noetl.client.async_client import AsyncClient as AsyncClient
    from noetl.client.client import Client as Client
    from noetl.client.client import Execution as Execution
    from noetl.client.embedded import aresume as aresume
    from noetl.client.embedded import arun as arun
    from noetl.client.embedded import resume as resume
    from noetl.client.embedded import run as run
    from noetl.client.execution import AsyncExecution as AsyncExecution
    from noetl.client.result import ExecutionFailed as ExecutionFailed
    from noetl.client.result import Result as Result
    from noetl.client.tool_call import call_tool as call_tool
    from noetl.errors import NoetlError as NoetlError
    from noetl.ports.envelope import Failed as Failed
    from noetl.ports.front import TokenAsk as TokenAsk
    from noetl.ports.notification import NotificationAsk as NotificationAsk
    from noetl.ports.schedule import ScheduleAsk as ScheduleAsk
    from noetl.ports.schedule import TriggerAsk as TriggerAsk
    from noetl.ports.tick import BackfillAsk as BackfillAsk
    from noetl.ports.tool import Input as Input
    from noetl.ports.tool import Spec as Spec
    from noetl.tools.parts.function import tool as tool
    from noetl.tools.parts.tool_context import Answer as Answer
    from noetl.tools.parts.tool_context import ToolContext as ToolContext

__version__ = "3.0.0a2"

_PLACES = {
    "AsyncClient": "client.async_client",
    "Client": "client.client",
    "Execution": "client.client",
    "aresume": "client.embedded",
    "arun": "client.embedded",
    "resume": "client.embedded",
    "run": "client.embedded",
    "AsyncExecution": "client.execution",
    "ExecutionFailed": "client.result",
    "Result": "client.result",
    "call_tool": "client.tool_call",
    "NoetlError": "errors",
    "Failed": "ports.envelope",
    "TokenAsk": "ports.front",
    "NotificationAsk": "ports.notification",
    "ScheduleAsk": "ports.schedule",
    "TriggerAsk": "ports.schedule",
    "BackfillAsk": "ports.tick",
    "Answer": "tools.parts.tool_context",
    "Input": "ports.tool",
    "Spec": "ports.tool",
    "ToolContext": "tools.parts.tool_context",
    "tool": "tools.parts.function",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "errors":
        return import_module("noetl.errors")
    if name not in _PLACES:
        raise AttributeError(f"module 'noetl' has no attribute '{name}'")
    offered: object = getattr(import_module(f"noetl.{_PLACES[name]}"), name)
    globals()[name] = offered
    return offered


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, "errors"})

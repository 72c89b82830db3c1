"""The tools that AI agents are offered: their descriptions, and which function carries each out.

What a tool answers is what the same command prints with `--json`. What goes wrong is part of the answer, so
that whoever called can do better next time.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from noetl.core.state import STATUSES
from noetl.core.values.schema_check import schema_problem
from noetl.dsl.nearest import did_you_mean, nearest
from noetl.errors import NoetlError, PlaybookError
from noetl.mcp import work
from noetl.mcp.library import LANGUAGE
from noetl.mcp.product import Product
from noetl.mcp.session import ToolRequest
from noetl.ports.bearer import Scope
from noetl.ports.mcp_protocol import Message

Work = Callable[[Product, work.Arguments, ToolRequest], Awaitable[Message]]

INSTRUCTIONS = (
    "NoETL runs workflows written as YAML playbooks: steps with tools, joined by arcs with conditions. To "
    f"write one, read {LANGUAGE} and the page of each kind in `tool_kinds` (as resources, or with `docs`), "
    "write the text, `validate` it until it has no errors, then `run` it. When a run fails, `why` explains "
    "every decision with the values it saw, `events` shows what happened, and `render` evaluates a template "
    "as of any event. Executions are named by id, by its beginning, by @last, or by @last:PATH."
)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool: its name, what it says of itself, the arguments it takes, and what it does."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, object]
    work: Work
    required: tuple[str, ...] = ()
    scope: Scope = "read"  # what a token must allow
    ends: bool = False  # whether something could be lost
    files: bool = False  # whether it needs the files of this machine

    @property
    def changes(self) -> bool:
        """Whether anything is different afterwards."""
        return self.scope != "read"

    @property
    def schema(self) -> Message:
        schema: Message = {"type": "object", "properties": self.arguments}
        return {**schema, "required": list(self.required), "additionalProperties": False}

    def listed(self) -> Message:
        hints = {"readOnlyHint": not self.changes, "destructiveHint": self.ends}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": {"title": self.title, **hints, "openWorldHint": self.changes},
        }


def _text(words: str, most: int | None = None) -> Message:
    bound = {} if most is None else {"maxLength": most}
    return {"type": "string", "minLength": 1, **bound, "description": words}


def _number(words: str, **bounds: int) -> Message:
    return {"type": "integer", "minimum": 1, **bounds, "description": words}


def _wait(words: str) -> Message:
    bounds = {"minimum": 0, "maximum": 86400, "default": work.WAIT_S}
    return {"type": "number", **bounds, "description": f"How long to wait for its end, in seconds{words}."}


EXECUTION = {
    "execution": _text("The id of the execution, its beginning, @last for your newest, or @last:PATH.")
}
STEP = {"step": _text("Only what concerns this step.")}
FILE = {"file": _text("Or a playbook's file.")}
PLAYBOOK_SOURCE = {"playbook": _text("The whole text of a playbook, YAML."), **FILE}
WORKLOAD = {"type": "object", "description": "Values merged over the playbook's workload."}
KEY = _text("Run at most once under this key; a repeat attaches to the first.", 255)
STATUS = {"enum": list(STATUSES)}

TOOLS = (
    ToolSpec(
        "validate",
        "Check a playbook",
        "Check a playbook and give every finding: a code, a sentence, line and column, and how to fix it. "
        "Nothing is run or kept.",
        {**PLAYBOOK_SOURCE, "strict": {"type": "boolean", "description": "Older spellings are errors."}},
        work.validate,
    ),
    ToolSpec(
        "tool_kinds",
        "Tool kinds of playbooks",
        "List the kinds of tasks that playbooks can use, or explain one: its inputs, its output, an example.",
        {"kind": _text("Explain this kind, such as http.")},
        work.tool_kinds,
    ),
    ToolSpec(
        "docs",
        "Documentation",
        "List the pages about the language, the schema, tool kinds and examples, or give one of them.",
        {"uri": _text(f"Give this one, such as {LANGUAGE}")},
        work.docs,
    ),
    ToolSpec(
        "run",
        "Run a playbook",
        "Run a playbook by its text, its file or its registered path, and wait for its end. Gives status, "
        "output, error, ctx and steps; when it fails, also why. When it is not over in time it goes on, and "
        "`execution` tells how it stands.",
        {
            **PLAYBOOK_SOURCE,
            "path": _text("Or the path of a registered playbook, or of one in the project's folder."),
            "version": _number("Not the newest version of the path."),
            "workload": WORKLOAD,
            "wait_s": _wait("; 0 only starts it"),
            "idempotency_key": KEY,
        },
        work.run,
        scope="run",
    ),
    ToolSpec(
        "test",
        "Test playbooks",
        "Run playbook tests (*.test.yaml): tool outputs are given, nothing outside is called, waits are "
        "skipped. A test of a playbook, NAME.test.yaml beside it, gives tool outputs and says what must come "
        "of them. Gives every test's result and which arcs and rules were covered.",
        {"path": _text("A test file, a playbook with a test file beside it, or a folder.")},
        work.test,
        scope="run",
        files=True,
    ),
    ToolSpec(
        "register",
        "Register a playbook",
        "Keep a playbook under its metadata.path; a changed text becomes the next version.",
        PLAYBOOK_SOURCE,
        work.register,
        scope="write",
    ),
    ToolSpec(
        "playbooks",
        "Registered playbooks",
        "List the registered playbooks, or give the text of one.",
        {
            "path": _text("Give the text of this playbook."),
            "version": _number("Not its newest version."),
        },
        work.playbooks,
    ),
    ToolSpec(
        "executions",
        "Executions",
        "List executions, the newest first.",
        {
            "status": {**STATUS, "description": "Only those of this status."},
            "path": _text("Only those of this playbook."),
            "limit": _number("How many.", maximum=200, default=20),
        },
        work.executions,
    ),
    ToolSpec(
        "execution",
        "One execution",
        "How one execution stands or ended: status, output, error, ctx, steps, and what it waits for.",
        EXECUTION,
        work.execution,
        ("execution",),
    ),
    ToolSpec(
        "why",
        "Explain an execution",
        "Explain in words why an execution went as it did: arcs taken or not, tokens refused or held, tasks "
        "retried, with the values each decision saw; or why one step never ran.",
        {**EXECUTION, **STEP},
        work.why,
        ("execution",),
    ),
    ToolSpec(
        "events",
        "Events of an execution",
        "The events of an execution in order. `next` is where to go on when there are more.",
        {
            **EXECUTION,
            **STEP,
            "from": _number("Begin with this event.", default=1),
            "name": _text("Only events whose name matches, as in task.*"),
            "limit": _number("How many.", maximum=1000, default=100),
        },
        work.events,
        ("execution",),
    ),
    ToolSpec(
        "render",
        "Evaluate a template",
        "Evaluate a template against the state of an execution, now or after one of its events.",
        {
            **EXECUTION,
            "template": _text("Such as {{ ctx.total > 10 }}", 16_384),
            "at": _number("After this event."),
        },
        work.render,
        ("execution", "template"),
    ),
    ToolSpec(
        "cancel",
        "Cancel an execution",
        "End an execution: tasks that run are stopped, nothing more is started.",
        {**EXECUTION, "why": _text("The reason, kept in the log.", 1000)},
        work.cancel,
        ("execution",),
        scope="run",
        ends=True,
    ),
    ToolSpec(
        "signal",
        "Signal an execution",
        "Send an execution a signal that a task waits for; an approval is {approved: true} with its name.",
        {
            **EXECUTION,
            "name": _text("The signal's name.", 255),
            "payload": {"description": "What the task is given."},
        },
        work.signal,
        ("execution", "name"),
        scope="run",
    ),
    ToolSpec(
        "release",
        "Release a stuck execution",
        "Let an execution that is stuck go on, after an upgrade or when its log can be read again; "
        "`execution` says why it is stuck. One that still cannot be decided stays so.",
        EXECUTION,
        work.release,
        ("execution",),
        scope="run",
    ),
    ToolSpec(
        "retry",
        "Retry an execution",
        "Run a failed execution again from what failed, keeping what succeeded, as a new execution.",
        {**EXECUTION, **STEP, "wait_s": _wait("")},
        work.retry,
        ("execution",),
        scope="run",
    ),
)


class Toolbox:
    """The tools of one conversation: those that its caller may call, and that can be done there."""

    def __init__(self, product: Product, allows: Callable[[Scope], bool], *, files: bool) -> None:
        self._product = product
        offered = [offer for offer in TOOLS if allows(offer.scope) and (files or not offer.files)]
        self._offers = {offer.name: offer if files else _without_files(offer) for offer in offered}

    def list_tools(self) -> list[Message]:
        return [offer.listed() for offer in self._offers.values()]

    def knows(self, name: str) -> str | None:
        if name in self._offers:
            return None
        near = nearest(name, self._offers)
        return f"there is no tool {name!r}; " + (f"did you mean {near!r}?" if near else "see tools/list")

    async def call(self, name: str, arguments: work.Arguments, request: ToolRequest) -> Message:
        offer = self._offers[name]
        wrong = schema_problem(offer.schema, dict(arguments), "arguments")
        if wrong is not None:
            hint = _arguments_hint(offer, arguments)
            return error_result({"code": "arguments", "message": wrong.message, "hint": hint})
        try:
            answer = await partial(offer.work, self._product, arguments, request)()
        except PlaybookError as error:
            return error_result(_error_fields(error) | {"diagnostics": work.findings(error.diagnostics)})
        except NoetlError as error:
            return error_result(_error_fields(error))
        return _result(answer) | {"isError": False}


def _without_files(offer: ToolSpec) -> ToolSpec:
    left = {name: value for name, value in offer.arguments.items() if name not in FILE}
    return replace(offer, arguments=left)


def _arguments_hint(offer: ToolSpec, arguments: work.Arguments) -> str:
    """The argument that was meant by the first name that is none, else all that there are."""
    taken = ", ".join(f"{name} (needed)" if name in offer.required else name for name in offer.arguments)
    otherwise = f"{offer.name} takes: {taken}"
    unknown = next((name for name in arguments if name not in offer.arguments), None)
    missing = [name for name in offer.arguments if name not in arguments]
    return otherwise if unknown is None else did_you_mean(unknown, missing, otherwise)


def _error_fields(error: NoetlError) -> Message:
    return {"code": error.code, "message": error.message, "hint": error.hint}


def error_result(error: Message) -> Message:
    return _result({"error": error}) | {"isError": True}


def _result(answer: Message) -> Message:
    """Data for programs, and the same as text for those that only read text."""
    body = msgspec.json.encode(answer)
    return {"content": [{"type": "text", "text": body.decode()}], "structuredContent": msgspec.Raw(body)}

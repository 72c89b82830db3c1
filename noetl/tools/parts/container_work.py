"""What a task of kind `container` asks for, wherever it runs, and what came of it."""

import hashlib
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from noetl.ports.tool import Count, Input, Seconds, Size, Spec, doc
from noetl.tools.parts.process import Printed
from noetl.tools.parts.tool_context import ToolContext

NONE = "none"
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


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended, and what it printed."""

    exit_code: int
    stdout: Printed
    stderr: Printed


def name_of(context: ToolContext) -> str:
    """What it is called, so that a call that is repeated finds what the one before it began."""
    return f"noetl-{hashlib.sha256(context.idempotency_key.encode()).hexdigest()[:32]}"


def facts(context: ToolContext) -> dict[str, str]:
    """What it is told of its call, as environment variables."""
    return {
        "NOETL_EXECUTION_ID": context.execution_id,
        "NOETL_STEP": context.step,
        "NOETL_TASK": context.task,
        "NOETL_ATTEMPT": str(context.attempt),
        "NOETL_IDEMPOTENCY_KEY": context.idempotency_key,
    }

"""The bytes that a task sends as a file: of a value, of a reference, or of a file in an allowed folder."""

from collections.abc import Mapping
from typing import Annotated

from noetl.core.values.output import is_reference
from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.tool import Input, doc
from noetl.tools.parts.content import Format, encode, format_of
from noetl.tools.parts.paths import read_limited
from noetl.tools.parts.tool_context import ToolContext


class RawContent(Input):
    """What is sent."""

    content: Annotated[Json, doc("What it holds: a value, text, or a reference to it.")] = None
    path: Annotated[str | None, doc("A file in the allowed folders to take instead.")] = None
    format: Annotated[Format | None, doc("How a value is written; by default from the name.")] = None


async def raw_bytes(
    given: RawContent, name: str, max_bytes: int, context: ToolContext, *, file: str = "path"
) -> bytes:
    """The bytes; Failed says what they cannot be had of. `file` is the input that names a file."""
    if (given.path is None) == (given.content is None):
        raise Failed("input", f"{name!r} needs exactly one of content and {file}")
    if given.path is not None:
        return await _of_file(given.path, max_bytes, context)
    stored = given.content if is_reference(given.content) and isinstance(given.content, dict) else None
    value = given.content if stored is None else await context.load(stored)
    return encode(value, given.format or _format(value, name, stored))


def _format(value: Json, name: str, stored: Mapping[str, Json] | None) -> Format:
    """How a value is written under a name: rows as its ending says, text as text, what was bytes as bytes."""
    if not isinstance(value, str):
        usual = format_of(name, None)
        return usual if usual != "text" else "json"
    return "bytes" if stored is not None and _was_bytes(stored) else "text"


def _was_bytes(ref: Mapping[str, Json]) -> bool:
    """Whether a reference is to bytes, which are loaded as base64."""
    meta, locator = ref.get("meta"), ref.get("locator")
    if not isinstance(meta, dict) or not isinstance(locator, dict):
        return False
    if locator.get("store") != "results":
        return meta.get("format") == "bytes"
    return not str(meta.get("content_type", "application/json")).startswith(("text/", "application/json"))


async def _of_file(path: str, max_bytes: int, context: ToolContext) -> bytes:
    import asyncio

    real = context.path(path)
    try:
        return await asyncio.to_thread(read_limited, real, max_bytes)
    except FileNotFoundError:
        raise Failed("not_found", f"there is no file {path!r}") from None
    except OSError as problem:
        raise Failed("file", f"{path!r} cannot be read: {problem.strerror}") from None

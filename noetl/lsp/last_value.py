"""What a name of a playbook was in its newest run. Where runs are kept is not known here.

Only what outlives a step is asked for: the workload, `ctx`, and what finished steps gave.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from noetl.dsl.yaml.tree import Map, Value
from noetl.json_value import Json
from noetl.lsp import names
from noetl.lsp.cursor import template_before

LINES_MAX, CHARACTERS_MAX = 20, 1_000
SCOPES = ("workload", "ctx")
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[\d+\])*")
_TYPED = re.compile(rf"({_PATH.pattern})\.\w*$")
_PART = re.compile(r"\w+|\[\d+\]")


@dataclass(frozen=True, slots=True)
class LastValue:
    """A value, and the execution that it is from."""

    value: Json
    execution_id: str
    status: str
    requested_at: str


Look = Callable[[str, str], Awaitable[LastValue | None]]  # of a playbook's path, and an expression


async def nothing_seen(path: str, expression: str) -> LastValue | None:
    """Where no runs are kept."""
    return None


def path_of(root: Value) -> str | None:
    """The path that a document's runs are found by."""
    metadata = root.get("metadata") if isinstance(root, Map) else None
    path = metadata.get("path") if isinstance(metadata, Map) else None
    return path if isinstance(path, str) else None


def expression_at(lines: Sequence[str], line: int, column: int, root: Value) -> str | None:
    """What the newest run is asked for: the path in a template up to the cursor, or the data of a step."""
    steps = names.step_names(root)
    if template_before(lines, line, column) is None:
        word = next((m.group() for m in re.finditer(r"\w+", lines[line]) if _covers(m, column)), "")
        named = re.search(rf"\bstep\s*:\s*[\"']?{re.escape(word)}\b", lines[line]) if word else None
        return f"{word}.data" if named and word in steps else None
    path = next((m for m in _PATH.finditer(lines[line]) if _covers(m, column)), None)
    if path is None or _PART.match(path.group())[0] not in (*SCOPES, *steps):  # type: ignore[index]
        return None
    parts = [part for part in _PART.finditer(path.group()) if path.start() + part.start() <= column]
    whole = path.group()[: parts[-1].end()]
    return f"{whole}.data" if whole in steps else whole


def mapping_before(lines: Sequence[str], line: int, column: int, root: Value) -> str | None:
    """What the newest run is asked for while a field is typed: the path up to that field."""
    template = template_before(lines, line, column)
    path = None if template is None else _TYPED.search(template)
    if path is None or _PART.match(path[1])[0] not in (*SCOPES, *names.step_names(root)):  # type: ignore[index]
        return None
    return path[1]


def _covers(match: "re.Match[str]", column: int) -> bool:
    return match.start() <= column <= match.end()


def shown(expression: str, last: LastValue) -> str:
    """A value in Markdown, no longer than a hover may be."""
    text = json.dumps(last.value, indent=2, ensure_ascii=False)
    lines = text[:CHARACTERS_MAX].split("\n")[:LINES_MAX]
    kept = "\n".join(lines)
    more = f"\n… {len(text) - len(kept)} characters more" if len(kept) < len(text) else ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", kept)), default=0))
    run = f"run {last.execution_id[:8]}, {last.status}, of {last.requested_at}"
    return f"`{expression}` in the newest {run}:\n\n{fence}json\n{kept}{more}\n{fence}"

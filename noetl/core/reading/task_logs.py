"""What the end of a task says in its event: what it printed, where that rests there, and its error. Pure.

A task that failed says so below what it printed, with its traceback and what else its error carries. One that
failed by what it called says no more than that, where what was called has told all of it already.
"""

from collections.abc import Container, Iterator
from typing import Any

from noetl.core.reading import explain_text


def texts_of(
    data: dict[str, Any], label: str = "", children: Container[str] = ()
) -> Iterator[tuple[str, str | None]]:
    """What the end of a task has to say, and the level of each line where it is known.

    `children`: the executions whose lines are read along with it.
    """
    for text in data.get("logs") or ():
        yield str(text), None
    error = (data.get("output") or {}).get("error")
    if error:
        yield explain_text.error(error), "error"
        own = () if _is_told(error, label, children) else explain_text.details(error)
        for name, lines in own:
            mark = "input: " if name == "input" else ""  # all else says itself what it is
            yield from ((mark + line, "error") for line in lines)


def _is_told(error: dict[str, Any], label: str, children: Container[str]) -> bool:
    """Whether an error is that of a task inside the block, or of the child, that was called."""
    inside = str(error.get("task", "")).startswith(f"{label}/")
    return inside or (
        error.get("kind") == "child" and (error.get("details") or {}).get("execution_id") in children
    )

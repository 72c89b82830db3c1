"""What the end of a task says in its event: what it printed, where that rests there, and its error. Pure.

A task that failed says so below what it printed, with its traceback and what else its error carries.
"""

from collections.abc import Iterator
from typing import Any

from noetl.core.reading import explain_text


def texts_of(data: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """What the end of a task has to say, and the level of each line where it is known."""
    for text in data.get("logs") or ():
        yield str(text), None
    error = (data.get("output") or {}).get("error")
    if error:
        yield explain_text.error(error), "error"
        for name, lines in explain_text.details(error):
            mark = "input: " if name == "input" else ""  # all else says itself what it is
            yield from ((mark + line, "error") for line in lines)

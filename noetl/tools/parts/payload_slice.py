"""A slice of the items of a payload, or of what is selected from them, without holding the others.

Which items there are is told by whoever reads the payload; what needs the whole of it is not decided here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from noetl.core.values.item_scan import NotItems, Wanted
from noetl.core.values.output import size_of
from noetl.json_value import Json
from noetl.ports.envelope import Failed

if TYPE_CHECKING:
    from noetl.dsl.templates.selection import BatchSelection

ReadItems = Callable[[Wanted], AsyncIterator[list[Json]]]


async def slice_of(read: ReadItems, window: Wanted, expression: str | None) -> list[Json] | None:
    """The wanted items; None when the whole payload has to be seen to say what they are."""
    if expression is None:
        try:
            return [item async for some in read(window) for item in some]
        except NotItems as other:
            raise no_list(other.type_name) from None
    selection = _by_item(expression)
    if selection is None:
        return None
    try:
        return await _selected(read(Wanted(key=selection.key)), selection, window)
    except NotItems:
        return None  # the selection may have something to say to what it is instead


def _by_item(expression: str) -> "BatchSelection | None":
    from noetl.dsl.templates.limits import TemplateError
    from noetl.dsl.templates.selection import batch_selection

    try:
        return batch_selection(expression)
    except TemplateError:
        return None  # which matters when there is something to select from


async def _selected(
    items: AsyncIterator[list[Json]], selection: "BatchSelection", window: Wanted
) -> list[Json]:
    """The wanted part of what is selected; an error of the selection counts when all is verified."""
    from noetl.dsl.templates.limits import TemplateError

    kept: list[Json] = []
    place, problem = 0, None
    async for some in items:
        if problem is not None:
            continue
        try:
            found = await asyncio.to_thread(selection.of, some, size_of(some))
        except TemplateError as error:
            problem = error
            continue
        kept += [item for number, item in enumerate(found, place) if window.takes(number)]
        place += len(found)
    if problem is not None:
        raise unusable(problem.message)
    return kept


def unusable(reason: str) -> Failed:
    """What is said of a `select` that cannot be used."""
    return Failed("input", f"select: {reason}")


def no_list(type_name: str) -> Failed:
    """What is said of a payload that has no items."""
    return Failed("input", f"limit and offset need a list; the payload is a {type_name}")

"""Whole logs, read page by page."""

from collections.abc import AsyncIterator

from noetl.core.event import EventEnvelope
from noetl.ports.front import Front

PAGE = 1000


async def envelopes(
    front: Front, execution_id: str, *, first: int = 1, name: str | None = None, step: str | None = None
) -> AsyncIterator[EventEnvelope]:
    """Every event of an execution that matches."""
    while True:
        page = await front.events(execution_id, first=first, limit=PAGE, name=name, step=step)
        for event in page:
            yield event
        if len(page) < PAGE:
            return
        first = page[-1]["seq"] + 1


async def chain(front: Front, execution_id: str) -> AsyncIterator[str]:
    """An execution and those that went on from it, one after the other."""
    following: str | None = execution_id
    while following is not None:
        yield following
        following = (await front.execution(following)).get("continued_as")

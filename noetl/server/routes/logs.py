"""What tasks wrote, line by line: a page of it, or as it is written."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import msgspec
from fastapi import Query, Request
from starlette.responses import Response
from starlette.types import Send

from noetl.core.values.lines import LEVELS
from noetl.ports.answers import LinesPage
from noetl.ports.front import FindLines
from noetl.server.access import who_asks
from noetl.server.reply import front_of, reply
from noetl.server.route_spec import describe, make_router, parameter
from noetl.server.routes.executions import ExecutionId
from noetl.server.routes.streams import END, MEDIA_TYPE, EventStream, chunk

router = make_router("executions")
LAST_WORDS = "The id of the last lines that were seen; the stream goes on behind them"
LAST_PARAMETER = parameter("header", "Last-Event-ID", LAST_WORDS, type="string", maxLength=40)
Name = Annotated[str | None, Query(max_length=255)]
Level = Annotated[
    str | None,
    Query(pattern=f"^({'|'.join(LEVELS)})$", description="This level or a worse one; none counts as info"),
]
Part = Annotated[str, Query(max_length=255, description="Only lines that have this in them, in any case")]
After = Annotated[
    str,
    Query(
        pattern="^([0-9]{1,18}-[0-9]{1,18}|@[0-9]{1,18})?$", description="Behind this place: `next` of a page"
    ),
]


@router.get("/executions/{execution_id}/logs", **describe("read", {200: LinesPage}, problems=(404,)))
async def logs(
    request: Request,
    execution_id: ExecutionId,
    *,
    after: After = "",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    step: Name = None,
    task: Name = None,
    level: Level = None,
    text: Part = "",
) -> Response:
    """Lines that tasks wrote, and the errors that they ended with; about `limit` of them are looked at."""
    find = FindLines(step, task, level, text)
    return reply(await front_of(request).logs(execution_id, find, after=after, limit=limit))


@router.get(
    "/executions/{execution_id}/logs/stream",
    **describe("read", {200: MEDIA_TYPE}, problems=(404,), parameters=(LAST_PARAMETER,)),
)
async def log_stream(
    request: Request,
    execution_id: ExecutionId,
    *,
    after: After = "",
    step: Name = None,
    task: Name = None,
    level: Level = None,
    text: Part = "",
    children: Annotated[bool, Query(description="Also of executions that it started, and these")] = False,
    live: Annotated[bool, Query(description="Until it is over; else what there is now")] = True,
) -> Response:
    """What tasks write as Server-Sent Events `lines`: what there is at once, the rest as it is written."""
    front = front_of(request)
    await front.status(execution_id)  # one that is not there is answered as a problem, not as a stream
    find = FindLines(step, task, level, text, children, who_asks(request).sees)
    after = request.headers.get("last-event-id", "")[:40] or after
    stream = LineStream(execution_id, None, request.app.state.closing)
    stream.pages = front.follow_logs(execution_id, find, after=after, live=live)
    return stream.of(request)


class LineStream(EventStream):
    """A stream of lines instead of events."""

    pages: AsyncGenerator[LinesPage]

    async def _send_events(self, send: Send) -> None:
        async with aclosing(self.pages) as pages:
            async for page in pages:
                if page["items"]:
                    self._quiet = False
                    lines = msgspec.json.encode(page["items"])
                    await send(chunk(b"id: %s\nevent: lines\ndata: %s\n\n" % (page["next"].encode(), lines)))
        await send(chunk(END))

"""Starting executions and how they stand."""

import time
from contextlib import nullcontext
from datetime import datetime
from typing import Annotated

from fastapi import Path, Query, Request
from pydantic import BeforeValidator
from starlette.responses import Response

from noetl.core.state import STATUSES
from noetl.errors import NotFound, RequestError
from noetl.ports.answers import ExecutionAnswer
from noetl.ports.front import ME, Ask, Started, execution_row
from noetl.ports.store import Find, Listed
from noetl.server.access import EXECUTION_ID, require, require_path, who_asks
from noetl.server.closing import Closing
from noetl.server.paging import Cursor
from noetl.server.reply import front_of, held, read, reply
from noetl.server.route_spec import EXECUTION, Guarded, describe, make_router, parameter
from noetl.server.routes.catalog import require_text
from noetl.server.shapes import Begun, EventPage, ExecutionPage, StartBody

router = make_router("executions")

ID_PATTERN, ID_WORDS = f"^{EXECUTION_ID.pattern}$", "The id of an execution"
ExecutionId = Annotated[str, Path(pattern=ID_PATTERN, description=ID_WORDS)]
ID_PARAMETER = parameter("path", EXECUTION, ID_WORDS, required=True, type="string", pattern=ID_PATTERN)
KEY_WORDS = "Under one key at most one execution is started; a repeat answers 200 with that one"
KEY_PARAMETER = parameter("header", "Idempotency-Key", KEY_WORDS, type="string", minLength=1, maxLength=255)
WAIT_MOST_S = 60
WAIT_WORDS = "Answer when it is over or paused, after so many seconds at the latest"
WAIT_PARAMETER = parameter(
    "query", "wait", WAIT_WORDS, type="integer", minimum=0, maximum=WAIT_MOST_S, default=0
)
KEY_LENGTH = 255
PAGES_PASSED = 20
STATUS_PATTERN = f"^({'|'.join(STATUSES)})$"


def id_of(request: Request) -> str:
    """The execution that a path names; an id that cannot be one names none."""
    text: str = request.path_params["execution_id"]
    if not EXECUTION_ID.fullmatch(text):
        raise NotFound(f"'{text[:64]}' is not the id of an execution", hint="an id is 32 hexadecimal digits")
    return text


def _moment(moment: object) -> object:
    """A bare number is no moment: nobody can tell seconds from years."""
    if isinstance(moment, str) and not moment[:5].endswith("-"):
        raise ValueError("write a date, as in 2026-01-31T12:00:00Z")
    return moment


Moment = Annotated[datetime, BeforeValidator(_moment)]


@router.post(
    "/executions",
    **describe(
        "run",
        {201: Begun, 200: Begun},
        body=StartBody,
        problems=(404, 409, 422),
        parameters=(KEY_PARAMETER, WAIT_PARAMETER),
    ),
)
async def start(request: Request) -> Response:
    """Start an execution of a registered playbook, or of a text; with `wait`, answer how it ended."""
    wait_s = wait_of(request)
    body = await read(request, StartBody)
    path = body.path or body.playbook_id
    if (path is None) == (body.playbook is None):
        raise RequestError(
            "give either 'path' or 'playbook'", hint='{"path": "examples/hello", "workload": {}}'
        )
    ask = Ask(
        text=body.playbook,
        path=path,
        version=body.version,
        workload=body.workload or {},
        idempotency_key=key_of(request, body.idempotency_key),
        until=body.until,
        by=who_asks(request).name,
    )
    return await begin(request, ask, wait_s)


# The route that is asked for most; nothing stands above it.
START = next(route for route in router.routes if isinstance(route, Guarded))


async def begin(request: Request, ask: Ask, wait_s: int = 0) -> Response:
    """Start what is asked for, by whoever may."""
    await require_ask(request, ask)
    with held(request) if wait_s else nullcontext():
        started = await front_of(request).start(ask)
        result = await _after_waiting(request, started.execution_id, wait_s) if wait_s else None
    return begun_reply(started, 200 if started.existed else 201, result)


async def require_ask(request: Request, ask: Ask) -> None:
    """Refuse to start what the sender may not; a text is a playbook that is written."""
    if ask.text is not None:
        require(request, "write")
        await require_text(request, ask.text)
    elif ask.path is not None:
        require_path(request, ask.path, f"playbook '{ask.path}'")


def begun_reply(started: Started, status: int = 201, result: ExecutionAnswer | None = None) -> Response:
    """The answer to a request for an execution, with how it stands when that is known."""
    body = begun_fields(started.execution_id, started.status, started.path)
    headers = {"Location": f"/api/v1/executions/{started.execution_id}"}
    return reply(body if result is None else {**body, **result}, status, headers)


def begun_fields(execution_id: str | None, status: str, path: str) -> dict[str, object]:
    """What was asked for; its path stands where an execution has it, and where earlier releases had it."""
    return {"execution_id": execution_id, "status": status, "path": path, "playbook": {"path": path}}


def wait_of(request: Request) -> int:
    """For how many seconds the sender waits for the end."""
    text = request.query_params.get("wait", "0") if request.scope["query_string"] else "0"
    if not (text.isascii() and text.isdigit()) or len(text) > 3 or int(text) > WAIT_MOST_S:
        raise RequestError(f"wait: '{text[:40]}' is no number of seconds from 0 to {WAIT_MOST_S}")
    return int(text)


async def _after_waiting(request: Request, execution_id: str, wait_s: int) -> ExecutionAnswer:
    """How an execution stands once it is over, after a while, or when this server stops."""
    closing: Closing = request.app.state.closing
    try:
        return await closing.before(front_of(request).execution(execution_id, wait_s=wait_s))
    except TimeoutError:
        return await front_of(request).execution(execution_id)


def key_of(request: Request, in_body: str | None = None) -> str | None:
    """The idempotency key of a request, from its header or its body."""
    in_header = request.headers.get("idempotency-key")
    if in_header is not None and not 0 < len(in_header) <= KEY_LENGTH:
        raise RequestError(
            f"the header Idempotency-Key has {len(in_header)} characters, not 1 to {KEY_LENGTH}"
        )
    if in_header is not None and in_body is not None and in_header != in_body:
        raise RequestError("the header Idempotency-Key and 'idempotency_key' differ", hint="give one of them")
    return own_key(request, in_header or in_body)


def own_key(request: Request, key: str | None) -> str | None:
    """A key of the sender's: those of senders who see other paths are not theirs."""
    prefixes = who_asks(request).prefixes
    return f"{' '.join(prefixes)}: {key}" if key and prefixes else key


@router.get("/executions", **describe("read", {200: ExecutionPage}))
async def list_executions(
    request: Request,
    *,
    status: Annotated[str | None, Query(pattern=STATUS_PATTERN)] = None,
    path: Annotated[str | None, Query(max_length=512, description="Of one playbook")] = None,
    prefix: Annotated[str, Query(pattern="^[0-9a-f]{0,32}$", description="The beginning of ids")] = "",
    text: Annotated[str | None, Query(max_length=200, description="A part of an id or a path")] = None,
    since: Annotated[Moment | None, Query(description="Requested at or after")] = None,
    until: Annotated[Moment | None, Query(description="Requested before")] = None,
    parent: Annotated[str | None, Query(pattern="^[0-9a-f]{32}$")] = None,
    by: Annotated[
        str | None, Query(max_length=200, description="Who asked for them; @me: who asks now")
    ] = None,
    label: Annotated[
        str | None,
        Query(max_length=201, description="Of playbooks that have this label: `team`, or `team=pricing`"),
    ] = None,
    children: Annotated[bool, Query(description="Whether children of others are listed too")] = True,
    continued: Annotated[
        bool, Query(description="Whether those that went on as another are listed too, not the last alone")
    ] = False,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """Executions, the newest first; of those that went on from one another the last."""
    find = Find(
        status=status,
        path=path,
        prefix=prefix,
        text=text,
        since=_ms(since),
        until=_ms(until),
        parent=parent,
        by=by,
        label=label,
        children=children,
        continued=continued,
        cursor=cursor,
        limit=limit,
    )
    page, now = await visible_executions(request, find), time.time_ns() // 1_000_000
    return reply({"items": [execution_row(item, now) for item in page.items], "cursor": page.cursor})


async def visible_executions(request: Request, find: Find) -> Listed:
    """A page of what the sender sees; pages in which they see nothing are passed over, within reason."""
    who = who_asks(request)
    find.by = who.name if find.by == ME else find.by
    for _ in range(PAGES_PASSED):
        try:
            page = await front_of(request).executions(find)
        except NotFound as error:  # the cursor: nothing else in a list can be missing
            raise RequestError(error.message, hint=error.hint) from None
        items = [summary for summary in page.items if who.sees(summary.path)]
        if items or page.cursor is None:
            return Listed(items, page.cursor)
        find.cursor = page.cursor
    return Listed([], find.cursor)


def _ms(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    try:
        return int(moment.timestamp() * 1000)
    except (OverflowError, ValueError):
        raise RequestError(f"{moment.isoformat()} is no moment that can be counted") from None


@router.get(
    "/executions/{execution_id}",
    **describe("read", {200: ExecutionAnswer}, problems=(404,), parameters=(ID_PARAMETER, WAIT_PARAMETER)),
)
async def show(request: Request) -> Response:
    """How an execution stands, from its projection: the size of its log does not matter."""
    execution_id, wait_s = id_of(request), wait_of(request)
    if wait_s:
        with held(request):
            return reply(await _after_waiting(request, execution_id, wait_s))
    return reply(await front_of(request).execution(execution_id))


@router.get("/executions/{execution_id}/events", **describe("read", {200: EventPage}, problems=(404,)))
async def events(
    request: Request,
    execution_id: ExecutionId,
    *,
    first: Annotated[int, Query(alias="from", ge=1, le=2**53)] = 1,
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
    name: Annotated[str | None, Query(max_length=100, description="A pattern such as task.*")] = None,
    step: Annotated[str | None, Query(max_length=255)] = None,
) -> Response:
    """The events of an execution in order, those that match."""
    batch = await front_of(request).events(execution_id, first=first, limit=limit, name=name, step=step)
    following = batch[-1]["seq"] + 1 if len(batch) >= limit else None
    return reply({"items": batch, "next": following})

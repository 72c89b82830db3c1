"""Who is told what becomes of executions, and what became of telling them.

A notification goes on when the token that made it is gone, so making one takes `write`; one that starts a
playbook takes `run` as well.
"""

from typing import Annotated, Literal

from fastapi import Path, Query, Request
from msgspec import Struct
from msgspec.structs import asdict
from starlette.responses import Response

from noetl.errors import NotFound
from noetl.json_value import JsonObject
from noetl.ports.notification import (
    Delivery,
    FindDeliveries,
    Notification,
    NotificationAsk,
    NotificationBody,
    delivery_facts,
    notification_facts,
    target_of,
)
from noetl.ports.schedule import NAME_PATTERN
from noetl.ports.store import page_start
from noetl.server.access import require, require_path, who_asks
from noetl.server.paging import Cursor, Limit, page
from noetl.server.reply import front_of, read, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.shapes import (
    DeliveryItem,
    DeliveryPage,
    NotificationChange,
    NotificationItem,
    NotificationPage,
)

router = make_router("notifications")
Name = Annotated[str, Path(pattern=NAME_PATTERN, description="The name of a notification")]
Number = Annotated[int, Path(ge=1, le=2**62, description="The number of a delivery")]
FAULTS = (404, 409, 422)


@router.get("/notifications", **describe("read", {200: NotificationPage}))
async def list_notifications(request: Request, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """Notifications by name."""
    who = who_asks(request)
    seen = (item for item in await front_of(request).notifications() if who.sees(item.path))
    items, more = page(seen, lambda item: item.name, cursor, limit)
    return reply({"items": [notification_facts(item) for item in items], "cursor": more})


@router.post(
    "/notifications",
    **describe("write", {201: NotificationItem}, body=NotificationBody, problems=FAULTS),
)
async def add_notification(request: Request) -> Response:
    """Make a notification: what is told of which playbooks, and to whom."""
    return reply(await _put(request, await read(request, NotificationBody), new=True), 201)


@router.get("/notifications/{name}", **describe("read", {200: NotificationItem}, problems=(404,)))
async def show_notification(request: Request, name: Name) -> Response:
    """One notification."""
    return reply(notification_facts(await _own(request, name)))


@router.put(
    "/notifications/{name}",
    **describe("write", {200: NotificationItem}, body=NotificationChange, problems=FAULTS),
)
async def put_notification(request: Request, name: Name) -> Response:
    """Make a notification, or put it in the place of the one that has the name."""
    body = await read(request, NotificationChange)
    try:
        existing = await front_of(request).notification(name)
    except NotFound:
        pass
    else:
        require_path(request, existing.path, f"place for {name!r}")
    return reply(await _put(request, body, name=name))


async def _put(request: Request, body: Struct, *, new: bool = False, **name: str) -> JsonObject:
    ask = NotificationAsk(**{**asdict(body), **name, "by": who_asks(request).name})
    require_path(request, ask.path, f"place for notifications of '{ask.path}'")
    kind, address = target_of(ask.target)
    if kind == "playbook" and address is not None:
        require(request, "run")
        require_path(request, address, f"playbook '{address}'")
    return notification_facts(await front_of(request).put_notification(ask, new=new))


@router.delete("/notifications/{name}", **describe("write", {204: None}, problems=(404,)))
async def delete_notification(request: Request, name: Name) -> Response:
    """Forget a notification, what it was to tell, and what it told."""
    await _own(request, name)
    await front_of(request).delete_notification(name)
    return Response(status_code=204)


@router.post("/notifications/{name}/test", **describe("write", {200: DeliveryItem}, problems=(404,)))
async def send_sample(request: Request, name: Name) -> Response:
    """Tell a sample; how the first attempt went."""
    await _own(request, name)
    return reply(delivery_facts(await front_of(request).send_sample(name)))


async def _own(request: Request, name: str) -> Notification:
    notification = await front_of(request).notification(name)
    require_path(request, notification.path, f"notification {name!r}")
    return notification


# ---- deliveries -----------------------------------------------------------------------------------------


@router.get("/deliveries", **describe("read", {200: DeliveryPage}, problems=(404,)))
async def list_deliveries(
    request: Request,
    notification: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    execution_id: Annotated[str | None, Query(max_length=64)] = None,
    state: Annotated[Literal["pending", "delivered", "failed"] | None, Query()] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """What was told, or is to be, the newest first."""
    find = FindDeliveries(notification=notification, execution_id=execution_id, state=state)
    find.before, find.limit = page_start(cursor), limit + 1
    found = await front_of(request).deliveries(find)
    who = who_asks(request)
    items = [delivery_facts(item) for item in found[:limit] if who.sees(item.path)]
    return reply({"items": items, "cursor": str(found[limit - 1].id) if len(found) > limit else None})


@router.get("/deliveries/{number}", **describe("read", {200: DeliveryItem}, problems=(404,)))
async def show_delivery(request: Request, number: Number) -> Response:
    """One delivery."""
    return reply(delivery_facts(await _own_delivery(request, number)))


@router.post("/deliveries/{number}/redeliver", **describe("write", {200: DeliveryItem}, problems=(404,)))
async def redeliver(request: Request, number: Number) -> Response:
    """Tell something again, at once and under the same key."""
    await _own_delivery(request, number)
    return reply(delivery_facts(await front_of(request).redeliver(number)))


async def _own_delivery(request: Request, number: int) -> Delivery:
    delivery = await front_of(request).delivery(number)
    require_path(request, delivery.path, f"delivery {number}")
    return delivery

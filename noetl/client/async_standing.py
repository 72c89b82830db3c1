"""What stands on a server beside playbooks and executions: what starts them, who is told, who may what.

Most methods are those of the front, whose ports say what they do; executions are async_client's.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from noetl.adapters.http.front import HttpFront
from noetl.client.execution import AsyncExecution
from noetl.json_value import JsonObject
from noetl.ports.front import Front
from noetl.ports.notification import Delivery, FindDeliveries
from noetl.ports.tick import Backfill
from noetl.ports.values import from_python

P = ParamSpec("P")
R = TypeVar("R")


def _of_front(
    method: Callable[Concatenate[Front, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate["AsyncStanding", P], Coroutine[Any, Any, R]]:
    """A method of the front under its own name."""

    @wraps(method)
    async def call(self: "AsyncStanding", /, *args: P.args, **kwargs: P.kwargs) -> R:
        answer: R = await getattr(self._front, method.__name__)(*args, **kwargs)
        return answer

    return call


class AsyncStanding:
    """The part of a client that is neither of playbooks nor of executions."""

    _front: HttpFront

    workers = _of_front(Front.workers)

    async def tools(self) -> list[JsonObject]:
        """The tool kinds that the server knows, with their inputs."""
        page: dict[str, list[JsonObject]] = await self._front.client.ask("GET", "/tools")
        return page["items"]

    async def schema(self, kind: str | None = None) -> JsonObject:
        """The JSON Schema of playbooks, or of one tool kind."""
        schema: JsonObject = await self._front.client.ask("GET", "/schema", query={"kind": kind})
        return schema

    # By the clock

    schedules = _of_front(Front.schedules)
    schedule = _of_front(Front.schedule)
    put_schedule = _of_front(Front.put_schedule)
    delete_schedule = _of_front(Front.delete_schedule)
    schedule_ticks = _of_front(Front.schedule_ticks)
    coming_ticks = _of_front(Front.coming_ticks)

    async def run_schedule(self, name: str) -> AsyncExecution:
        """Start at once what a schedule starts."""
        started = await self._front.run_schedule(name)
        return AsyncExecution(self._front, started.execution_id, started.path)

    add_backfill = _of_front(Front.add_backfill)
    backfills = _of_front(Front.backfills)
    backfill = _of_front(Front.backfill)
    backfill_ticks = _of_front(Front.backfill_ticks)

    async def pause_backfill(self, backfill_id: str) -> Backfill:
        """Start no more of its ticks for now."""
        return await self._front.control_backfill(backfill_id, "pause")

    async def resume_backfill(self, backfill_id: str) -> Backfill:
        """Let it go on."""
        return await self._front.control_backfill(backfill_id, "resume")

    async def cancel_backfill(self, backfill_id: str) -> Backfill:
        """Start no more of its ticks at all."""
        return await self._front.control_backfill(backfill_id, "cancel")

    # By what happens

    triggers = _of_front(Front.triggers)
    trigger = _of_front(Front.trigger)
    put_trigger = _of_front(Front.put_trigger)
    delete_trigger = _of_front(Front.delete_trigger)
    arrivals = _of_front(Front.arrivals)

    async def run_trigger(
        self, name: str, payload: object = None, *, idempotency_key: str | None = None
    ) -> AsyncExecution:
        """Start what a trigger starts, with a payload."""
        started = await self._front.fire_trigger(name, from_python(payload, "payload"), key=idempotency_key)
        return AsyncExecution(self._front, started.execution_id, started.path)

    # Who is told

    notifications = _of_front(Front.notifications)
    notification = _of_front(Front.notification)
    put_notification = _of_front(Front.put_notification)
    delete_notification = _of_front(Front.delete_notification)
    delivery = _of_front(Front.delivery)
    redeliver = _of_front(Front.redeliver)

    async def test_notification(self, name: str) -> Delivery:
        """Tell a sample now; how that went."""
        return await self._front.send_sample(name)

    async def deliveries(
        self,
        *,
        notification: str | None = None,
        execution_id: str | None = None,
        state: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[Delivery]:
        """What was told or is to be, the newest first."""
        find = FindDeliveries(
            notification=notification, execution_id=execution_id, state=state, before=before, limit=limit
        )
        return await self._front.deliveries(find)

    # Who may what

    credentials = _of_front(Front.credentials)
    credential = _of_front(Front.credential)
    delete_credential = _of_front(Front.delete_credential)

    async def put_credential(self, name: str, material: Mapping[str, object]) -> None:
        """Keep a credential, sealed; its values never come back."""
        await self._front.put_credential(
            name, {key: from_python(value, key) for key, value in material.items()}
        )

    async def rotate_credentials(self) -> int:
        """Seal every credential with the newest key; how many."""
        return await self._front.seal_again()

    new_token = _of_front(Front.new_token)
    tokens = _of_front(Front.tokens)
    delete_token = _of_front(Front.delete_token)

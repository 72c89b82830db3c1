"""A server for plain calls: each method is the awaited one of the same name, run in the loop of a thread."""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from inspect import signature
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from noetl.client.async_client import AsyncClient
from noetl.client.execution import AsyncExecution
from noetl.client.loop_thread import LoopThread
from noetl.core.event import EventEnvelope
from noetl.ports.answers import LogLine

A = TypeVar("A", covariant=True)
P = ParamSpec("P")
R = TypeVar("R")


class _Plain(Generic[A]):
    """Something whose methods are awaited, and the thread whose loop awaits them."""

    def __init__(self, awaited: A, thread: LoopThread) -> None:
        self._awaited, self._thread = awaited, thread


def _plain(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[_Plain[A], P], R]:
    @wraps(method)
    def call(self: _Plain[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._thread.run(method(self._awaited, *args, **kwargs))

    return call


def _starts(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, AsyncExecution]],
) -> Callable[Concatenate[_Plain[A], P], "Execution"]:
    ask = _plain(method)

    @wraps(method)
    def call(self: _Plain[A], /, *args: P.args, **kwargs: P.kwargs) -> "Execution":
        return Execution(ask(self, *args, **kwargs), self._thread)

    vars(call)["__signature__"] = signature(method).replace(return_annotation="Execution")
    return call


class Execution(_Plain[AsyncExecution]):
    """An execution by its id; every method asks the server."""

    @property
    def execution_id(self) -> str:
        return self._awaited.execution_id

    @property
    def path(self) -> str:
        return self._awaited.path

    @property
    def existed(self) -> bool:
        """Whether the idempotency key had started it before."""
        return self._awaited.existed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.execution_id} {self.path}>"

    status = _plain(AsyncExecution.status)
    result = _plain(AsyncExecution.result)
    wait = _plain(AsyncExecution.wait)

    def follow(self, first: int = 1) -> Iterator[EventEnvelope]:
        """Its events from a sequence number on, each once and in order, as they happen, until it is over."""
        return self._thread.iterate(self._awaited.follow(first))

    def follow_logs(
        self, *, step: str | None = None, level: str | None = None, children: bool = False
    ) -> Iterator[LogLine]:
        """What its tasks print, as they print it, until it is over; `level`: this one or a worse one."""
        return self._thread.iterate(self._awaited.follow_logs(step=step, level=level, children=children))

    events = _plain(AsyncExecution.events)
    logs = _plain(AsyncExecution.logs)
    why = _plain(AsyncExecution.why)
    state = _plain(AsyncExecution.state)
    graph = _plain(AsyncExecution.graph)
    playbook = _plain(AsyncExecution.playbook)
    diff = _plain(AsyncExecution.diff)
    render = _plain(AsyncExecution.render)
    step_output = _plain(AsyncExecution.step_output)
    step_rows = _plain(AsyncExecution.step_rows)

    cancel = _plain(AsyncExecution.cancel)
    pause = _plain(AsyncExecution.pause)
    resume = _plain(AsyncExecution.resume)
    signal = _plain(AsyncExecution.signal)
    release = _plain(AsyncExecution.release)
    retry = _starts(AsyncExecution.retry)
    rerun = _starts(AsyncExecution.rerun)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        return replace(self.result(), graph=self.graph())._repr_mimebundle_()


class Client(_Plain[AsyncClient]):
    """Speaks to one server under one token, from plain code, a notebook or a thread.

    Without an address, the server and token that the settings name: environment, project, contexts.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        awaited = AsyncClient(url, token)
        super().__init__(awaited, LoopThread("noetl-client", at_end=awaited.close))

    @property
    def url(self) -> str:
        """The server's address."""
        return self._awaited.url

    def close(self) -> None:
        """Let go of the connection. A client that nobody refers to any more is closed by itself."""
        self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    run = _starts(AsyncClient.run)
    executions = _plain(AsyncClient.executions)
    fetch = _plain(AsyncClient.fetch)

    def execution(self, execution_id: str) -> Execution:
        """An execution by its whole id; nothing is asked yet."""
        return Execution(self._awaited.execution(execution_id), self._thread)

    register = _plain(AsyncClient.register)
    validate = _plain(AsyncClient.validate)
    playbooks = _plain(AsyncClient.playbooks)
    playbook = _plain(AsyncClient.playbook)
    delete_playbook = _plain(AsyncClient.delete_playbook)

    workers = _plain(AsyncClient.workers)
    tools = _plain(AsyncClient.tools)
    schema = _plain(AsyncClient.schema)

    schedules = _plain(AsyncClient.schedules)
    schedule = _plain(AsyncClient.schedule)
    put_schedule = _plain(AsyncClient.put_schedule)
    delete_schedule = _plain(AsyncClient.delete_schedule)
    schedule_ticks = _plain(AsyncClient.schedule_ticks)
    coming_ticks = _plain(AsyncClient.coming_ticks)
    run_schedule = _starts(AsyncClient.run_schedule)
    add_backfill = _plain(AsyncClient.add_backfill)
    backfills = _plain(AsyncClient.backfills)
    backfill = _plain(AsyncClient.backfill)
    backfill_ticks = _plain(AsyncClient.backfill_ticks)
    pause_backfill = _plain(AsyncClient.pause_backfill)
    resume_backfill = _plain(AsyncClient.resume_backfill)
    cancel_backfill = _plain(AsyncClient.cancel_backfill)

    triggers = _plain(AsyncClient.triggers)
    trigger = _plain(AsyncClient.trigger)
    put_trigger = _plain(AsyncClient.put_trigger)
    delete_trigger = _plain(AsyncClient.delete_trigger)
    arrivals = _plain(AsyncClient.arrivals)
    run_trigger = _starts(AsyncClient.run_trigger)

    notifications = _plain(AsyncClient.notifications)
    notification = _plain(AsyncClient.notification)
    put_notification = _plain(AsyncClient.put_notification)
    delete_notification = _plain(AsyncClient.delete_notification)
    test_notification = _plain(AsyncClient.test_notification)
    deliveries = _plain(AsyncClient.deliveries)
    delivery = _plain(AsyncClient.delivery)
    redeliver = _plain(AsyncClient.redeliver)

    credentials = _plain(AsyncClient.credentials)
    credential = _plain(AsyncClient.credential)
    put_credential = _plain(AsyncClient.put_credential)
    delete_credential = _plain(AsyncClient.delete_credential)
    rotate_credentials = _plain(AsyncClient.rotate_credentials)
    new_token = _plain(AsyncClient.new_token)
    tokens = _plain(AsyncClient.tokens)
    delete_token = _plain(AsyncClient.delete_token)

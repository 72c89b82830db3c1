"""A server for plain calls: each method is the awaited one of the same name, run in the loop of a thread."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from noetl.client.async_client import AsyncClient
from noetl.client.execution import AsyncExecution
from noetl.client.loop_thread import LoopThread
from noetl.client.result import Result
from noetl.core.event import EventEnvelope
from noetl.json_value import Json, JsonObject
from noetl.ports.answers import ExecutionItem, LogLine, StateAnswer, WhyAnswer
from noetl.ports.front import Worker
from noetl.ports.schedule import Schedule, ScheduleAsk
from noetl.ports.store import PlaybookText


class Execution:
    """An execution by its id; every method asks the server."""

    def __init__(self, execution: AsyncExecution, thread: LoopThread) -> None:
        self._execution, self._thread = execution, thread

    @property
    def execution_id(self) -> str:
        return self._execution.execution_id

    @property
    def path(self) -> str:
        return self._execution.path

    @property
    def existed(self) -> bool:
        """Whether the idempotency key had started it before."""
        return self._execution.existed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.execution_id} {self.path}>"

    def status(self) -> str:
        """pending, running, waiting, paused, completed, failed, cancelled or stuck."""
        return self._thread.run(self._execution.status())

    def result(self) -> Result:
        """How it stands now."""
        return self._thread.run(self._execution.result())

    def wait(self, timeout: float | None = None, *, check: bool = True) -> Result:
        """Wait until it is over or paused, and say how it stands.

        Raises TimeoutError after `timeout` seconds; what runs goes on. With `check`, an execution that
        failed, was cancelled or is stuck raises ExecutionFailed.
        """
        return self._thread.run(self._execution.wait(timeout, check=check))

    def follow(self, first: int = 1) -> Iterator[EventEnvelope]:
        """Its events from a sequence number on, each once and in order, as they happen, until it is over."""
        return self._thread.iterate(self._execution.follow(first))

    def events(
        self, *, first: int = 1, limit: int = 500, name: str | None = None, step: str | None = None
    ) -> list[EventEnvelope]:
        """Events that match; `name` may be a pattern such as `task.*`."""
        return self._thread.run(self._execution.events(first=first, limit=limit, name=name, step=step))

    def logs(self, *, limit: int = 500, step: str | None = None) -> list[LogLine]:
        """What its tasks printed, a line each."""
        return self._thread.run(self._execution.logs(limit=limit, step=step))

    def why(self, step: str | None = None) -> WhyAnswer:
        """Its decisions in words."""
        return self._thread.run(self._execution.why(step))

    def state(self, at: int | None = None) -> StateAnswer:
        """Its state now, or after an event."""
        return self._thread.run(self._execution.state(at))

    def graph(self) -> JsonObject:
        """The playbook that it runs as steps and arcs."""
        return self._thread.run(self._execution.graph())

    def step_output(self, step: str) -> Json:
        """The data of a step's latest run that ended; a payload that was stored is fetched."""
        return self._thread.run(self._execution.step_output(step))

    def step_rows(self, step: str) -> list[dict[str, Json]]:
        """The data of a step's latest run as rows."""
        return self._thread.run(self._execution.step_rows(step))

    def cancel(self, why: str = "") -> None:
        self._thread.run(self._execution.cancel(why))

    def pause(self, why: str = "") -> None:
        self._thread.run(self._execution.pause(why))

    def resume(self) -> None:
        """Let it go on after a pause."""
        self._thread.run(self._execution.resume())

    def signal(self, name: str, payload: Json = None) -> None:
        """Send a signal, such as an approval, to whatever waits for it."""
        self._thread.run(self._execution.signal(name, payload))

    def release(self) -> None:
        """Let it go on after it was stuck."""
        self._thread.run(self._execution.release())

    def retry(self, step: str | None = None) -> "Execution":
        """A new execution that keeps what went well and goes on from what failed."""
        return Execution(self._thread.run(self._execution.retry(step)), self._thread)

    def rerun(self, start: str, playbook: str | None = None) -> "Execution":
        """A new execution that begins again at a step, perhaps with a changed playbook's text."""
        return Execution(self._thread.run(self._execution.rerun(start, playbook)), self._thread)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        from noetl.client.display import execution_bundle

        return execution_bundle(self.result(), self.graph())


class Client:
    """Speaks to one server under one token, from plain code, a notebook or a thread.

    Without an address, the server and token that the settings name: environment, project, contexts.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._client = AsyncClient(url, token)
        self._thread = LoopThread("noetl-client")

    @property
    def url(self) -> str:
        """The server's address."""
        return self._client.url

    def close(self) -> None:
        """Let go of the connection; the client is of no more use."""
        self._thread.run(self._client.close())
        self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(
        self,
        playbook: str | Path,
        /,
        workload: Mapping[str, Json] | None = None,
        *,
        version: int | None = None,
        idempotency_key: str | None = None,
        **values: Json,
    ) -> Execution:
        """Start an execution of a registered playbook by its path, or of a file by its name.

        What it works on is `workload`, with `values` over it. Under one key at most one execution is started.
        """
        work = self._client.run(
            playbook, workload, version=version, idempotency_key=idempotency_key, **values
        )
        return Execution(self._thread.run(work), self._thread)

    def execution(self, execution_id: str) -> Execution:
        """An execution by its whole id; nothing is asked yet."""
        return Execution(self._client.execution(execution_id), self._thread)

    def executions(
        self,
        *,
        path: str | None = None,
        status: str | None = None,
        parent: str | None = None,
        children: bool = True,
        limit: int = 50,
    ) -> list[ExecutionItem]:
        """Executions that match, the newest first."""
        work = self._client.executions(
            path=path, status=status, parent=parent, children=children, limit=limit
        )
        return self._thread.run(work)

    def fetch(self, reference: Json) -> Json:
        """The payload that a reference of an output stands for."""
        return self._thread.run(self._client.fetch(reference))

    def register(self, playbook: str | Path) -> PlaybookText:
        """Check and keep a playbook, from its file or its text; raises PlaybookError with every finding."""
        return self._thread.run(self._client.register(playbook))

    def playbooks(self) -> Sequence[PlaybookText]:
        """The newest version of every path."""
        return self._thread.run(self._client.playbooks())

    def playbook(self, path: str, version: int | None = None) -> PlaybookText:
        """A playbook with its text."""
        return self._thread.run(self._client.playbook(path, version))

    def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version of it, off the catalog; how many versions."""
        return self._thread.run(self._client.delete_playbook(path, version))

    def workers(self) -> Sequence[Worker]:
        """Workers that were heard of."""
        return self._thread.run(self._client.workers())

    def schedules(self) -> Sequence[Schedule]:
        return self._thread.run(self._client.schedules())

    def put_schedule(self, schedule: ScheduleAsk) -> Schedule:
        """Keep a schedule, in the place of one that has the name."""
        return self._thread.run(self._client.put_schedule(schedule))

    def run_schedule(self, name: str) -> Execution:
        """Start at once what a schedule starts."""
        return Execution(self._thread.run(self._client.run_schedule(name)), self._thread)

    def put_credential(self, name: str, material: JsonObject) -> None:
        """Keep a credential, sealed; its values never come back."""
        self._thread.run(self._client.put_credential(name, material))

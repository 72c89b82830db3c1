"""What the orders of one worker share: the tools, the resources they keep open, secrets and payloads.

The one place where an unexpected exception of a tool becomes an output.
"""

import asyncio
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from noetl.core.event import iso
from noetl.core.message import WorkOrder
from noetl.core.pipeline.effects import LAST_LINES, LOGS, RunTool
from noetl.core.pipeline.frame import Frame
from noetl.core.program.program import Program
from noetl.core.shapes import Output, Reference
from noetl.core.values.output import failed, problem, size_of
from noetl.core.values.redact import Redactor
from noetl.errors import NoetlError
from noetl.json_value import Json, JsonObject
from noetl.ports.call import Call, CallOutput, CallPayloads, Resources, Secret
from noetl.ports.control import Secrets, material_digest
from noetl.ports.envelope import Failed
from noetl.ports.network import PUBLIC_ONLY, Network
from noetl.ports.tool import Tool, invoke
from noetl.worker.recorded_output import RecordedOutput
from noetl.worker.redacting_results import RedactedPayloads
from noetl.worker.task_output import LineSender

REDACTORS_KEPT = 1000
MENTIONS_KEPT = 256
PAYLOADS_KEPT = 32 * 1024 * 1024  # bytes of payloads that orders after one another read


def no_trace(effect: RunTool, order: WorkOrder) -> str | None:
    """Calls belong to no trace."""
    return None


@dataclass(slots=True)
class Toolbox:
    """Calls tools on behalf of pipelines."""

    worker_id: str
    tool: Callable[[str], Tool]
    payloads: Callable[[str], CallPayloads]  # the result store, bound to an execution
    secrets: Secrets
    resources: Resources
    work_dir: str  # where relative paths start
    roots: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)  # what the programs that tools start see
    network: Network = PUBLIC_ONLY  # the addresses that requests of playbooks may reach
    trace: Callable[[RunTool, WorkOrder], str | None] = no_trace  # the traceparent of a call
    lines: LineSender | None = None  # where what tasks print goes; without it, into their events
    _payloads: OrderedDict[str, tuple[Json, int]] = field(default_factory=OrderedDict)
    _redactors: dict[str, Redactor] = field(default_factory=dict)
    _mentioned: dict[tuple[int, str], tuple[Program, bool]] = field(default_factory=dict)

    async def close(self) -> None:
        """Let go of what is kept open; lines that are on their way go first."""
        await self.resources.close()
        if self.lines is not None:
            await self.lines.close()

    async def call(self, effect: RunTool, frame: Frame, order: WorkOrder) -> Output:
        """One tool call: exactly one output envelope, whatever happens."""
        began, started = time.perf_counter(), frame.around.now()
        printed = self.lines.output(order, frame, effect) if self.lines is not None else None
        task_output = printed or RecordedOutput()
        seconds = effect.spec.get("timeout")
        try:
            if not isinstance(seconds, int | float) or isinstance(seconds, bool):
                output = await self._guarded(effect, frame, order, task_output)
            else:
                output = await self._bounded(effect, frame, order, task_output, seconds)
        finally:
            task_output.end()
        data = output.get("data")
        meta: JsonObject = {
            "attempt": effect.attempt,
            "duration_ms": round((time.perf_counter() - began) * 1000, 3),
            "ts": iso(started),
            "bytes": 0 if data is None else size_of(data),
            "idempotency_key": effect.key,
            "trace_id": order.execution_id,
        }
        output["meta"] = {**meta, **own} if (own := output.get("meta")) else meta
        if output.get("error") is None:
            output.pop("error", None)
        if task_output.last:
            output[LOGS if printed is None else LAST_LINES] = task_output.last
        return output

    async def _bounded(
        self, effect: RunTool, frame: Frame, order: WorkOrder, printed: CallOutput, seconds: float
    ) -> Output:
        """The call within the task's own timeout."""
        try:
            async with asyncio.timeout(seconds):
                return await self._guarded(effect, frame, order, printed)
        except TimeoutError:
            return failed(
                problem("timeout", f"task {effect.label!r} took longer than {seconds} s", retryable=True)
            )

    async def _guarded(self, effect: RunTool, frame: Frame, order: WorkOrder, printed: CallOutput) -> Output:
        try:
            tool = self.tool(effect.task.kind)
            call = await self._call(effect, frame, order, printed)
            return await invoke(tool, effect.input, call)
        except Failed as failure:
            return failure.output
        except NoetlError as error:
            hint = f"; {error.hint}" if error.hint else ""
            retryable = bool(getattr(error, "retryable", False))
            return failed(
                problem(error.code.replace("-", "_"), f"{error.message}{hint}", retryable=retryable)
            )
        except TimeoutError as error:  # the tool's own: the task's timeout cancels it and is told outside
            message = f"{effect.task.kind}: {str(error) or 'what it waited for did not come in time'}"
            return failed(problem("timeout", message, retryable=True))
        except asyncio.CancelledError:
            if _is_asked_to_stop():
                raise
            message = f"{effect.task.kind}: something that it waited for was cancelled, and not by noetl"
            return failed(problem("internal", message, traceback=traceback.format_exc(limit=-3)))
        except Exception as error:
            message = f"{effect.task.kind}: {type(error).__name__}: {error}"
            where = traceback.format_exc(limit=-3)
            return failed(problem("internal", message, traceback=where))

    async def _call(self, effect: RunTool, frame: Frame, order: WorkOrder, printed: CallOutput) -> Call:
        auth_name = _auth_name(effect.auth)
        material: Secret | None = effect.auth if isinstance(effect.auth, dict) else None
        redactor = frame.around.redactor
        if auth_name is not None:
            material = await self.secret(order, auth_name, redactor)

        async def secret(name: str) -> Secret:
            return await self.secret(order, name, redactor)

        async def renew_auth() -> Secret | None:
            if auth_name is None or material is None:
                return None
            newer = await self.secret(order, auth_name, redactor, material_digest(material))
            return None if newer == material else newer

        return Call(
            payloads=RedactedPayloads(self.payloads(order.execution_id), redactor),
            resources=self.resources,
            execution_id=order.execution_id,
            step=order.step,
            task=effect.label,
            attempt=effect.attempt,
            idempotency_key=effect.key,
            prev=effect.prev,
            spec=effect.spec,
            auth_name=auth_name,
            auth=material,
            secret=secret,
            renew_auth=renew_auth,
            work_dir=self.work_dir,
            roots=self.roots,
            env=self.env,
            mentions=lambda text: self._mentions(frame.around.program, text),
            output=printed,
            network=self.network,
            trace=self.trace(effect, order),
        )

    def _mentions(self, program: Program, text: str) -> bool:
        """Whether a playbook has a text somewhere; asked once per program, fragments and all."""
        key = (id(program), text)
        if key not in self._mentioned:
            if len(self._mentioned) >= MENTIONS_KEPT:
                del self._mentioned[next(iter(self._mentioned))]
            # With the program itself, so that its number is not given to another one.
            self._mentioned[key] = (program, text in repr(program.playbook))
        return self._mentioned[key][1]

    async def secret(
        self, order: WorkOrder, name: str, redactor: Redactor, refused: str | None = None
    ) -> Secret:
        """A keychain entry or credential, remembered for redaction before anything can use it."""
        name = name.removeprefix("keychain/")
        material = await self.secrets.resolve(order.execution_id, name, refused)
        redactor.learn(material)
        return material

    def redactor(self, execution_id: str) -> Redactor:
        """What takes out the secrets of an execution, whichever of its tasks was given them."""
        redactor = self._redactors.pop(execution_id, None)
        if redactor is None:
            redactor = Redactor()
            if len(self._redactors) >= REDACTORS_KEPT:  # the one that had no order for the longest time goes
                del self._redactors[next(iter(self._redactors))]
        self._redactors[execution_id] = redactor
        return redactor

    async def payload(self, ref: Reference, most: int | None = None) -> Json:
        """The payload of a reference; those of at most so many bytes serve other orders for a while."""
        key = str(ref["locator"].get("key"))
        if key in self._payloads:
            self._payloads.move_to_end(key)
            return self._payloads[key][0]
        value = await self.payloads("").get(dict(ref), most)
        if most is not None:
            self._payloads[key] = (value, int(ref["meta"].get("bytes", 0)))
            while sum(size for _, size in self._payloads.values()) > PAYLOADS_KEPT:
                self._payloads.popitem(last=False)
        return value


def _auth_name(auth: object) -> str | None:
    """The secret that `auth` names: by its name, or by the handle that kind `secrets` answers with."""
    if isinstance(auth, dict) and auth.keys() == {"name", "fields"}:
        return str(auth["name"])
    return auth if isinstance(auth, str) else None


def _is_asked_to_stop() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0

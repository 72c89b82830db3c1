"""Events become spans: each is sent when it has ended, under ids that follow from what it is.

Names, ids, durations and kinds of errors go out; values that a playbook handles do not.
"""

import msgspec
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from noetl.core.event import TERMINAL, Event, step_of, task_run_id
from noetl.ports.trace import span_id

MS = 1_000_000  # in nanoseconds
SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class _Ids(IdGenerator):
    """Gives out the ids that were set."""

    trace = 0
    span = 0

    def generate_trace_id(self) -> int:
        """The trace that is being written."""
        return self.trace

    def generate_span_id(self) -> int:
        """The span that is being written."""
        return self.span


class _Seen(msgspec.Struct):
    """What of an execution has begun and not ended."""

    began: int
    path: str = ""
    parent: str | None = None
    runs: dict[str, int] = {}
    tasks: dict[str, int] = {}


def collector(url: str) -> SpanExporter:
    """Sends spans to a collector that speaks OTLP over HTTP."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=url.rstrip("/") + "/v1/traces")


class Spans:
    """Listens to an engine."""

    def __init__(self, exporter: SpanExporter, version: str) -> None:
        self._ids = _Ids()
        resource = Resource.create({"service.name": "noetl", "service.version": version})
        self._provider = TracerProvider(resource=resource, id_generator=self._ids)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("noetl", version)
        self._seen: dict[str, _Seen] = {}

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()

    def heard(self, execution_id: str, first: int, events: list[Event]) -> None:
        """Note what begins, send what ends."""
        seen = self._seen.get(execution_id)
        if seen is None and events:
            seen = self._seen[execution_id] = _Seen(events[0].ts)
        for event in events:
            assert seen is not None
            self._one(execution_id, seen, event)
        if events and events[-1].name == "playbook.processed":
            self._seen.pop(execution_id, None)

    def _one(self, execution_id: str, seen: _Seen, event: Event) -> None:
        data = event.data or {}
        if event.name == "playbook.execution.requested":
            seen.path = str(data.get("path", ""))
            seen.parent = (data.get("parent") or {}).get("execution_id")
        elif event.name in ("step.scheduled", "step.started") and event.run:
            seen.runs.setdefault(event.run, event.ts)
        elif event.name == "task.started":
            seen.tasks[task_run_id(event) or ""] = event.ts
        elif event.name == "task.done":
            self._task(execution_id, seen, event)
        elif event.name in TERMINAL and event.run in seen.runs:
            self._step(execution_id, seen, event)
        elif event.name == "playbook.processed":
            self._execution(execution_id, seen, event)

    def _task(self, execution_id: str, seen: _Seen, event: Event) -> None:
        output = (event.data or {}).get("output") or {}
        meta = output.get("meta") or {}
        place = task_run_id(event) or ""
        began = seen.tasks.pop(place, event.ts)
        attempt = event.attempt or 1
        key = meta.get("idempotency_key")
        self._send(
            f"task {event.label}",
            (execution_id, span_id(key, attempt) if key else span_id(execution_id, place, attempt)),
            span_id(execution_id, event.run or ""),
            (began, event.ts),
            {
                "noetl.step": step_of(event.run or ""),
                "noetl.task": event.label or "",
                "noetl.task_run_id": place,
                "noetl.attempt": attempt,
            },
            output.get("error"),
        )

    def _step(self, execution_id: str, seen: _Seen, event: Event) -> None:
        run = event.run or ""
        began = seen.runs.pop(run)
        error = (event.data or {}).get("error") if event.name == "step.failed" else None
        self._send(
            f"step {step_of(run)}",
            (execution_id, span_id(execution_id, run)),
            span_id(execution_id),
            (began, event.ts),
            {"noetl.step": step_of(run), "noetl.step_run_id": run},
            error,
        )

    def _execution(self, execution_id: str, seen: _Seen, event: Event) -> None:
        data = event.data or {}
        status = str(data.get("status", ""))
        failed = {"kind": status} if status not in ("completed", "success", "ok") else None
        self._send(
            f"execution {seen.path}",
            (execution_id, span_id(execution_id)),
            None,
            (seen.began, event.ts),
            {"noetl.execution_id": execution_id, "noetl.path": seen.path, "noetl.status": status},
            data.get("error") or failed,
            links=[Link(_context(seen.parent, span_id(seen.parent)))] if seen.parent else [],
        )

    def _send(
        self,
        name: str,
        own: tuple[str, str],
        parent: str | None,
        times: tuple[int, int],
        attributes: dict[str, str | int],
        error: object,
        *,
        links: list[Link] | None = None,
    ) -> None:
        """A whole span: it began and ended at times that are past."""
        trace, span = own
        self._ids.trace, self._ids.span = int(trace, 16), int(span, 16)
        around = Context()
        if parent is not None:
            around = set_span_in_context(NonRecordingSpan(_context(trace, parent)), around)
        otel_span = self._tracer.start_span(
            name, around, attributes=attributes, links=links or [], start_time=times[0] * MS
        )
        if isinstance(error, dict):
            otel_span.set_attribute("error.type", str(error.get("kind", "error")))
            otel_span.set_status(Status(StatusCode.ERROR))
        otel_span.end(max(times) * MS)


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=True, trace_flags=SAMPLED)

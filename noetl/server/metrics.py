"""What is counted, in the words of Prometheus: a few additions for each event, the rest when it is asked."""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.utils import floatToGoString

from noetl.core.event import Event
from noetl.ports.front import Front
from noetl.server.options import Options

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
COUNTED = {"task.done", "step.done", "loop.done", "step.failed"} | {
    "playbook.execution.requested",
    "playbook.processed",
}
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Times:
    """A histogram of one thread: an observation is an addition."""

    def __init__(self, name: str, words: str) -> None:
        self._name, self._words, self._since = name, words, time.time()
        self._counts, self._sum = [0] * (len(SECONDS) + 1), 0.0

    def observe(self, seconds: float) -> None:
        """Count one that took so long."""
        self._counts[bisect_left(SECONDS, seconds)] += 1
        self._sum += seconds

    def collect(self) -> Iterator[Metric]:
        limits = [*map(floatToGoString, SECONDS), "+Inf"]
        buckets = list(zip(limits, map(float, accumulate(self._counts)), strict=True))
        family = HistogramMetricFamily(self._name, self._words, buckets, self._sum)
        family.add_sample(f"{self._name}_created", {}, self._since)
        yield family


class EventTally:
    """Counts what executions of this process do, from their events."""

    def __init__(self, left: Callable[[], int] = int) -> None:
        self.started, self._left = 0, left
        self.events = 0
        self.finished: dict[str, int] = {}
        self.steps: dict[str, int] = {}
        self.tasks: dict[str, int] = {}
        self.failed_iterations = 0
        self.commits = _Times("noetl_commit_seconds", "From a decision to its commit.")

    def count(self, execution_id: str, first: int, events: list[Event]) -> None:
        """Count committed events."""
        self.events += len(events)
        decided = None
        for event in events:
            if decided is None and event.by == "s":
                decided = event.ts
            if event.name in COUNTED:
                self._count(event)
        if decided is not None:
            self.commits.observe(max(0.0, time.time() - decided / 1000))

    def _count(self, event: Event) -> None:
        match event.name:
            case "task.done":
                _add(self.tasks, _output_status(event))
            case "step.done" | "loop.done":
                _add(self.steps, "done")
                self.failed_iterations += (event.data or {}).get("failed_iterations", 0)
            case "step.failed":
                _add(self.steps, "failed")
            case "playbook.execution.requested":
                self.started += 1
            case _:  # playbook.processed
                _add(self.finished, str((event.data or {}).get("status", "unknown")))

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily("noetl_executions_started", "Executions asked for.", value=self.started)
        yield from self.commits.collect()
        yield CounterMetricFamily("noetl_events", "Events committed.", value=self.events)
        yield _by("noetl_executions_finished", "Executions that are over.", self.finished)
        yield _by("noetl_steps", "Step runs that are over.", self.steps)
        yield CounterMetricFamily(
            "noetl_failed_iterations",
            "Failed iterations of best-effort loops, which went on without them.",
            value=self.failed_iterations,
        )
        yield GaugeMetricFamily(
            "noetl_executions_left",
            "Executions that this server leaves to those of a newer release.",
            value=self._left(),
        )
        yield _by("noetl_tasks", "Task runs that are over, every attempt counted.", self.tasks)


def _output_status(event: Event) -> str:
    return "error" if ((event.data or {}).get("output") or {}).get("status") == "error" else "ok"


def _add(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1


def _by(name: str, words: str, counts: dict[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, words, labels=["status"])
    for status, count in sorted(counts.items()):
        family.add_metric([status], count)
    return family


class _Others:
    """What the process around the server counts."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def collect(self) -> Iterable[Metric]:
        """Every metric that is told."""
        return self._options.collect()

    def describe(self) -> Iterable[Metric]:
        """Nothing is asked before it is wanted."""
        return ()


class Meter:
    """The metrics of one server."""

    def __init__(self, options: Options) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "noetl_http_requests", "Requests answered.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "noetl_http_request_seconds",
            "Seconds until an answer began.",
            ["route"],
            buckets=SECONDS,
            registry=registry,
        )
        self._overdue = Gauge(
            "noetl_oldest_due_seconds", "How long the oldest due work has been waiting.", registry=registry
        )
        self._stuck = Gauge("noetl_executions_stuck", "Executions that are stuck.", registry=registry)
        self._up = Gauge("noetl_store_up", "Whether the store answers.", registry=registry)
        self._workers = Gauge("noetl_workers", "Workers heard of lately.", ["pool"], registry=registry)
        self._slots = Gauge("noetl_worker_slots", "Pipelines workers can run.", ["pool"], registry=registry)
        self._leases = Gauge("noetl_leases_in_flight", "Leases workers hold.", ["pool"], registry=registry)
        others: Any = _Others(options)
        registry.register(others)

    def count_answer(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    async def text(self, front: Front) -> bytes:
        """Everything, as Prometheus reads it."""
        from noetl.errors import BackendError

        try:
            self._overdue.set(await front.overdue_ms() / 1000)
            self._stuck.set(await front.stuck())
            await self._count_workers(front)
            self._up.set(1)
        except BackendError:
            self._up.set(0)
        return generate_latest(self._registry)

    async def _count_workers(self, front: Front) -> None:
        for gauge in (self._workers, self._slots, self._leases):
            gauge.clear()
        for worker in await front.workers():
            self._workers.labels(worker.pool).inc()
            self._slots.labels(worker.pool).inc(worker.concurrency)
            self._leases.labels(worker.pool).inc(worker.running)

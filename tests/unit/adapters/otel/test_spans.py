"""An execution as a trace: execution, step runs, tasks, under ids that workers derive alike."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.otel.spans import Spans, collector
from noetl.core.event import Event
from noetl.ports.trace import span_id, traceparent
from noetl.settings import load
from noetl.wiring.plane import make_toolbox
from tests.unit.server.serving import HELLO, engine

LOOP = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: loop, path: tests/loop}
workflow:
  - step: each
    loop: {in: [1, 2, 3], iterator: n}
    tool: {kind: noop}
"""


async def traced(folder: Path, text: str) -> tuple[str, list[Any]]:
    """The spans of one execution."""
    kept = InMemorySpanExporter()
    spans = Spans(kept, "1")
    async with engine(folder) as made:
        made.engine.listeners.append(spans.heard)
        from noetl.ports.front import Ask

        started = await made.front.start(Ask(text=text))
        async for _ in made.front.follow(started.execution_id):
            pass
    spans.close()
    assert not spans._seen
    return started.execution_id, list(kept.get_finished_spans())


async def test_tasks_lie_in_steps_and_steps_in_the_execution(tmp_path: Path) -> None:
    execution_id, spans = await traced(tmp_path, HELLO)
    by_name = {span.name: span for span in spans}
    assert set(by_name) == {
        "execution tests/hello",
        "step greet",
        next(n for n in by_name if n.startswith("task ")),
    }
    root, step = by_name["execution tests/hello"], by_name["step greet"]
    task = next(span for span in spans if span.name.startswith("task "))
    assert {f"{span.context.trace_id:032x}" for span in spans} == {execution_id}
    assert root.parent is None
    assert step.parent.span_id == root.context.span_id
    assert task.parent.span_id == step.context.span_id
    assert root.start_time <= step.start_time <= task.start_time <= task.end_time <= step.end_time
    assert root.attributes["noetl.status"] == "completed"
    assert all(span.status.status_code is StatusCode.UNSET for span in spans)


async def test_what_failed_says_how_and_no_value_goes_out(tmp_path: Path) -> None:
    text = HELLO.replace("result = f'hello {name}'", "raise ValueError('s3cr3t-canary')")
    _, spans = await traced(tmp_path, text)
    assert {span.status.status_code for span in spans} == {StatusCode.ERROR}
    assert all("error.type" in span.attributes for span in spans)
    assert "canary" not in "".join(span.to_json() for span in spans)


async def test_every_task_of_a_loop_is_a_span_of_its_own(tmp_path: Path) -> None:
    _, spans = await traced(tmp_path, LOOP)
    tasks = [span for span in spans if span.name.startswith("task ")]
    assert len({span.context.span_id for span in tasks}) == 3
    assert len(spans) == 5


def test_the_header_of_a_call_names_the_span_of_its_task() -> None:
    execution_id = "a" * 32
    kept = InMemorySpanExporter()
    spans = Spans(kept, "1")
    output = {"status": "ok", "meta": {"idempotency_key": "k1"}}
    spans.heard(
        execution_id,
        1,
        [Event("task.done", 1000, "w", "s.1", "", "t", 1, 2, {"output": output})],
    )
    spans.close()
    (span,) = kept.get_finished_spans()
    header = traceparent(execution_id, "k1", 2)
    assert header == f"00-{execution_id}-{span.context.span_id:016x}-01"
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == span_id(execution_id, "s.1")


def test_a_child_is_linked_to_its_parent() -> None:
    kept = InMemorySpanExporter()
    spans = Spans(kept, "1")
    parent = {"execution_id": "b" * 32}
    spans.heard(
        "a" * 32, 1, [Event("playbook.execution.requested", 1000, data={"path": "p", "parent": parent})]
    )
    spans.heard("a" * 32, 2, [Event("playbook.processed", 2000, data={"status": "completed"})])
    spans.close()
    (span,) = kept.get_finished_spans()
    assert f"{span.links[0].context.trace_id:032x}" == "b" * 32


@pytest.mark.parametrize("url", ["http://127.0.0.1:4318", "http://127.0.0.1:4318/"])
def test_a_collector_is_spoken_to_over_http(url: str) -> None:
    exporter: Any = collector(url)
    assert exporter._endpoint == "http://127.0.0.1:4318/v1/traces"


def test_calls_of_a_traced_worker_carry_the_header(tmp_path: Path) -> None:
    flags = {"store": "memory://", "home": str(tmp_path), "otlp": "http://127.0.0.1:1"}
    results = MemoryResults(now_ms)
    secrets: Any = None
    box = make_toolbox(load(flags, environ={}, folder=tmp_path), results, secrets, "w")
    effect: Any = SimpleNamespace(key="k1", attempt=2)
    order: Any = SimpleNamespace(execution_id="a" * 32)
    assert box.trace(effect, order) == traceparent("a" * 32, "k1", 2)
    del flags["otlp"]
    plain = make_toolbox(load(flags, environ={}, folder=tmp_path), results, secrets, "w")
    assert plain.trace(effect, order) is None

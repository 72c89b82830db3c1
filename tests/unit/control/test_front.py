"""The product in one process, and in two that share a store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.eager_task import eager_task
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.control.sweep import sweep
from noetl.core.event import Event
from noetl.core.message import Control, Payload
from noetl.core.values.output import externalise, manifest
from noetl.errors import Conflict, NotFound, PlaybookError, RequestError
from noetl.ports.front import Ask, FindLines, Started, execution_row
from noetl.ports.store import Find
from noetl.settings import load
from noetl.wiring.embedded import Embedded, assemble
from tests.engine.harness import playbook

ADD = playbook(
    """
    - step: add
      tool: {kind: python, code: "print('adding'); result = {'sum': n + 1}", input: {n: "{{ workload.n }}"}}
      set: {ctx.sum: "{{ output.data.sum }}"}
    """,
    workload="workload: {n: 1}",
)
WAITS = playbook(
    """
    - step: before
      tool: {kind: noop}
      next: {arcs: [{step: ask}]}
    - step: ask
      tool: {kind: wait, signal: go}
    """
)
LONG = 30.0


@asynccontextmanager
async def process(folder: Path, store: MemoryStore, results: MemoryResults) -> AsyncIterator[Embedded]:
    """A process with its clockwork over a store that others may share."""
    settings = load({"store": str(folder / "unused.db"), "home": str(folder)}, environ={}, folder=folder)
    made = assemble(settings, store, results, adopts=True)
    clockwork = asyncio.create_task(sweep(made.engine))
    try:
        yield made
    finally:
        clockwork.cancel()
        await asyncio.gather(clockwork, return_exceptions=True)
        await made.close()


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[Embedded, Embedded]]:
    store, results = MemoryStore(now_ms), MemoryResults(now_ms)
    async with process(tmp_path, store, results) as one, process(tmp_path, store, results) as other:
        yield one, other


@pytest.fixture
def one(pair: tuple[Embedded, Embedded]) -> Embedded:
    return pair[0]


async def ended(made: Embedded, started: Started) -> dict[str, Any]:
    """Follow an execution to its end, then show it."""
    async with asyncio.timeout(LONG):
        async for _ in made.front.follow(started.execution_id):
            pass
    return {**await made.front.execution(started.execution_id)}


async def heard(made: Embedded, execution_id: str, first: int = 1) -> list[tuple[int, Event]]:
    """Every event of an execution with its number, as a follower hears them."""
    found: list[tuple[int, Event]] = []
    async with asyncio.timeout(LONG):
        async for start, events in made.front.follow(execution_id, first):
            found += list(enumerate(events, start))
    return found


async def until(made: Embedded, execution_id: str, name: str) -> int:
    """Follow an execution until an event; its number."""
    async with asyncio.timeout(LONG), aclosing(made.front.follow(execution_id)) as log:
        async for start, events in log:
            for seq, event in enumerate(events, start):
                if event.name == name:
                    return seq
    raise AssertionError(f"no {name}")


async def test_an_execution_is_started_followed_and_shown(one: Embedded) -> None:
    started = await one.front.start(Ask(text=ADD, workload={"n": 4}, by="test"))
    assert (started.path, started.existed) == ("tests/case", False)
    shown = await ended(one, started)
    assert (shown["status"], shown["ctx"], shown["by"]) == ("completed", {"sum": 5}, "test")
    assert shown["workload"] == {"n": 4}
    assert shown["ended_at"] >= shown["started_at"] >= shown["requested_at"]
    page = await one.front.executions(Find(path="tests/case"))
    assert [item.execution_id for item in page.items] == [started.execution_id]


async def test_a_registered_path_runs_and_an_unknown_one_names_the_nearest(one: Embedded) -> None:
    entry = await one.front.register(ADD)
    started = await one.front.start(Ask(path="tests/case"))
    assert (await ended(one, started))["ctx"] == {"sum": 2}
    assert (await one.front.playbook_of(started.execution_id)).text == entry.text
    with pytest.raises(NotFound) as raised:
        await one.front.start(Ask(path="tests/cas"))
    assert raised.value.hint == "did you mean 'tests/case'?"
    with pytest.raises(NotFound, match="has no version 7"):
        await one.front.playbook("tests/case", 7)


async def test_a_path_runs_its_newest_version_whoever_registered_it(pair: tuple[Embedded, Embedded]) -> None:
    one, other = pair
    await one.front.register(ADD)
    for register in (None, ADD.replace("+ 1", "+ 2"), ADD.replace("+ 1", "+ 3")):
        if register is not None:
            await other.front.register(register)
        for _ in range(2):
            shown = await ended(one, await one.front.start(Ask(path="tests/case")))
            newest = (await other.front.playbook("tests/case")).version
            assert (shown["playbook"]["version"], shown["ctx"]["sum"]) == (newest, 1 + newest)
    await other.front.delete_playbook("tests/case")
    with pytest.raises(NotFound):
        await one.front.start(Ask(path="tests/case"))


async def test_how_it_stands_can_be_waited_for(pair: tuple[Embedded, Embedded]) -> None:
    one, other = pair
    started = await one.front.start(Ask(text=ADD))
    for made in (other, one):  # where it does not run, and where it does or did
        assert (await made.front.execution(started.execution_id, wait_s=LONG))["status"] == "completed"
    waits = await one.front.start(Ask(text=WAITS))
    for made in pair:
        assert (await made.front.execution(waits.execution_id, wait_s=0.01))["status"] in (
            "running",
            "waiting",
        )


async def test_an_end_that_was_waited_for_here_is_not_read_again_from_the_store(
    one: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = await one.front.start(Ask(text=WAITS))
    await until(one, started.execution_id, "task.parked")
    waits = one.front.execution(started.execution_id, wait_s=LONG)
    waiting = eager_task(waits, asyncio.get_running_loop())
    asked: list[str] = []
    monkeypatch.setattr(one.store, "summary", asked.append)
    await one.engine.send(started.execution_id, Control("cancel"))
    shown = await waiting
    monkeypatch.undo()
    assert asked == []
    assert shown == await one.front.execution(started.execution_id)


async def test_a_pause_ends_the_waiting_also_where_it_does_not_run(pair: tuple[Embedded, Embedded]) -> None:
    one, other = pair
    started = await one.front.start(Ask(text=WAITS))
    await until(one, started.execution_id, "task.parked")
    waiting = asyncio.create_task(other.front.execution(started.execution_id, wait_s=LONG))
    await one.front.control(started.execution_id, Control("pause"))
    assert (await waiting)["status"] == "paused"
    assert (await other.front.execution(started.execution_id, wait_s=LONG))["status"] == "paused"


async def test_a_list_shows_what_one_that_runs_here_has_done_so_far(one: Embedded) -> None:
    started = await one.front.start(Ask(text=WAITS))
    await until(one, started.execution_id, "task.parked")
    (item,) = (await one.front.executions(Find())).items
    shown = await one.front.execution(started.execution_id)
    assert execution_row(item, 0)["counts"] == shown["counts"]
    assert shown["counts"]["steps"] > 0
    assert (
        await one.engine.store.summary(started.execution_id)
    ).result is None  # the store's own is left alone


async def test_a_key_starts_one_execution_and_refuses_another_request(
    pair: tuple[Embedded, Embedded],
) -> None:
    asked = Ask(text=ADD, idempotency_key="k")
    first = await pair[0].front.start(asked)
    again = await pair[1].front.start(asked)
    assert (again.execution_id, again.existed) == (first.execution_id, True)
    with pytest.raises(Conflict, match="another playbook or other input"):
        await pair[1].front.start(Ask(text=ADD, workload={"n": 2}, idempotency_key="k"))


async def test_what_cannot_run_is_refused_before_it_begins(one: Embedded) -> None:
    with pytest.raises(PlaybookError):
        await one.front.start(Ask(text="kind: Playbook"))
    with pytest.raises(RequestError, match="no step 'gone'"):
        await one.front.start(Ask(text=ADD, until="gone"))
    with pytest.raises(RequestError, match="name one of"):
        await one.front.start(Ask())
    assert (await one.front.executions(Find())).items == []


async def test_followers_hear_each_event_once_and_in_order_wherever_it_runs(
    pair: tuple[Embedded, Embedded],
) -> None:
    one, other = pair
    started = await one.front.start(Ask(text=WAITS))
    execution_id = started.execution_id
    await until(one, execution_id, "task.parked")
    followers = [
        asyncio.create_task(heard(made, execution_id, first)) for made in pair for first in (1, 1, 4)
    ]
    await until(other, execution_id, "task.parked")
    await other.front.control(execution_id, Control("signal", name="go"))
    logs = await asyncio.gather(*followers)
    whole = [(event["seq"], event["name"]) for event in await one.front.events(execution_id)]
    assert whole[-1][1] == "playbook.processed"
    for first, log in zip((1, 1, 4) * 2, logs, strict=True):
        assert [(seq, event.name) for seq, event in log] == whole[first - 1 :]


async def test_one_reader_serves_all_followers_of_an_execution_that_runs_elsewhere(
    pair: tuple[Embedded, Embedded],
) -> None:
    one, other = pair
    execution_id = (await one.front.start(Ask(text=WAITS))).execution_id
    await until(one, execution_id, "task.parked")
    topics = other.front._followers._topics
    followers = [asyncio.create_task(heard(other, execution_id)) for _ in range(20)]
    await until(other, execution_id, "task.parked")
    assert len(topics) == 1
    assert topics[execution_id].followers == 20
    await one.front.control(execution_id, Control("cancel"))
    assert len({len(log) for log in await asyncio.gather(*followers)}) == 1
    assert not topics


async def test_a_follower_of_what_is_over_gets_its_log_and_ends(one: Embedded) -> None:
    started = await one.front.start(Ask(text=ADD))
    shown = await ended(one, started)
    count = shown["counts"]["events"]
    assert [seq for seq, _ in await heard(one, started.execution_id, 3)] == list(range(3, count + 1))
    assert await heard(one, started.execution_id, count + 1) == []
    with pytest.raises(NotFound):
        await heard(one, "0" * 32)


async def test_a_wish_reaches_an_execution_that_another_process_runs(
    pair: tuple[Embedded, Embedded],
) -> None:
    one, other = pair
    execution_id = (await one.front.start(Ask(text=WAITS))).execution_id
    await other.front.control(execution_id, Control("pause", why="lunch"))
    with pytest.raises(Conflict, match="already paused"):
        await other.front.control(execution_id, Control("pause"))
    await other.front.control(execution_id, Control("resume"))
    with pytest.raises(Conflict, match="not paused"):
        await one.front.control(execution_id, Control("resume"))
    await other.front.control(execution_id, Control("cancel"))
    with pytest.raises(Conflict, match="already cancelled"):
        await other.front.control(execution_id, Control("signal", name="go"))


async def test_an_execution_that_nobody_runs_is_taken_up_by_who_is_told(tmp_path: Path) -> None:
    store, results = MemoryStore(now_ms), MemoryResults(now_ms)
    async with process(tmp_path, store, results) as gone:
        execution_id = (await gone.front.start(Ask(text=WAITS))).execution_id
        await until(gone, execution_id, "task.parked")
    async with process(tmp_path, store, results) as one:
        await one.front.control(execution_id, Control("signal", name="go"))
        log = await heard(one, execution_id)
    assert log[-1][1].name == "playbook.processed"


async def test_the_state_at_an_event_says_what_waits_for_what(one: Embedded) -> None:
    execution_id = (await one.front.start(Ask(text=WAITS))).execution_id
    parked = await until(one, execution_id, "task.parked")
    state = await one.front.state(execution_id)
    assert state["status"] == "waiting"
    assert (await one.store.summary(execution_id)).status == "waiting"
    (run,) = state["runs"]
    assert (run["step"], run["status"]) == ("ask", "waiting")
    assert run["waiting"][0]["for"] == {"signal": "go"}
    assert state["steps"]["before"] == {"runs": 1, "status": "done"}
    early = await one.front.state(execution_id, at=2)
    assert (early["seq"], early["runs"]) == (2, [])
    assert early["last_seq"] >= parked
    with pytest.raises(NotFound, match="events, not 999"):
        await one.front.state(execution_id, at=999)


async def test_a_loop_shows_how_many_are_done_running_and_queued(one: Embedded) -> None:
    text = playbook(
        """
        - step: each
          loop: {in: "{{ range(5) | list }}", iterator: n, spec: {mode: sequential}}
          tool:
            - gate: {kind: wait, signal: "go", spec: {policy: {before: [{when: "{{ iter.n < 2 }}", then: {do: skip}}, {else: {then: {do: continue}}}]}}}
        """
    )
    execution_id = (await one.front.start(Ask(text=text))).execution_id
    await until(one, execution_id, "task.parked")
    (run,) = (await one.front.state(execution_id))["runs"]
    assert {key: run["loop"][key] for key in ("total", "done", "failed")} == {
        "total": 5,
        "done": 2,
        "failed": 0,
    }
    assert run["loop"]["running"] + run["loop"]["queued"] == 3


async def test_readings_of_a_log(one: Embedded) -> None:
    started = await one.front.start(Ask(text=ADD))
    execution_id = started.execution_id
    await ended(one, started)
    page = await one.front.logs(execution_id, FindLines(step="add"))
    (line,) = page["items"]
    assert (line["step"], line["text"], line["iteration"]) == ("add", "adding", None)
    assert not (await one.front.logs(execution_id, FindLines(step="other")))["items"]
    assert not (await one.front.logs(execution_id, after=page["next"]))["items"]
    why = await one.front.why(execution_id, "add")
    assert why["status"] == "completed"
    assert why["reasons"]
    with pytest.raises(NotFound) as raised:
        await one.front.why(execution_id, "ad")
    assert raised.value.hint == "did you mean 'add'?"
    assert await one.front.evaluate(execution_id, "ctx.sum + workload.n") == 3
    with pytest.raises(RequestError, match="nothing"):
        await one.front.evaluate(execution_id, "{{ ctx.nothing.at }}")
    with pytest.raises(RequestError) as refused:
        await one.front.evaluate(execution_id, "{{ ctx.sum }")
    assert refused.value.message == "the template '{{ ctx.sum }' does not parse: unexpected '}'"
    assert "these names" not in (refused.value.hint or "")
    names = [event["name"] for event in await one.front.events(execution_id, name="task.*", limit=1)]
    assert names == ["task.started"]
    other = await one.front.start(Ask(text=ADD, workload={"n": 9}))
    await ended(one, other)
    assert (await one.front.diff(execution_id, other.execution_id))["same"] is False


LARGE = """
        - step: load
          tool: {kind: python, input: {n: "{{ workload.n }}", code: "result = {'rows': ['x' * 1000] * n, 'count': n}"}}
          next: {arcs: [{step: last}]}
        - {step: last, tool: {kind: noop}}
        """


async def test_what_a_template_mentions_of_a_large_result_is_loaded_to_evaluate_it(one: Embedded) -> None:
    ticket = await one.front.start(Ask(text=playbook(LARGE, workload="workload: {n: 100}")))
    await ended(one, ticket)
    evaluate = partial(one.front.evaluate, ticket.execution_id)
    assert await evaluate("load.count + load.data.rows | length") == 200
    ends = [event["seq"] for event in await one.front.events(ticket.execution_id, name="step.done")]
    assert await evaluate("[output.count, event.data.output.data.count]", ends[0]) == [100, 100]
    await one.results.discard(ticket.execution_id)
    assert await evaluate("load.status") == "ok"
    with pytest.raises(RequestError, match=r"load.count: the payload .* is gone from the result store"):
        await evaluate("load.count")


async def test_a_result_over_the_limit_is_not_loaded_to_evaluate_a_template(one: Embedded) -> None:
    limits = "executor: {spec: {limits: {max_hydrate_bytes: 90000}}}"
    ticket = await one.front.start(Ask(text=playbook(LARGE, executor=limits, workload="workload: {n: 100}")))
    await ended(one, ticket)
    with pytest.raises(RequestError, match=r"more than limits.max_hydrate_bytes \(90000\)"):
        await one.front.evaluate(ticket.execution_id, "load.count")


async def test_retry_and_rerun_begin_new_executions(one: Embedded) -> None:
    text = playbook(
        """
        - step: first
          tool: {kind: noop}
          next: {arcs: [{step: fails}]}
        - step: fails
          tool: {kind: python, code: "raise ValueError('no')"}
        """
    )
    started = await one.front.start(Ask(text=text))
    assert (await ended(one, started))["status"] == "failed"
    retried = await one.front.retry(started.execution_id)
    shown = await ended(one, retried)
    assert (shown["retry_of"], shown["steps"]["fails"]["runs"]) == (started.execution_id, 1)
    mended = text.replace("raise ValueError('no')", "result = 1")
    rerun = await one.front.rerun(started.execution_id, "fails", mended)
    assert (await ended(one, rerun))["status"] == "completed"
    with pytest.raises(PlaybookError):
        await one.front.rerun(started.execution_id, "fails", "kind: Playbook")


async def test_executions_are_found_by_text_parent_and_time(one: Embedded) -> None:
    ids = []
    for _ in range(3):
        started = await one.front.start(Ask(text=ADD))
        await ended(one, started)
        ids.append(started.execution_id)
    middle = (await one.store.summary(ids[1])).requested_at

    async def matching(**find: Any) -> list[str]:
        return [item.execution_id for item in (await one.front.executions(Find(**find))).items]

    assert await matching(text="case") == ids[::-1]
    assert await matching(text=ids[1]) == [ids[1]]
    assert await matching(text="no such") == []
    assert await matching(parent="0" * 32) == []
    assert ids[0] not in await matching(since=middle + 1)
    assert ids[2] not in await matching(until=middle - 1)
    page = await one.front.executions(Find(limit=2, text="case"))
    rest = await one.front.executions(Find(limit=2, text="case", cursor=page.cursor))
    assert [item.execution_id for item in [*page.items, *rest.items]] == ids[::-1]


async def test_credentials_go_in_and_only_their_names_come_out(one: Embedded) -> None:
    await one.front.put_credential(
        "pg", {"type": "postgres", "data": {"db_user": "app", "password": "hidden"}}
    )
    assert [name for name, _ in await one.front.credentials()] == ["pg"]
    shown = await one.front.credential("pg")
    assert shown["fields"] == ["password", "user"]
    assert "hidden" not in str(shown)
    assert await one.front.seal_again() == 1
    await one.front.delete_credential("pg")
    with pytest.raises(NotFound):
        await one.front.credential("pg")


async def test_the_process_is_its_own_worker_and_nothing_is_overdue(one: Embedded) -> None:
    (worker,) = await one.front.workers()
    assert (worker.pool, worker.running) == ("default", 0)
    assert await one.front.overdue_ms() == 0


EXECUTION = "a" * 32
ROWS = [{"n": n} for n in range(5)]


async def stored(made: Embedded, payload: Payload) -> str:
    await made.results.write(payload)
    return payload.key


@pytest.mark.parametrize(
    ("value", "ask", "data", "total"),
    [
        pytest.param(ROWS, {}, ROWS, 5, id="rows"),
        pytest.param(ROWS, {"offset": 1, "limit": 2}, ROWS[1:3], 5, id="slice-of-rows"),
        pytest.param([1, 2, 3], {"offset": 2}, [3], 3, id="slice-of-a-list"),
        pytest.param([1, 2, 3], {"offset": 1, "limit": 1}, [2], 3, id="end-of-a-list"),
        pytest.param([1, 2, 3], {"offset": 9, "limit": 1}, [], 3, id="behind-a-list"),
        pytest.param({"a": 1}, {"limit": 1}, {"a": 1}, None, id="mapping-with-a-limit"),
        pytest.param(
            {"items": [{"value": 1}]}, {"limit": 1}, {"items": [{"value": 1}]}, None, id="no-manifest-limit"
        ),
        pytest.param(
            [{"items": [1]}, {"items": [2]}], {"limit": 1}, [{"items": [1]}], 2, id="rows-like-manifests"
        ),
        pytest.param("text", {"limit": 1}, "text", None, id="text-with-a-limit"),
        pytest.param({"a": {"b": [1, 2]}}, {}, {"a": {"b": [1, 2]}}, None, id="mapping"),
        pytest.param({"a": {"b": [1, 2]}}, {"select": "a.b", "limit": 1}, [1], 2, id="selected"),
        pytest.param(ROWS, {"select": "[?n > `2`].n"}, [3, 4], 2, id="selected-of-rows"),
        pytest.param({"items": [{"value": 1}]}, {}, {"items": [{"value": 1}]}, None, id="no-manifest"),
        pytest.param("text", {}, "text", None, id="text"),
    ],
)
async def test_a_stored_payload_is_had_whole_or_in_part(
    one: Embedded, value: Any, ask: dict[str, Any], data: Any, total: int | None
) -> None:
    key = await stored(one, externalise(EXECUTION, value)[1])
    found = await one.front.result(key, **ask)
    assert (found.data, found.total) == (data, total)


async def test_of_a_manifest_only_the_wanted_items_are_read(one: Embedded) -> None:
    ref, first = externalise(EXECUTION, {"big": 1})
    await stored(one, first)
    gone, _ = externalise(EXECUTION, {"gone": True})
    _, payload = manifest(EXECUTION, [0, None, None], {"1": ref, "2": gone}, {})
    key = await stored(one, payload)
    found = await one.front.result(key, offset=0, limit=2)
    assert (found.data, found.total) == ([0, {"big": 1}], 3)
    with pytest.raises(NotFound):
        await one.front.result(key)


async def test_a_list_of_one_row_is_told_from_a_mapping_by_the_log(one: Embedded) -> None:
    text = playbook(
        """
        - step: one
          tool: {kind: python, code: "result = [{'text': 'x' * 200000}]"}
        """
    )
    started = await one.front.start(Ask(text=text))
    await ended(one, started)
    log = msgspec.json.encode(await one.front.events(started.execution_id)).decode()
    key = log.partition('"key":"')[2].partition('"')[0]
    for limit in (None, 1):
        found = await one.front.result(key, limit=limit)
        assert (found.total, found.data) == (1, [{"text": "x" * 200_000}])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"plain text", "text/plain"),
        (b"[no list", "text/plain"),
        (b"{}\n{}\nmore", "text/plain"),
        (b"\xff\x00", "application/octet-stream"),
    ],
)
async def test_bytes_that_are_no_json_are_text_or_base64(one: Embedded, body: bytes, kind: str) -> None:
    key = await stored(one, Payload(f"{EXECUTION}/{'b' * 32}", body))
    assert (await one.front.result(key)).content_type == kind
    assert (await one.front.result(key, limit=1)).content_type == kind


async def test_a_wrong_key_or_path_is_the_callers_mistake(one: Embedded) -> None:
    key = await stored(one, externalise(EXECUTION, [1])[1])
    with pytest.raises(RequestError, match="JMESPath"):
        await one.front.result(key, select="[")
    for wrong in ("../etc/passwd", f"{EXECUTION}/{'0' * 32}"):
        with pytest.raises(NotFound):
            await one.front.result(wrong)


@pytest.mark.parametrize("key", ["schedule/nightly/2026-01-01T00:00:00.000Z", "trigger/orders/1"])
async def test_keys_of_schedules_and_triggers_are_nobody_elses(
    pair: tuple[Embedded, Embedded], key: str
) -> None:
    with pytest.raises(RequestError, match="belongs to a schedule, a trigger or a notification"):
        await pair[0].front.start(Ask(text=ADD, idempotency_key=key))

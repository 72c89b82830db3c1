"""Executions that earlier releases recorded: this one reads them, decides as they did, and goes on with them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl import __version__
from noetl.control.history import events, state_at
from noetl.control.log_audit import audit
from noetl.core import fold
from noetl.core.event import Event
from noetl.core.formats import ROW_FORMAT
from noetl.core.reading.explain import explain
from noetl.core.state import State
from noetl.core.upcast import UPCASTERS
from noetl.ports.store import Store
from noetl.wiring.embedded import Embedded
from tests.histories.history import files, read, restored
from tests.histories.player import carry_on, process
from tests.histories.scenarios import SCENARIOS

FILES = files()
TOKEN_ENQUEUED = fold.TRANSITIONS["token.enqueued"]
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def name_of(file: Path) -> str:
    """How a test is called by its file."""
    return f"{file.parent.name}/{file.stem}"


def test_this_release_has_recorded_every_feature():
    ours = {file.stem for file in FILES if file.parent.name == __version__}
    assert ours == set(BY_NAME)
    assert len(ours) >= 60


async def problems_of(made: Embedded, store: Store, execution_id: str) -> list[str]:
    """What is wrong with a log that is there."""
    summary = await store.summary(execution_id)
    program = await made.catalog.program(summary.hash) if summary.hash else None
    recorded = [event async for event in events(store, execution_id)]
    start = recorded[0][1].data or {}
    return (await audit(store, execution_id, program, start.get("engine", __version__))).problems


@pytest.mark.parametrize("file", FILES, ids=name_of)
async def test_a_recorded_log_is_read_decided_again_and_explained(file: Path, tmp_path: Path):
    history = read(file)
    store, results = await restored(history)
    async with process(tmp_path, store, results) as made:
        for execution_id in history.logs:
            assert await problems_of(made, store, execution_id) == []
    last = history.chain()[-1]
    for execution_id in history.chain():
        log = [entry async for entry in events(store, execution_id)]
        explanation = explain(execution_id, log)
        assert explanation.status == (history.status if execution_id == last else "completed")
        assert explanation.summary


def prefixes(rows: int) -> list[int]:
    """After how many rows another process goes on: the first, the last but one, and between."""
    return sorted({1, rows // 2, rows - 1} - {0, rows})


@pytest.mark.parametrize("file", FILES, ids=name_of)
async def test_what_an_earlier_release_left_is_carried_on(file: Path, tmp_path: Path):
    history = read(file)
    scenario = BY_NAME[history.scenario]
    for member in history.chain():
        for rows in prefixes(len(history.logs[member].rows)):
            store, results = await restored(history, member, rows)
            await carry_on(scenario, tmp_path, store, results, member)
            last = await store.newest(member)
            ended = msgspec.json.decode(last.result or b"{}")
            assert (rows, ended["status"], ended["output"]) == (rows, history.status, history.output)
            async with process(tmp_path, store, results) as made:
                for execution_id in (member, last.execution_id):
                    assert await problems_of(made, store, execution_id) == []


# ---- a change of format --------------------------------------------------------------------------------


def renamed(state: State, event: Event, data: dict[str, Any]) -> None:
    """The transition of a release that calls the step of a token by another name."""
    older = {**data, "step": data["place"]}
    TOKEN_ENQUEUED(state, event, older)


def brought_up(event: Event) -> Event:
    """What such a release would have to bring along."""
    return msgspec.structs.replace(event, data={**(event.data or {}), "place": (event.data or {})["step"]})


async def problems_after_the_change(folder: Path) -> list[str]:
    history = read(FILES[0])
    store, results = await restored(history)
    async with process(folder, store, results) as made:
        return await problems_of(made, store, history.execution_id)


async def test_a_change_of_format_without_an_upcaster_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(fold.TRANSITIONS, "token.enqueued", renamed)
    assert await problems_after_the_change(tmp_path)


async def test_an_upcaster_lets_an_older_log_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(fold.TRANSITIONS, "token.enqueued", renamed)
    monkeypatch.setitem(UPCASTERS, ROW_FORMAT, {"token.enqueued": brought_up})
    history = read(FILES[0])
    store, _ = await restored(history)
    state = await state_at(store, history.execution_id)
    assert (state.ended, state.output) == (True, history.output)

"""The OpenAPI document is true: what it says may be sent is answered as it says, and nothing is answered 5xx."""

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from noetl.ports.schedule import ScheduleAsk, TriggerAsk
from noetl.server.app import create_app
from noetl.server.options import Options
from tests.unit.server.serving import HELLO, LONG, WAITS, Served, guarded

# What makes a text a playbook, a template or a known path is more than a schema says.
UNFIT = [positive_data_acceptance]
KNOWN = "known"  # a schedule and a trigger
EXAMPLES = 12  # for each operation; the whole must stay within a minute on a slow machine


class Background:
    """A server in a thread of its own, for clients that know no event loop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server: Served | None = None
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()))

    async def _serve(self) -> None:
        async with guarded(self.folder) as self.server:
            shown = await self.server.run(HELLO)
            await self.server.register(WAITS)
            front = self.server.made.front
            await front.put_schedule(ScheduleAsk(name=KNOWN, path="tests/hello", cron="0 0 1 1 *"))
            await front.put_trigger(TriggerAsk(name=KNOWN, kind="webhook", path="tests/hello"))
            self.known = shown["execution_id"]
            self._ready.set()
            await self._stop.wait()

    def __enter__(self) -> "Background":
        self._thread.start()
        assert self._ready.wait(LONG)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(LONG)
        self._loop.close()


@pytest.fixture(scope="module")
def background(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    with Background(tmp_path_factory.mktemp("served")) as running:
        yield running


def _name_what_is_there(case: Any, execution_id: str) -> None:
    """Every other name is put in for one of something that there is, or no answer would be a good one."""
    given = case.path_parameters or {}
    for name in ("execution_id", "other_id"):
        if re.fullmatch("[0-9a-f]{31}[02468ace]", str(given.get(name))):
            given[name] = execution_id
    if len(str(given.get("name", ""))) % 2:
        given["name"] = KNOWN


def document() -> dict[str, Any]:
    nobody: Any = None
    options = Options(kinds={})
    return create_app(nobody, options).openapi()


SCHEMA = schemathesis.openapi.from_dict(document())
FOUND: Any = SCHEMA.get_all_operations()
OPERATIONS = [result.ok() for result in FOUND]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_every_operation_answers_as_the_document_says(background: Background, operation: Any) -> None:
    server = background.server
    assert server is not None

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def answers(case: Any) -> None:
        _name_what_is_there(case, background.known)
        auth = {"Authorization": server.client.headers["Authorization"]}
        case.call_and_validate(base_url=server.url, headers=auth, timeout=LONG, excluded_checks=UNFIT)

    answers()

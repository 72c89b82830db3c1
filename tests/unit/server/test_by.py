"""Who did it: `by` is the authenticated caller, on every way; what a payload claims stands beside it."""

import os
import pwd
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from noetl.adapters.http.front import HttpFront
from noetl.cli.connection import connection
from noetl.cli.connection.caller import caller
from noetl.cli.main import root
from noetl.core.message import Control
from noetl.errors import NotFound
from noetl.json_value import Json
from noetl.ports.front import Ask, TokenAsk
from noetl.ports.schedule import ScheduleAsk, TriggerAsk
from tests.unit.server.serving import HELLO, WAITS, Served, guarded

FAILS = HELLO.replace("tests/hello", "tests/fails").replace("result = f'hello {name}'", "1 / 0")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    async with guarded(tmp_path) as found:
        yield found


async def front(server: Served, name: str) -> HttpFront:
    """The product as somebody with a token of their own reaches it."""
    made = await server.made.front.new_token(TokenAsk(name=name, scopes=["admin"]))
    return HttpFront(server.url, made.bearer)


async def events(server: Served, execution_id: str, name: str) -> list[dict[str, Any]]:
    return [event["data"] for event in await server.made.front.events(execution_id, name=name)]


async def requested_by(server: Served, execution_id: str) -> str:
    [data] = await events(server, execution_id, "playbook.execution.requested")
    assert (await server.made.store.summary(execution_id)).requested_by == data["by"]
    return str(data["by"])


async def test_whoever_starts_retries_or_reruns_is_named_by_their_token(server: Served) -> None:
    ann, bob = await front(server, "ann"), await front(server, "bob")
    started = await ann.start(Ask(text=FAILS, by="somebody else"))
    await server.ended(started.execution_id)
    again = await bob.retry(started.execution_id, by="somebody else")
    await server.ended(again.execution_id)
    rerun = await bob.rerun(started.execution_id, "greet", by="somebody else")
    await server.ended(rerun.execution_id)
    found = [await requested_by(server, one.execution_id) for one in (started, again, rerun)]
    assert found == ["ann", "bob", "bob"]
    for one in (ann, bob):
        await one.close()


async def test_whoever_steers_is_named_by_their_token_and_a_claim_stands_beside_it(server: Served) -> None:
    ann = await front(server, "ann")
    started = await ann.start(Ask(text=WAITS))
    for what in ("pause", "resume"):
        await ann.control(started.execution_id, Control(what, by="somebody else"))
    approval: Json = {"approved": True, "by": "the director"}
    await ann.control(started.execution_id, Control("signal", "x", name="go", payload=approval))
    await server.ended(started.execution_id)
    for name in ("execution.paused", "execution.resumed", "execution.signalled"):
        assert [data["by"] for data in await events(server, started.execution_id, name)] == ["ann"]
    [told] = await events(server, started.execution_id, "execution.signalled")
    assert (told["claimed_by"], told["payload"]) == ("the director", approval)
    await ann.close()


async def test_what_stands_in_for_a_person_is_named_by_who_made_it_and_says_what_it_is(
    server: Served,
) -> None:
    ann = await front(server, "ann")
    made = await ann.register(HELLO)
    assert (await server.made.store.playbook(path=made.path)).by == "ann"
    schedule = await ann.put_schedule(ScheduleAsk(name="s", path=made.path, every_s=60, by="x"))
    trigger = await ann.put_trigger(TriggerAsk(name="t", kind="webhook", path=made.path, by="x"))
    assert (schedule.by, trigger.trigger.by) == ("ann", "ann")
    runs = [await ann.run_schedule("s", "x"), await ann.fire_trigger("t", {}, by="x")]
    assert [await requested_by(server, one.execution_id) for one in runs] == ["ann", "ann"]
    for one in runs:
        await server.ended(one.execution_id)
    await ann.close()


async def test_last_on_a_server_is_the_callers_own(server: Served) -> None:
    ann, bob = await front(server, "ann"), await front(server, "bob")
    with pytest.raises(NotFound, match="there is no execution yet"):
        await connection.find_execution(ann, "@last")
    one = await ann.start(Ask(text=HELLO))
    two = await bob.start(Ask(text=HELLO.replace("tests/hello", "tests/other")))
    assert await connection.find_execution(ann, "@last") == one.execution_id
    assert await connection.find_execution(bob, "@last") == two.execution_id
    assert await connection.find_execution(bob, "@last:tests/hello") == one.execution_id
    carl = await front(server, "carl")
    with pytest.raises(NotFound, match="none of the executions there was started by you"):
        await connection.find_execution(carl, "@last")
    with pytest.raises(NotFound, match="there is no execution of 'tests/none' yet"):
        await connection.find_execution(bob, "@last:tests/none")
    listed = (await server.client.get("/api/v1/executions", params={"by": "ann"})).json()["items"]
    assert [item["execution_id"] for item in listed] == [one.execution_id]
    for started in (one, two):
        await server.ended(started.execution_id)
    for who in (ann, bob, carl):
        await who.close()


def test_without_a_server_it_is_the_user_that_the_process_runs_as(tmp_path: Path) -> None:
    environ = {"NOETL_HOME": str(tmp_path / "h"), "NOETL_STORE": str(tmp_path / "n.db"), "NOETL_SERVER": ""}
    environ |= {"LOGNAME": "mallory", "USER": "mallory"}
    (tmp_path / "a.yaml").write_text(HELLO)
    (tmp_path / "b.yaml").write_text(HELLO.replace("tests/hello", "tests/other"))

    def noetl(*arguments: str) -> str:
        return CliRunner(env=environ).invoke(root, list(arguments)).stdout

    for name in ("a", "b"):
        noetl("run", str(tmp_path / f"{name}.yaml"))
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert caller() == f"{user} via cli"
    shown = noetl("execution", "events", "@last:tests/hello", "--json").splitlines()[0]
    assert f'"by":"{user} via cli"' in shown.replace('": "', '":"')
    assert '"path":"tests/hello"' in shown.replace('": "', '":"')
    assert '"path":"tests/other"' in noetl("execution", "events", "@last", "--json").replace('": "', '":"')
    assert "@last:PATH" in noetl("execution", "retry", "--help")


def test_a_user_without_a_name_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    caller.cache_clear()
    assert caller("mcp") == f"uid {os.geteuid()} via mcp"
    caller.cache_clear()

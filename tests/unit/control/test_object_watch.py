"""Triggers on objects: each that arrives fires once, whoever dies, and a place that cannot be listed is said."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from noetl.control import object_watch
from noetl.control.object_watch import ObjectWatch
from noetl.errors import NotFound, RequestError
from noetl.json_value import Json
from noetl.ports.arrival import ListedObject, Listing
from noetl.ports.schedule import TriggerAsk, TriggerBatch
from noetl.ports.store import Find
from noetl.wiring.embedded import Embedded
from tests.unit.server.serving import engine

NEXT = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: next, path: tests/next}
workflow:
  - step: start
    tool: {kind: noop}
    output: "{{ trigger.payload }}"
"""


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Embedded]:
    async with engine(tmp_path) as found:
        await found.front.register(NEXT)
        yield found


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def put(folder: Path, name: str, text: str = "x", *, ago_s: int = 60) -> None:
    """A file that was written a while ago, under another time each."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    written = os.stat(folder / name).st_mtime - ago_s
    os.utime(folder / name, (written, written))


def ask(source: object, **more: Any) -> TriggerAsk:
    return TriggerAsk(name="t", kind="object", path="tests/next", source=str(source), **more)


async def look(made: Embedded) -> None:
    for name, (source, _) in made.store._looks.items():  # type: ignore[attr-defined]
        made.store._looks[name] = (source, 0)  # type: ignore[attr-defined]  # it is time again
    await made.front.watch_objects()


async def arrived(made: Embedded) -> list[Any]:
    """The payloads of the executions that objects started, the oldest first, after another look."""
    await look(made)
    await made.front.fire_due()
    found = []
    for one in reversed((await made.front.executions(Find(path="tests/next"))).items):
        await made.engine.until_quiet(one.execution_id)
        found.append((await made.front.execution(one.execution_id))["output"])
    return found


async def keys(made: Embedded) -> list[str]:
    return [one["key"] for one in await arrived(made)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"source": None}, "'' is no place where objects arrive"),
        ({"source": "http://[::1"}, "is no place"),
        ({"source": "ftp://x"}, "'ftp://x' is no place"),
        ({"source": "nats://bucket"}, "'nats://bucket' is no place"),
        ({"source": "x" * 2000}, "is no place"),
        ({"every": "0s"}, "every is '0s'"),
        ({"secret": "a secret of some length"}, "no secret"),
        ({"after": ["x"]}, "waits for no playbooks"),
        ({"kind": "webhook"}, "looks at no objects"),
        ({"kind": "webhook", "source": None, "every": "5s"}, "looks at no objects"),
    ],
)
async def test_a_trigger_on_objects_that_makes_no_sense_is_refused(
    made: Embedded, given: dict[str, Any], told: str
) -> None:
    fields = {"name": "t", "kind": "object", "path": "tests/next", "source": "inbox", **given}
    with pytest.raises(RequestError, match=told):
        await made.front.put_trigger(TriggerAsk(**fields))


async def test_the_credential_of_a_place_is_there(made: Embedded) -> None:
    with pytest.raises(NotFound, match="store"):
        await made.front.put_trigger(ask("s3://inbox", auth="store"))


async def test_each_object_that_arrives_starts_one_execution(made: Embedded, inbox: Path) -> None:
    put(inbox, "old.csv")
    await made.front.put_trigger(ask(inbox))
    assert await keys(made) == [], "what was there already"
    put(inbox, "a.csv", "12")
    put(inbox, "sub/b.csv")
    first, second = await arrived(made)
    assert (first["key"], first["bytes"], first["store"]) == ("a.csv", 2, str(inbox))
    assert second["key"] == "sub/b.csv"
    assert await keys(made) == ["a.csv", "sub/b.csv"]
    put(inbox, "a.csv", "123", ago_s=30)
    assert await keys(made) == ["a.csv", "sub/b.csv", "a.csv"], "its content changed"
    (inbox / "a.csv").unlink()
    await look(made)
    put(inbox, "a.csv", "123", ago_s=30)
    assert len(await keys(made)) == 4, "it was gone"


async def test_what_is_there_already_arrives_where_that_is_wanted(made: Embedded, inbox: Path) -> None:
    put(inbox, "a")
    put(inbox, "b")
    await made.front.put_trigger(ask(inbox, existing=True, batch=TriggerBatch(10, "1s")))
    await look(made)
    for one in made.store._arrivals.values():  # type: ignore[attr-defined]
        one.at -= 2000
    [together] = await arrived(made)
    assert [one["key"] for one in together] == ["a", "b"]


async def test_a_file_that_is_being_written_waits(made: Embedded, inbox: Path) -> None:
    await made.front.put_trigger(ask(inbox))
    await look(made)
    put(inbox, "a", ago_s=0)
    assert await keys(made) == []
    put(inbox, "a", ago_s=3)
    assert await keys(made) == ["a"]


async def test_another_place_begins_anew(made: Embedded, inbox: Path, tmp_path: Path) -> None:
    await made.front.put_trigger(ask(inbox))
    await look(made)
    (tmp_path / "other").mkdir()
    put(tmp_path / "other", "old")
    await made.front.put_trigger(ask(tmp_path / "other"))
    assert await keys(made) == []
    put(tmp_path / "other", "new")
    assert await keys(made) == ["new"]


async def test_a_place_that_cannot_be_listed_is_said_and_forgets_nothing(
    made: Embedded, inbox: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(inbox, "a")
    await made.front.put_trigger(ask(inbox, existing=True))
    assert await keys(made) == ["a"]
    monkeypatch.setattr(object_watch, "LISTED_MOST", 1)
    put(inbox, "b")
    assert await keys(made) == ["a"]
    assert await keys(made) == ["a"]
    assert caplog.text.count("trigger t could not look at") == 1  # each look is not a line
    assert "more than 1 objects" in ((await made.front.trigger("t")).last_error or "")
    monkeypatch.setattr(object_watch, "LISTED_MOST", 10)
    assert await keys(made) == ["a", "b"]
    assert (await made.front.trigger("t")).last_error is None


async def test_no_more_arrive_than_may_wait(
    made: Embedded, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_watch, "ARRIVED_MOST", 2)
    for name in "abc":
        put(inbox, name)
    await made.front.put_trigger(ask(inbox, existing=True))
    assert await keys(made) == ["a", "b"]
    assert await keys(made) == ["a", "b", "c"]


class SeesFirst(ObjectWatch):
    """A planted bug: what was found counts as seen before it has arrived."""

    async def _listed(self, trigger: Any, source: str) -> Sequence[ListedObject]:
        found = await super()._listed(trigger, source)
        seen = Listing(source=source, next_look=0, kept=list(found))
        await self._store.note_listing(trigger.name, self._holder, seen)
        return found


@pytest.mark.parametrize(("kind", "count"), [(ObjectWatch, 1), (SeesFirst, 0)])
async def test_no_object_is_lost_with_a_process_and_a_bug_that_loses_one_is_caught(
    made: Embedded, inbox: Path, kind: type[ObjectWatch], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made.front.put_trigger(ask(inbox))
    await look(made)
    put(inbox, "a")

    def dies(*compared: object, **more: object) -> None:
        raise asyncio.CancelledError

    dying = kind(made.store, made.keychain, "dying")
    dying.list_objects = made.front.watching.list_objects
    with monkeypatch.context() as patch:
        patch.setattr(object_watch, "compare", dies)
        for name, (source, _) in made.store._looks.items():  # type: ignore[attr-defined]
            made.store._looks[name] = (source, 0)  # type: ignore[attr-defined]
        with pytest.raises(asyncio.CancelledError):
            await dying.round()
    made.store._holders.clear()  # type: ignore[attr-defined]  # its lease is over
    assert len(await keys(made)) == count


async def test_two_that_look_at_once_let_each_object_arrive_once(made: Embedded, inbox: Path) -> None:
    put(inbox, "a")
    await made.front.put_trigger(ask(inbox, existing=True))
    watches = [ObjectWatch(made.store, made.keychain, f"w{number}") for number in range(3)]
    listing = made.front.watching.list_objects

    async def slow(source: str, material: Mapping[str, Json], most: int) -> Sequence[ListedObject]:
        await asyncio.sleep(0)
        return await listing(source, material, most)

    for watch in watches:
        watch.list_objects = slow
    await asyncio.gather(*(watch.round() for watch in watches))
    assert await keys(made) == ["a"]

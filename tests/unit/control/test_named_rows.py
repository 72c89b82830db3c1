"""Two who put something under one name at the same moment: neither takes the other's place unasked."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from noetl.errors import Conflict
from noetl.ports.front import Started, WebhookCall
from noetl.ports.notification import NotificationAsk
from noetl.ports.schedule import ScheduleAsk, TriggerAsk
from noetl.wiring.embedded import Embedded
from tests.unit.server.serving import HELLO, WAITS, engine

HERE, THERE = "tests/hello", "tests/waits"
SECRET, NEWER = "a secret of some length", "a newer one of some length"


def schedule(path: str, **more: Any) -> ScheduleAsk:
    return ScheduleAsk(name="n", path=path, every_s=60, **more)


def trigger(path: str, **more: Any) -> TriggerAsk:
    return TriggerAsk(name="n", kind="webhook", path=path, **more)


def notification(path: str, **more: Any) -> NotificationAsk:
    return NotificationAsk(name="n", target="mail:ops@example.com", auth="mail", path=path, **more)


ASKS = {"schedule": schedule, "trigger": trigger, "notification": notification}


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Embedded]:
    async with engine(tmp_path) as made:
        for text in (HELLO, WAITS):
            await made.front.register(text)
        await made.front.put_credential("mail", {"host": "h", "from": "a@example.com"})
        yield made


def meanwhile(
    patch: pytest.MonkeyPatch, made: Embedded, kind: str, work: Callable[[], Awaitable[Any]]
) -> None:
    """Have something happen between the look of whoever puts something next and the putting."""
    put = getattr(made.store, f"put_{kind}")

    async def late(item: Any, **more: Any) -> Any:
        patch.setattr(made.store, f"put_{kind}", put)
        await work()
        return await put(item, **more)

    patch.setattr(made.store, f"put_{kind}", late)


@pytest.mark.parametrize("kind", ASKS)
async def test_what_another_made_since_for_another_path_stays(
    made: Embedded, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Whether one may take a place was asked when there was nothing in it."""
    ask, front_put = ASKS[kind], getattr(made.front, f"put_{kind}")
    meanwhile(monkeypatch, made, kind, lambda: front_put(ask(THERE)))
    with pytest.raises(Conflict, match="'n' already"):
        await front_put(ask(HERE))
    assert (await getattr(made.store, kind)("n")).path == THERE


@pytest.mark.parametrize("kind", ASKS)
async def test_two_that_put_the_same_are_both_told_that_it_is_there(
    made: Embedded, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    ask, front_put = ASKS[kind], getattr(made.front, f"put_{kind}")
    meanwhile(monkeypatch, made, kind, lambda: front_put(ask(HERE)))
    assert await front_put(ask(HERE, enabled=False))
    assert (await getattr(made.store, kind)("n")).enabled is False


async def test_who_changes_a_webhook_does_not_bring_its_old_secret_back(
    made: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made.front.put_trigger(trigger(HERE, secret=SECRET))
    meanwhile(monkeypatch, made, "trigger", lambda: made.front.put_trigger(trigger(HERE, secret=NEWER)))
    assert (await made.front.put_trigger(trigger(HERE, workload={"n": 1}))).secret is None
    assert isinstance(await made.front.knock("n", WebhookCall(body=b"{}", secret=NEWER)), Started)


async def test_a_webhook_that_was_deleted_while_it_was_changed_has_a_secret_of_its_own(
    made: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made.front.put_trigger(trigger(HERE, secret=SECRET))
    meanwhile(monkeypatch, made, "trigger", lambda: made.front.delete_trigger("n"))
    secret = (await made.front.put_trigger(trigger(HERE, workload={"n": 1}))).secret
    assert secret not in (None, SECRET)
    assert isinstance(await made.front.knock("n", WebhookCall(body=b"{}", secret=secret)), Started)

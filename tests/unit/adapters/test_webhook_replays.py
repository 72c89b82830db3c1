"""A recorded webhook that is sent again: what the page tells receivers to check refuses it once it is old."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from noetl.adapters.notify.webhook import Webhook
from tests.docs.pages import blocks
from tests.receiver import receiving
from tests.unit.adapters.test_notify import FAILED

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "notifications.md"
SECRET = "s3cr3t-of-the-receiver"
SENT_AT = 1_800_000_000
TOLERATED_S = 300


@pytest.fixture
def is_ours() -> Callable[[dict[str, str], bytes, bytes], bool]:
    """The function of the page."""
    names: dict[str, Any] = {}
    exec(next(block.text for block in blocks(PAGE) if "def is_ours" in block.text), names)
    found: Callable[[dict[str, str], bytes, bytes], bool] = names["is_ours"]
    return found


async def test_a_replay_is_refused_once_it_is_old_and_a_repeat_of_ours_is_signed_anew(
    is_ours: Callable[[dict[str, str], bytes, bytes], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = SENT_AT
    monkeypatch.setattr(time, "time", lambda: now)
    async with receiving() as receiver:
        webhook = Webhook(aiohttp.TCPConnector, lambda: now)
        await webhook.send(receiver.url, {"secret": SECRET}, FAILED)
        now += TOLERATED_S + 1
        await webhook.send(receiver.url, {"secret": SECRET}, FAILED)
        first, again = receiver.calls
    secret = SECRET.encode()
    assert not is_ours(first.headers, first.body, secret), "the same signature and body, too late"
    fresh = {**first.headers, "webhook-timestamp": again.headers["webhook-timestamp"]}
    assert not is_ours(fresh, first.body, secret), "its moment is signed too"
    assert not is_ours({**again.headers, "webhook-id": "other"}, again.body, secret)
    assert not is_ours(again.headers, again.body + b" ", secret)
    assert is_ours(again.headers, again.body, secret)
    assert first.headers["webhook-id"] == again.headers["webhook-id"], "who keeps ids knows a repeat"
    now = SENT_AT + TOLERATED_S
    assert is_ours(first.headers, first.body, secret)

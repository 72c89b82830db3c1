"""Messages, commands, orders and reports go through JSON and come back as they were."""

import msgspec
import pytest

from noetl.core.event import Event
from noetl.core.message import (
    ChildEnded,
    ChildWaits,
    Command,
    Control,
    ControlChild,
    Deliver,
    Dispatch,
    Expire,
    LoopOrder,
    Message,
    Recall,
    Report,
    Start,
    StartChild,
    TellParent,
    Tick,
    WorkOrder,
    waits_as,
)

MESSAGES = [
    Start("p", "h", "e", payload={"a": 1}, kept={"state": {}, "tokens": []}, parent={"depth": 1}),
    Report(
        "l", 1, "w", "b", [Event("step.done", 1, "w", "s.1")], {"": {"pc": "t"}}, returned=True, final=True
    ),
    Control("signal", name="go", payload=[1]),
    Expire(["l"]),
    Expire({"l": 2}, "lost"),
    Tick(),
    ChildEnded("c", "failed", error={"kind": "boom"}),
    ChildWaits("c", 5, waits=True),
]
COMMANDS = [
    Dispatch("l", "default"),
    Recall("l", 2, "w", give_back=True, why="paused"),
    Deliver("l", "[1]", "t.1.1", {"status": "ok", "data": None}),
    StartChild("c", "p", 2, {"a": 1}, {"depth": 1}),
    ControlChild("c", "cancel", "why"),
    TellParent("p", ChildEnded("c", "completed", output=1)),
    TellParent("p", ChildWaits("c", 5)),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_reads_back_as_it_was(message):
    assert msgspec.json.decode(msgspec.json.encode(message), type=Message) == message


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
def test_a_command_reads_back_as_it_was(command):
    assert msgspec.json.decode(msgspec.json.encode(command), type=Command) == command


def test_an_order_reads_back_as_it_was():
    order = WorkOrder(
        "e", "l", 1, "s.1", "s", "h", ctx={"a": 1}, loop=LoopOrder(3, 0, 3, 1, [1, 2, 3], {"0": {}})
    )
    assert msgspec.json.decode(msgspec.json.encode(order), type=WorkOrder) == order


def test_a_waiting_task_is_known_by_label_visit_and_attempt():
    assert len({waits_as("a", 1, 1), waits_as("a", 2, 1), waits_as("a", 1, 2), waits_as("b", 1, 1)}) == 4

"""Notifications: who is told what, how often it is tried, and that a bad target holds up nobody."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from noetl.control import deliveries
from noetl.control.sweep import repeat
from noetl.errors import Conflict, NotFound, RequestError
from noetl.ports.front import Ask
from noetl.ports.notification import (
    Attempt,
    Delivery,
    FindDeliveries,
    NotificationAsk,
    Outcome,
    delivery_facts,
)
from noetl.wiring.embedded import Embedded
from tests.mail_server import mail_server
from tests.receiver import Receiver, receiving
from tests.unit.server.serving import HELLO, engine

SECRET = "a secret that signs"
FAILS = HELLO.replace("tests/hello", "tests/fails").replace("result = f'hello {name}'", "1 / 0")
TOLD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: told, path: ops/told}
workflow:
  - step: keep
    tool: {kind: python, code: "result = event['text']", input: {event: "{{ workload.event }}"}}
    set: {ctx.said: "{{ output.data }}"}
"""


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Embedded]:
    async with engine(tmp_path) as found:
        await found.front.put_credential("signing", {"secret": SECRET})
        yield found


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


def ask(name: str = "ops", **more: Any) -> NotificationAsk:
    given: dict[str, Any] = {"target": "webhook:https://example.com/told", "auth": "signing"}
    return NotificationAsk(name=name, **{**given, **more})


async def run(made: Embedded, text: str = FAILS, **workload: Any) -> str:
    started = await made.front.start(Ask(text=text, workload=workload, by="ann"))
    await made.engine.until_quiet(started.execution_id)
    return started.execution_id


async def told(made: Embedded, **find: Any) -> list[Delivery]:
    """What was told, the oldest first, after everything that is due was sent."""
    await made.front.finish_sending()
    return list(reversed(await made.front.deliveries(FindDeliveries(**find))))


@asynccontextmanager
async def rounds(made: Embedded) -> AsyncIterator[None]:
    """What is due is sent by the clock, as on a server."""
    clockwork = asyncio.create_task(repeat(0.02, made.front.send_due))
    try:
        yield
    finally:
        clockwork.cancel()
        await asyncio.gather(clockwork, return_exceptions=True)


async def test_a_failure_is_told_with_what_one_needs_to_know_and_signed(
    made: Embedded, receiver: Receiver
) -> None:
    made.front.sending.page_of = lambda execution_id: f"https://noetl.example.com/executions/{execution_id}"
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/told", path="tests/*"))
    execution_id = await run(made)
    [delivery] = await told(made)
    [call] = receiver.calls
    assert (delivery.state, delivery.code, delivery.attempts) == ("delivered", 200, 1)
    assert call.signed_with(SECRET.encode())
    assert call.headers["webhook-id"] == call.json["id"] == delivery.key
    error = {"kind": "python", "message": "ZeroDivisionError: division by zero", "step": "greet", "line": 1}
    assert call.json["error"] == error
    said = {
        name: call.json[name] for name in ("event", "status", "path", "version", "execution_id", "by", "url")
    }
    assert said == {
        "event": "failed",
        "status": "failed",
        "path": "tests/fails",
        "version": 1,
        "execution_id": execution_id,
        "by": "ann",
        "url": f"https://noetl.example.com/executions/{execution_id}",
    }
    assert (
        call.json["text"]
        == "tests/fails failed: python: ZeroDivisionError: division by zero (step greet, line 1)"
    )
    assert call.json["counts"]["tasks"] == 1
    assert SECRET not in str(delivery_facts(delivery)) + str(call.headers) + call.body.decode()


async def test_a_secret_of_a_library_is_read_as_one(made: Embedded, receiver: Receiver) -> None:
    await made.front.put_credential(
        "library", {"secret": "whsec_aGVsbG8gd29ybGQ=", "url": f"{receiver.url}/x"}
    )
    await made.front.put_notification(ask(target="webhook", auth="library"))
    delivery = await made.front.send_sample("ops")
    assert (delivery.state, delivery.occasion) == ("delivered", "sample")
    assert receiver.calls[0].signed_with(b"hello world")


async def test_what_fails_is_tried_again_later_and_keeps_its_key(made: Embedded, receiver: Receiver) -> None:
    receiver.answers = [web.Response(status=503, text="busy\n\x00now"), web.Response(status=200)]
    made.front.sending.first_ms = 0
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/"))
    await run(made)
    [delivery] = await told(made)
    assert (delivery.state, delivery.attempts, delivery.code) == ("delivered", 2, 200)
    first, second = receiver.calls
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == delivery.key
    answers: Any = delivery_facts(delivery)["answers"]
    assert [(one["code"], one["error"]) for one in answers] == [
        (503, "127.0.0.1 answered 503: busy now"),
        (200, None),
    ]


async def test_what_never_arrives_is_given_up_and_can_be_told_again(
    made: Embedded, receiver: Receiver
) -> None:
    receiver.answers = [web.Response(status=500) for _ in range(deliveries.ATTEMPTS)]
    made.front.sending.first_ms = 0
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/"))
    await run(made)
    [delivery] = await told(made, state="failed")
    assert (delivery.attempts, delivery.next_at) == (deliveries.ATTEMPTS, None)
    again = await made.front.redeliver(delivery.id)
    assert (again.state, again.attempts, again.key) == ("delivered", 1, delivery.key)
    with pytest.raises(NotFound):
        await made.front.redeliver(4711)


async def test_a_mail_that_some_do_not_take_is_sent_again_to_them_alone(made: Embedded) -> None:
    made.front.sending.first_ms = 0
    with mail_server() as server:
        server.refused = {"gone@example.com": "550 nobody here"}
        await made.front.put_credential("smtp", server.account())
        await made.front.put_notification(ask(target="mail:gone@example.com, a@example.com", auth="smtp"))
        await run(made)
        [delivery] = await told(made, state="failed")
        assert str(delivery.error).endswith("does not take mail for gone@example.com: 550 nobody here")
        assert server.recipients == [["a@example.com"]]
        server.refused.clear()
        assert (await made.front.redeliver(delivery.id)).state == "delivered"
        assert server.recipients == [["a@example.com"], ["gone@example.com"]]
        assert (await made.front.redeliver(delivery.id)).state == "delivered"
        assert server.recipients[2:] == [["gone@example.com", "a@example.com"]]


async def test_who_is_not_to_be_told_any_more_holds_up_no_delivery(made: Embedded) -> None:
    with mail_server() as server:
        server.refused = {"gone@example.com": "550 nobody here"}
        await made.front.put_credential("smtp", server.account())
        await made.front.put_notification(ask(target="mail:gone@example.com,a@example.com", auth="smtp"))
        await run(made)
        [delivery] = await told(made)
        assert delivery.error == "127.0.0.1 does not take mail for gone@example.com: 550 nobody here"
        await made.front.put_notification(ask(target="mail:a@example.com", auth="smtp"))
        assert (await made.front.redeliver(delivery.id)).state == "delivered"
        assert server.recipients == [["a@example.com"]]


async def test_the_other_side_may_say_when_to_come_again(made: Embedded, receiver: Receiver) -> None:
    receiver.answers = [web.Response(status=429, headers={"Retry-After": "600"})]
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/"))
    await run(made)
    [delivery] = await told(made)
    assert delivery.state == "pending"
    assert (delivery.next_at or 0) - delivery.at >= 600_000


async def test_the_other_side_may_say_the_moment_when_to_come_again(
    made: Embedded, receiver: Receiver
) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(minutes=10), usegmt=True)
    receiver.answers = [
        web.Response(status=503, headers={"Retry-After": moment}),
        web.Response(status=503, headers={"Retry-After": "soon"}),
    ]
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/"))
    for _ in range(2):
        await run(made)
    first, second = await told(made)
    waits = sorted((each.next_at or 0) - each.at for each in (first, second))
    assert waits[1] >= 590_000, "the moment that was said"
    assert waits[0] < 60_000, "as usual where nothing can be read"


@pytest.mark.parametrize("wait", ["9" * 400, f"Thu, 01 Jan 2026 00:00:00 +{'9' * 20}"])
async def test_the_other_side_cannot_ask_to_be_left_alone_for_ever(
    made: Embedded, receiver: Receiver, wait: str
) -> None:
    receiver.answers = [web.Response(status=503, headers={"Retry-After": wait})]
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/"))
    await run(made)
    [delivery] = await told(made)
    assert (delivery.state, delivery.error) == ("pending", "127.0.0.1 answered 503")
    assert 0 < (delivery.next_at or 0) - delivery.at < deliveries.MOST_MS + 10_000


async def test_a_credential_with_an_address_that_is_none_is_told_as_such(
    made: Embedded, caplog: pytest.LogCaptureFixture
) -> None:
    await made.front.put_credential("signing", {"secret": SECRET, "url": "https://[::1"})
    await made.front.put_notification(ask(target="webhook"))
    delivery = await made.front.send_sample("ops")
    assert str(delivery.error).startswith("the credential has no field 'url'")
    assert not [record for record in caplog.records if record.exc_info]


async def test_what_the_other_side_repeats_of_a_credential_is_masked(
    made: Embedded, receiver: Receiver
) -> None:
    address: dict[str, Any] = {"secret": SECRET, "url": f"{receiver.url}/services/T000/XyZ?key=abcdef"}
    await made.front.put_credential("signing", address)
    said = f"cannot POST /services/T000/XyZ?key=abcdef at {address['url']}, nor /services/T000/XyZ; {SECRET}"
    receiver.answers = [web.Response(status=404, text=said)]
    await made.front.put_notification(ask(target="webhook"))
    await run(made)
    [delivery] = await told(made)
    assert delivery.error == "127.0.0.1 answered 404: cannot POST *** at ***, nor ***; ***"


async def test_a_target_that_does_not_answer_holds_up_no_execution_and_no_other_target(
    made: Embedded, receiver: Receiver
) -> None:
    gate = asyncio.Event()
    async with receiving() as slow:
        slow.answers = [gate] * 100
        await made.front.put_notification(ask("slow", target=f"webhook:{slow.url}/"))
        await made.front.put_notification(ask("quick", target=f"webhook:{receiver.url}/"))
        for _ in range(deliveries.PLACES + 2):
            await run(made)
        async with rounds(made):
            calls = await receiver.count(deliveries.PLACES + 2)
            assert len(calls) == deliveries.PLACES + 2
            await slow.count(1)
            waiting = await made.front.deliveries(FindDeliveries(notification="slow"))
            assert {one.state for one in waiting} == {"pending"}
            gate.set()
        assert {one.state for one in await told(made)} == {"delivered"}


async def test_no_answer_within_the_time_is_a_failed_attempt(
    made: Embedded, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "SEND_S", 0.05)
    receiver.answers = [asyncio.Event()]
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/"))
    delivery = await made.front.send_sample("ops")
    assert (delivery.state, delivery.error) == ("pending", "no answer within 0.05 s")


async def test_redirects_and_addresses_nobody_listens_on_are_failed_attempts(
    made: Embedded, receiver: Receiver
) -> None:
    receiver.answers = [web.Response(status=302, headers={"Location": "http://127.0.0.1:1/secret"})]
    await made.front.put_notification(ask("moved", target=f"webhook:{receiver.url}/"))
    await made.front.put_notification(ask("gone", target="webhook:http://127.0.0.1:1/path"))
    assert (await made.front.send_sample("moved")).error == "127.0.0.1 answered 302"
    gone = (await made.front.send_sample("gone")).error or ""
    assert gone.startswith("127.0.0.1 cannot be reached")
    assert "/path" not in gone


@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "[::ffff:10.0.0.1]"])
async def test_addresses_that_playbooks_may_not_reach_are_not_reached(made: Embedded, host: str) -> None:
    await made.front.put_notification(ask(target=f"webhook:http://{host}/latest"))
    error = (await made.front.send_sample("ops")).error or ""
    assert "which this deployment does not let playbooks reach; NOETL_ALLOW_NETWORKS=" in error


async def test_a_credential_that_went_or_says_nothing_useful_is_a_failed_attempt(
    made: Embedded, receiver: Receiver
) -> None:
    await made.front.put_credential("empty", {"other": "x"})
    await made.front.put_credential("broken", {"secret": "whsec_#", "url": receiver.url})
    for auth, said in (
        ("empty", "no field 'secret'"),
        ("broken", "no base64"),
    ):
        await made.front.put_notification(ask(target=f"webhook:{receiver.url}/", auth=auth))
        assert said in ((await made.front.send_sample("ops")).error or "")
    await made.front.put_credential("nowhere", {"secret": "x", "url": "ftp://x"})
    await made.front.put_notification(ask(target="webhook", auth="nowhere"))
    assert "no field 'url'" in ((await made.front.send_sample("ops")).error or "")
    await made.front.delete_credential("nowhere")
    assert "there is no credential 'nowhere'" in ((await made.front.send_sample("ops")).error or "")
    assert receiver.calls == []


async def test_a_playbook_is_started_once_with_what_is_told(made: Embedded) -> None:
    await made.front.register(TOLD)
    await made.front.put_notification(
        ask(target="playbook:ops/told", auth=None, occasions=["failed", "completed"])
    )
    execution_id = await run(made)
    [delivery] = await told(made, execution_id=execution_id)
    assert (delivery.state, delivery.code) == ("delivered", None)
    started = await made.store.by_key(f"notification/{delivery.key}")
    assert started is not None
    await made.engine.until_quiet(started.execution_id)
    shown = await made.front.execution(started.execution_id)
    assert str(shown["ctx"]["said"]).startswith("tests/fails failed: python")
    assert (started.requested_by, shown["status"]) == ("notification ops", "completed")
    again = await made.front.redeliver(delivery.id)
    assert again.state == "delivered"
    assert len(await told(made)) == 1, "what it started is not told to it"
    assert len((await made.store.executions()).items) == 2


ANSWERED = """
workflow:
  - {step: start, tool: {kind: python, code: "1/0"}, next: {arcs: [{step: mend, when: "{{ event.failed }}"}]}}
  - {step: mend, tool: {kind: noop}}
"""


async def test_of_one_that_completed_no_failure_that_was_answered_is_told_as_its_error(
    made: Embedded, receiver: Receiver
) -> None:
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/", occasions=["completed"]))
    head = HELLO.partition("workload:")[0].partition("workflow:")[0]
    await made.front.start(Ask(text=head + ANSWERED.lstrip()))
    async with rounds(made):
        await receiver.count(1)
    assert (receiver.calls[0].json["event"], receiver.calls[0].json["error"]) == ("completed", None)


async def test_a_key_of_a_notification_is_nobody_elses(made: Embedded) -> None:
    with pytest.raises(RequestError, match="belongs to a schedule, a trigger or a notification"):
        await made.front.start(Ask(text=HELLO, idempotency_key="notification/x"))


async def test_one_that_waits_is_told_of_while_it_waits(made: Embedded, receiver: Receiver) -> None:
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/", occasions=["waiting"]))
    text = HELLO.replace(
        'kind: python, code: "result = f\'hello {name}\'", input: {name: "{{ workload.name }}"}',
        "kind: wait, signal: go",
    )
    started = await made.front.start(Ask(text=text))
    async with rounds(made):
        await receiver.count(1)
    assert receiver.calls[0].json["text"] == "tests/hello is waiting for the signal go (step greet)"
    assert started.execution_id == receiver.calls[0].json["execution_id"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "9"}, "'9' is no name for a notification"),
        ({"occasions": ["faild"]}, "'faild' is nothing that can be told"),
        ({"target": "webhok:https://x"}, "'webhok:https://x' names no way"),
        ({"target": "https://user:pw@x/y?token=t"}, "'x/y' names no way"),
        ({"target": "webhook:ftp://x"}, "no address of a webhook"),
        ({"target": "webhook:http://[::1"}, "no address of a webhook"),
        ({"target": "webhook:http://a b"}, "no address of a webhook"),
        ({"target": "webhook:https://u:p@x"}, "which may be secret"),
        ({"target": "webhook:https://x/y?token=t"}, "which may be secret"),
        ({"auth": None}, "needs a credential with the secret that signs"),
        ({"target": "slack:https://hooks.slack.com/x"}, "is a secret and is not written here"),
        ({"target": "slack", "auth": None}, "needs a credential with the address"),
        ({"target": "mail:x"}, "no list of up to 20 mail addresses"),
        ({"target": "mail:a@b.c,"}, "no list of up to 20 mail addresses"),
        ({"target": "playbook:ops/told"}, "needs no credential"),
        ({"target": "playbook", "auth": None}, "no playbook is named"),
        ({"target": "playbook:x", "auth": None, "children": True}, "tell itself for ever"),
    ],
)
async def test_what_makes_no_sense_is_refused(made: Embedded, change: dict[str, Any], said: str) -> None:
    fields = {"name": "ops", **change}
    with pytest.raises(RequestError, match=said.replace("(", r"\(")):
        await made.front.put_notification(ask(fields.pop("name"), **fields))


async def test_names_that_are_not_there_or_taken_are_said(made: Embedded) -> None:
    with pytest.raises(NotFound, match="there is no credential 'nobody'"):
        await made.front.put_notification(ask(auth="nobody"))
    with pytest.raises(NotFound, match="no playbook with the path 'ops/none'"):
        await made.front.put_notification(ask(target="playbook:ops/none", auth=None))
    await made.front.put_notification(ask(), new=True)
    with pytest.raises(Conflict, match="there is a notification 'ops' already"):
        await made.front.put_notification(ask(), new=True)
    await made.front.delete_notification("ops")
    with pytest.raises(NotFound, match="there is no notification 'ops'"):
        await made.front.send_sample("ops")


async def test_a_step_tells_whom_it_names_how_it_ended(made: Embedded, receiver: Receiver) -> None:
    for name, path in (("billing", "*"), ("elsewhere", "other/*")):
        target = f"webhook:{receiver.url}/{name}"
        await made.front.put_notification(ask(name, target=target, occasions=[], path=path))
    emit = "    spec: {policy: {emit: {events: [step.failed], to: [billing, elsewhere, nobody]}}}\n    tool:"
    await run(made, FAILS.replace("    tool:", emit, 1))
    await run(made, HELLO.replace("    tool:", emit, 1))
    [delivery] = await told(made)
    [call] = receiver.calls
    assert (delivery.occasion, call.json["event"], call.json["step"]) == (
        "step.failed",
        "step.failed",
        "greet",
    )
    error = {"kind": "python", "message": "ZeroDivisionError: division by zero", "step": "greet", "line": 1}
    assert call.json["error"] == error
    assert (
        call.json["text"]
        == "tests/fails step greet failed: python: ZeroDivisionError: division by zero (line 1)"
    )
    assert delivery_facts(delivery)["step"] == "greet"


async def test_a_step_that_ended_well_is_told_without_the_error_of_its_execution(
    made: Embedded, receiver: Receiver
) -> None:
    await made.front.put_notification(ask("billing", target=f"webhook:{receiver.url}/x", occasions=[]))
    emit = "spec: {policy: {emit: {events: [step.done], to: [billing]}}}"
    first = (
        f"workflow:\n  - {{step: first, {emit}, tool: {{kind: noop}}, next: {{arcs: [{{step: greet}}]}}}}\n"
    )
    await run(made, FAILS.replace("workflow:\n", first, 1))
    await told(made)
    [call] = receiver.calls
    assert (call.json["text"], call.json["error"]) == ("tests/fails step first ended well", None)


WAITS_LONG = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: slow, path: tests/slow}
executor: {spec: {policy: {sla: {expected: %s}}}}
workflow:
  - step: ask
    tool: {kind: wait, signal: go}
"""


async def test_one_that_takes_longer_than_expected_is_told_of_once(
    made: Embedded, receiver: Receiver
) -> None:
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/", occasions=["late"]))
    started = await made.front.start(Ask(text=WAITS_LONG % "0.05"))
    async with rounds(made):
        [call] = await receiver.count(1)
    assert call.json["text"] == "tests/slow is late: it should have taken 0.05 s; it is at step ask"
    assert (call.json["execution_id"], call.json["expected_ms"]) == (started.execution_id, 50)
    assert len(await told(made)) == 1


async def test_one_that_was_over_in_time_is_not_late(made: Embedded, receiver: Receiver) -> None:
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/", occasions=["late"]))
    text = HELLO.replace("workload:", "executor: {spec: {policy: {sla: {expected: 10m}}}}\nworkload:")
    await run(made, text)
    assert await told(made) == [], "what may yet be late is not shown"
    [pending] = made.store._deliveries.values()  # type: ignore[attr-defined]
    assert pending.next_at == pending.at
    pending.next_at = 0
    await told(made)
    assert made.store._deliveries == {}  # type: ignore[attr-defined]
    assert receiver.calls == []


class SettlesFirst(deliveries.Deliveries):
    """A planted bug: what is about to be sent counts as delivered."""

    async def _deliver(self, delivery: Delivery) -> None:
        outcome = Outcome("delivered", Attempt(delivery.at), "[]")
        await self._store.settle_delivery(delivery.id, delivery.attempts, outcome)
        await self._attempted(delivery)


class Dies:
    """A process that ends when it is about to send."""

    async def send(self, *told: object) -> int | None:
        raise asyncio.CancelledError


@pytest.mark.parametrize(("kind", "lost"), [(deliveries.Deliveries, 0), (SettlesFirst, 1)])
async def test_nothing_is_lost_with_a_process_and_a_bug_that_loses_something_is_caught(
    made: Embedded, receiver: Receiver, kind: type[deliveries.Deliveries], lost: int
) -> None:
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/"))
    execution_id = await run(made)
    dying = kind(made.store, made.keychain)
    dying.sender_of = lambda name: Dies()
    await dying.round()
    await dying.finish()
    assert receiver.calls == []
    for delivery in made.store._deliveries.values():  # type: ignore[attr-defined]
        if delivery.next_at is not None:
            delivery.next_at = 0  # its lease is over
    await told(made)
    missing = {execution_id} - {call.json["execution_id"] for call in receiver.calls}
    assert len(missing) == lost


async def test_what_an_execution_waits_for_is_in_the_sentence(made: Embedded, receiver: Receiver) -> None:
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/", occasions=["waiting"]))
    text = HELLO.replace(
        'kind: python, code: "result = f\'hello {name}\'", input: {name: "{{ workload.name }}"}',
        "kind: wait, input: {approval: Shall it go?}",
    )
    await made.front.start(Ask(text=text))
    async with rounds(made):
        await receiver.count(1)
    assert receiver.calls[0].json["text"] == "tests/hello is waiting for Shall it go? (step greet)"


REFUSED = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: refused, path: tests/refused}
workflow:
  - step: fetch
    loop: {in: [orders], iterator: source}
    tool: [{name: page, kind: http, input: {url: "%s/{{ iter.source }}"}}]
"""


async def test_what_an_address_answered_is_told_with_the_place_where_it_was_asked(
    made: Embedded, receiver: Receiver
) -> None:
    receiver.answers = [web.Response(status=401, text="this key is disabled")]
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/told"))
    await run(made, REFUSED % receiver.url)
    await told(made)
    message = receiver.calls[-1].json
    place = {"step": "fetch", "task": "page", "iteration": 0, "body": "this key is disabled"}
    assert place.items() <= message["error"].items()
    assert message["text"].endswith(
        "answered 401 Unauthorized: this key is disabled (step fetch, task page, iteration 0)"
    )


FLAWED = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: flawed, path: tests/flawed}
workflow:
  - step: each
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: [1, 2, 3], iterator: n}
    tool: {kind: python, input: {n: "{{ iter.n }}", code: "result = 1 // (n - 2)"}}
    next: {arcs: [{step: after, when: "{{ event.ok }}"}]}
  - step: after
    tool: {kind: python, code: "raise ValueError('nothing to sum')"}
"""
FIRST = "the first: python: ZeroDivisionError: integer division or modulo by zero (step each)"


@pytest.mark.parametrize(
    ("text", "occasion", "sentence"),
    [
        (
            FLAWED,
            "failed",
            "failed: python: ValueError: nothing to sum (step after, line 1); before it 1 iteration failed",
        ),
        (
            FLAWED.replace("raise ValueError('nothing to sum')", "pass"),
            "completed",
            "completed, 1 iteration failed",
        ),
    ],
)
async def test_iterations_that_a_loop_went_on_without_are_told_with_the_first_error(
    made: Embedded, receiver: Receiver, text: str, occasion: Any, sentence: str
) -> None:
    await made.front.put_notification(ask(target=f"webhook:{receiver.url}/", occasions=[occasion]))
    await run(made, text)
    await told(made)
    [call] = receiver.calls
    assert call.json["text"] == f"tests/flawed {sentence}, {FIRST}"

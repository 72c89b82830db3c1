"""The client reaches all that the REST API offers: what starts executions, who is told, who may what."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import noetl
from noetl.client.execution import AsyncExecution
from noetl.errors import Conflict, Denied, NotFound, RequestError
from tests.docs.generated import ROOT

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: echo, path: standing/echo}
workload: {payload: null}
workflow:
  - step: echo
    tool: {kind: python, input: {given: "{{ workload.payload }}", code: "result = given"}}
"""
# What only the pages of the web UI ask for, or what is for programs that know no client.
FOR_PAGES = {
    *("POST graph", "GET overview", "GET waits", "GET recent", "GET about", "GET uses"),
    *(f"GET executions/ID/{name}" for name in ("pulse", "page", "progress", "data", "timeline", "found")),
    *("GET executions/ID/loops", "GET executions/ID/loops/ID", "GET executions/ID/loops/ID/ID"),
    *("GET executions/ID/log", "GET executions/ID/projection", "POST hooks/ID"),
    *("POST session", "GET session", "DELETE session"),
    *("GET session/ways", "GET session/login", "GET session/login/done"),
}
METHODS = {
    "catalog": {"POST": "register", "GET": "playbooks"},
    "catalog/ID": {"GET": "playbook", "DELETE": "delete_playbook"},
    "validate": {"POST": "validate"},
    "executions": {"POST": "run", "GET": "executions"},
    "results/ID/ID": {"GET": "fetch"},
    "schedules": {"GET": "schedules", "POST": "put_schedule"},
    "schedules/ID": {"GET": "schedule", "PUT": "put_schedule", "DELETE": "delete_schedule"},
    "schedules/ID/ticks": {"GET": "schedule_ticks"},
    "schedules/ID/run": {"POST": "run_schedule"},
    "ticks": {"GET": "coming_ticks"},
    "backfills": {"GET": "backfills", "POST": "add_backfill"},
    "backfills/ID": {"GET": "backfill"},
    "backfills/ID/ticks": {"GET": "backfill_ticks"},
    **{f"backfills/ID/{wish}": {"POST": f"{wish}_backfill"} for wish in ("pause", "resume", "cancel")},
    "triggers": {"GET": "triggers", "POST": "put_trigger"},
    "triggers/ID": {"GET": "trigger", "PUT": "put_trigger", "DELETE": "delete_trigger"},
    "triggers/ID/arrivals": {"GET": "arrivals"},
    "triggers/ID/run": {"POST": "run_trigger"},
    "notifications": {"GET": "notifications", "POST": "put_notification"},
    "notifications/ID": {"GET": "notification", "PUT": "put_notification", "DELETE": "delete_notification"},
    "notifications/ID/test": {"POST": "test_notification"},
    "deliveries": {"GET": "deliveries"},
    "deliveries/ID": {"GET": "delivery"},
    "deliveries/ID/redeliver": {"POST": "redeliver"},
    "credentials": {"GET": "credentials"},
    "credentials/ID": {"PUT": "put_credential", "GET": "credential", "DELETE": "delete_credential"},
    "credentials/rotate": {"POST": "rotate_credentials"},
    "tokens": {"POST": "new_token", "GET": "tokens"},
    "tokens/ID": {"DELETE": "delete_token"},
    "workers": {"GET": "workers"},
    "tools": {"GET": "tools"},
    "schema": {"GET": "schema"},
}
OF_EXECUTION = {
    "": "result", "events": "events", "stream": "follow", "logs": "logs", "logs/stream": "follow_logs",
    "state": "state", "why": "why", "diff/ID": "diff", "graph": "graph", "playbook": "playbook", "render": "render",
    **{name: name for name in ("cancel", "pause", "resume", "release", "signal", "retry", "rerun")},
}  # fmt: skip


def test_every_route_of_the_api_has_its_method() -> None:
    page = (ROOT / "docs" / "reference" / "rest.md").read_text()
    routes = re.findall(r"(?m)^\| `([A-Z]+) /api/v1/([^`?]+)", page)
    offered = {f"{verb} {re.sub(r'{[^}]*}', 'ID', place)}" for verb, place in routes}
    of_execution = {place for name in offered if (place := name.partition("executions/ID")[2])}
    reached = {f"{verb} {place}" for place, verbs in METHODS.items() for verb in verbs}
    assert {name for name in offered - FOR_PAGES - reached if "executions/ID" not in name} == set()
    pages = {name.partition("executions/ID")[2] for name in FOR_PAGES}
    assert {place.strip("/") for place in of_execution - pages} <= set(OF_EXECUTION)
    assert reached <= offered
    assert all(hasattr(noetl.Client, name) for verbs in METHODS.values() for name in verbs.values())
    assert all(hasattr(noetl.Execution, name) for name in OF_EXECUTION.values())


def signatures(kind: type) -> dict[str, list[str]]:
    return {
        name: [parameter.name for parameter in inspect.signature(value).parameters.values()][1:]
        for name, value in inspect.getmembers(kind, callable)
        if not name.startswith("_")
    }


@pytest.mark.parametrize(
    "plain, awaited", [(noetl.Client, noetl.AsyncClient), (noetl.Execution, AsyncExecution)]
)
def test_the_plain_ones_and_the_awaited_ones_offer_the_same(plain: type, awaited: type) -> None:
    assert signatures(plain) == signatures(awaited)


@pytest.fixture
def client(url: str) -> Iterator[noetl.Client]:
    with noetl.Client(url) as made:
        made.register(PLAYBOOK)
        yield made


def test_a_schedule_is_kept_run_and_forgotten(client: noetl.Client) -> None:
    kept = client.put_schedule(noetl.ScheduleAsk(name="daily", path="standing/echo", cron="0 3 * * *"))
    assert kept.next_at is not None
    assert client.schedule("daily").cron == "0 3 * * *"
    assert "daily" in [schedule.name for schedule in client.schedules()]
    assert client.run_schedule("daily").wait().ok
    assert list(client.schedule_ticks("daily")) == []  # what is started by hand is no tick
    with pytest.raises(RequestError):
        client.put_schedule(noetl.ScheduleAsk(name="daily", path="standing/echo", cron="never"))
    client.delete_schedule("daily")
    with pytest.raises(NotFound, match="daily"):
        client.schedule("daily")


def test_a_backfill_is_planned_steered_and_read(client: noetl.Client) -> None:
    span: dict[str, Any] = {
        "from_": "2026-01-01",
        "to": "2026-01-03",
        "path": "standing/echo",
        "cron": "@daily",
    }
    planned = client.add_backfill(noetl.BackfillAsk(**span, dry_run=True))
    assert len(planned.ticks) >= 2
    begun = client.add_backfill(noetl.BackfillAsk(**span)).backfill
    assert begun.id in [one.id for one in client.backfills()]
    while client.backfill(begun.id).status == "running":
        client.executions(path="standing/echo")
    ticks = client.backfill_ticks(begun.id)
    assert {tick.status for tick in ticks} == {"completed"}
    with pytest.raises(Conflict):
        client.pause_backfill(begun.id)
    with pytest.raises(Conflict):
        client.cancel_backfill(begun.id)


def test_a_trigger_is_kept_and_started_by_hand(client: noetl.Client) -> None:
    made = client.put_trigger(noetl.TriggerAsk(name="hook", kind="webhook", path="standing/echo"))
    assert made.secret
    assert client.trigger("hook").path == "standing/echo"
    execution = client.run_trigger("hook", {"n": 1}, idempotency_key="one")
    assert execution.wait().output == {"n": 1}
    assert client.run_trigger("hook", {"n": 1}, idempotency_key="one").execution_id == execution.execution_id
    assert list(client.arrivals("hook")) == []
    client.delete_trigger("hook")
    assert "hook" not in [trigger.name for trigger in client.triggers()]


def test_somebody_is_told_and_the_delivery_is_read(client: noetl.Client) -> None:
    client.put_notification(
        noetl.NotificationAsk(name="oncall", target="playbook:standing/echo", path="standing/*")
    )
    delivery = client.test_notification("oncall")
    assert delivery.state == "delivered"
    assert client.delivery(delivery.id).notification == "oncall"
    assert [one.id for one in client.deliveries(notification="oncall")] == [delivery.id]
    assert client.redeliver(delivery.id).state == "delivered"
    assert client.notification("oncall").path == "standing/*"
    client.delete_notification("oncall")
    assert "oncall" not in [one.name for one in client.notifications()]


def test_credentials_go_in_and_never_come_back(client: noetl.Client) -> None:
    client.put_credential("shop", {"user": "ada", "password": "a-secret"})
    assert client.credential("shop")["fields"] == ["password", "user"]
    assert "shop" in [name for name, _ in client.credentials()]
    assert "a-secret" not in str((client.credential("shop"), client.credentials()))
    assert client.rotate_credentials() >= 1
    client.delete_credential("shop")
    with pytest.raises(NotFound):
        client.credential("shop")


def test_a_token_is_made_told_apart_and_ended(client: noetl.Client) -> None:
    made = client.new_token(noetl.TokenAsk(name="ci", scopes=["run"], prefixes=["team"]))
    assert made.bearer.startswith("noetl_")
    assert made.token.id in [token.id for token in client.tokens()]
    client.delete_token(made.token.id)


def test_what_a_token_may_not_do_is_denied(guarded: tuple[str, str]) -> None:
    with noetl.Client(*guarded) as client:
        with pytest.raises(Denied, match="admin"):
            client.put_credential("shop", {"value": "x"})
        with pytest.raises(Denied, match="admin"):
            client.tokens()


def test_a_text_is_checked_and_the_language_is_told(client: noetl.Client) -> None:
    assert client.validate(PLAYBOOK) == []
    (finding, *_) = client.validate(PLAYBOOK.replace("kind: python", "kind: pyhton"))
    assert (finding.code, finding.line) == ("unknown-kind", 7)
    assert "python" in [kind["kind"] for kind in client.tools()]
    assert client.schema()["$defs"]
    assert "code" in str(client.schema("python"))


def test_an_execution_tells_its_text_how_it_differs_and_what_a_template_gives(client: noetl.Client) -> None:
    first, other = (client.run("standing/echo", payload=value) for value in (1, 2))
    assert [first.wait().output, other.wait().output] == [1, 2]
    assert first.playbook().text == PLAYBOOK
    assert first.render("{{ workload.payload + 1 }}") == 2
    assert first.diff(other.execution_id)["workload"]

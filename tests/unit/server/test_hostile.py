"""Nothing that an author writes stops the server: it refuses, by name, and goes on answering."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from noetl.core.values.nesting import NESTED_MOST
from noetl.server import isolated_check
from tests.unit.server.serving import HELLO, Served

TEMPLATES = (
    "{{ 'a' * 1000000000 }}",
    "{{ 'x' | center(100000000) }}",
    "{{ '%100000000d' % 1 }}",
    "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
    "{{ 10 ** 1000000 }}",
    "{{ range(10 ** 9) | list }}",
    "{{ lipsum(n=1000000) }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ ('a' * 60 ~ '!') | regex_replace('(a+)+$', 'b') | length | abc }}",
    "{{ ctx | attr('__class__') }}",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ " + "-" * 10_000 + "1 }}",
    "{{ " + "[" * 3000,
    "{{ x" + ".y" * 5000 + " }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% include '/etc/passwd' %}",
    "{{ '\\ud800' }}",
)

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: t/a}\n"
TEXTS = {
    "nothing": "",
    "brackets": "[" * 30_000,
    "braces": "{a: " * 8_000,
    "dashes": "- " * 15_000,
    "aliases": "a: &a [x, x]\n"
    + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)),
    "merge keys": "a: &a {k: 1}\n" + "".join(f"b{i}: &b{i} {{<<: [*a, *a]}}\n" for i in range(500)),
    "tags": "!!python/object/apply:os.system ['id']",
    "anchors of itself": "&a [*a]",
    "no text": "\x00\x01\x02",
    "surrogate": "a: \ud800",
    "long line": HEAD + "workflow: '" + "x" * 900_000 + "'\n",
    "many keys": HEAD + "workflow: []\n" + "".join(f"k{i}: 1\n" for i in range(8_000)),
    "digits": HEAD + f"workflow: [{'9' * 30_000}]\n",
    "exponent": HEAD + "workload: {a: 1e999999}\nworkflow: []\n",
}


async def alive(server: Served) -> bool:
    return (await server.client.get("/health/live")).status_code == 200


async def test_a_hostile_template_is_refused_and_no_more(server: Served) -> None:
    shown = await server.run(HELLO)
    place = f"/api/v1/executions/{shown['execution_id']}/render"
    for template in TEMPLATES:
        answer = await server.client.post(place, json={"template": template})
        assert answer.status_code == 400, (template[:40], answer.text[:300])
        assert await alive(server)


@pytest.mark.parametrize(
    "route, statuses",
    [
        ("/api/v1/validate", {200, 400, 413}),
        ("/api/v1/graph", {200, 400}),
        ("/api/v1/catalog", {400, 422}),
        ("/api/v1/executions", {400, 422}),
    ],
)
async def test_a_hostile_text_is_refused_and_no_more(server: Served, route: str, statuses: set[int]) -> None:
    headers = {"Content-Type": "application/json"}
    for name, text in TEXTS.items():
        if len(text) > isolated_check.SMALL and route != "/api/v1/validate":
            continue  # what lies behind is the same for all
        content = json.dumps({"playbook": text}).encode()
        answer = await server.client.post(route, content=content, headers=headers)
        assert answer.status_code in statuses, (name, answer.text[:300])
        assert await alive(server)


async def test_a_text_that_takes_too_long_to_check_is_refused(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_check, "DEADLINE_S", 0.001)
    steps = "".join(
        f"  - step: s{i}\n    tool: {{kind: noop}}\n    next: {{arcs: [{{step: x{i}}}]}}\n"
        for i in range(4000)
    )
    for route in ("/api/v1/validate", "/api/v1/catalog", "/api/v1/executions"):
        answer = await server.client.post(route, json={"playbook": f"{HEAD}workflow:\n{steps}"})
        assert answer.status_code == 413, answer.text[:300]
        assert await alive(server)


async def test_a_large_text_that_is_well_is_registered(server: Served) -> None:
    text = HELLO + "# " + "x" * 100 + "\n"
    text += "".join(f"# line {i}\n" for i in range(4000))
    assert len(text) > isolated_check.SMALL
    assert (await server.register(text))["version"] == 1


async def test_only_some_large_texts_are_checked_at_once(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: bytes) -> bool:
        began.set()
        await go_on.wait()
        return True

    monkeypatch.setattr(isolated_check, "_survives", slow)
    text = HELLO + "#\n" * isolated_check.SMALL
    first = [
        asyncio.create_task(server.client.post("/api/v1/validate", json={"playbook": text})) for _ in range(2)
    ]
    await began.wait()
    statuses = []
    while 503 not in statuses:
        third = await server.client.post("/api/v1/validate", json={"playbook": HELLO})
        assert third.status_code == 200
        task = asyncio.create_task(server.client.post("/api/v1/validate", json={"playbook": text}))
        done, _ = await asyncio.wait({task}, timeout=1)
        statuses += [one.result().status_code for one in done]
        first.append(task)
    go_on.set()
    assert {answer.status_code for answer in await asyncio.gather(*first)} == {200, 503}


@pytest.mark.parametrize(
    "body",
    [
        {"path": "tests/hello", "workload": {"a": ["x\0"]}},
        {"path": "tests/hello", "workload": {"a\0": 1}},
        {"path": "tests/hello\0"},
        {"path": "tests/hello", "idempotency_key": "\0"},
    ],
)
async def test_no_nul_character_enters_the_log(server: Served, body: dict[str, Any]) -> None:
    await server.register(HELLO)
    answer = await server.client.post("/api/v1/executions", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "request")
    assert "NUL" in answer.json()["detail"]


async def test_no_value_enters_that_is_nested_too_deep_to_be_kept(server: Served) -> None:
    await server.register(HELLO)
    workload = b'{"a":' * (NESTED_MOST + 1) + b"{}" + b"}" * (NESTED_MOST + 1)
    body = b'{"path":"tests/hello","workload":' + workload + b"}"
    headers = {"Content-Type": "application/json"}
    answer = await server.client.post("/api/v1/executions", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "request")
    assert "nested deeper" in answer.json()["detail"]


async def test_letters_that_only_look_like_a_nul_character_are_kept(server: Served) -> None:
    await server.register(HELLO)
    body = {"path": "tests/hello", "workload": {"name": "\\u0000"}}
    answer = await server.client.post("/api/v1/executions?wait=30", json=body)
    assert answer.json()["output"] == "hello \\u0000"


@pytest.mark.parametrize(
    "address, status",
    [
        ("/api/v1/executions?path=%00", 400),
        ("/api/v1/catalog?path=a%00", 400),
        ("/api/v1/catalog/a%00b", 404),
    ],
)
async def test_no_nul_character_of_an_address_comes_to_the_store(
    server: Served, address: str, status: int
) -> None:
    answer = await server.client.get(address)
    assert answer.status_code == status
    assert "NUL character" in answer.json()["detail"]


SELECTIONS = (
    "[@,@]" + "|[@,@]" * 25,
    "{a:@,b:@}" + "|{a:@,b:@}" * 25,
    "[" * 400,
    "!" * 900 + "a",
    "&a",
    "a < `1`",
    "floor(to_number('1e999'))",
    "a" * 1_001,
)


async def test_a_hostile_selection_is_refused_and_no_more(server: Served) -> None:
    text = "result = {'a': 'x' * 70_000}"
    shown = await server.run(
        HEAD + f'workflow:\n  - step: start\n    tool: {{kind: python, input: {{code: "{text}"}}}}\n'
    )
    events = (await server.client.get(f"/api/v1/executions/{shown['execution_id']}/events")).text
    (key,) = set(re.findall(r'"key":"([^"]+)"', events.replace(" ", "")))
    for select in SELECTIONS:
        answer = await server.client.get(f"/api/v1/results/{key}", params={"select": select})
        assert answer.status_code == 400, (select, answer.text)
        assert answer.json()["hint"], answer.text
    assert await alive(server)


def schema_of(levels: int, leaf: str) -> str:
    """A schema of a few lines that asks the same of one value four times more often per level."""
    links = [", ".join([f"{{$ref: '#/$defs/l{level + 1}'}}"] * 4) for level in range(levels)]
    refs = "".join(f"l{level}: {{allOf: [{link}]}}, " for level, link in enumerate(links))
    return f'{{$ref: "#/$defs/l0", $defs: {{{refs}l{levels}: {{type: {leaf}}}}}}}'


@pytest.mark.parametrize(("leaf", "status"), [("string", "failed"), ("object", "completed")])
async def test_a_hostile_schema_costs_no_more_than_its_execution(
    server: Served, leaf: str, status: str
) -> None:
    shown = await server.run(
        HEAD
        + "workflow:\n  - step: start\n    input: {a: 1}\n"
        + f"    spec: {{validate: {{input: {schema_of(14, leaf)}}}}}\n    tool: {{kind: noop}}\n"
    )
    assert shown["status"] == status
    assert await alive(server)


async def test_a_stored_answer_that_is_made_to_hurt_is_shown_as_text(server: Served) -> None:
    execution_id = (await server.run(HELLO))["execution_id"]
    key, _, _ = await server.made.results.write_stream(execution_id, once(b"[" * 200_000))
    answer = await server.client.get(f"/api/v1/results/{key}")
    assert (answer.status_code, answer.json()["content_type"]) == (200, "text/plain")


async def once(body: bytes) -> AsyncIterator[bytes]:
    yield body


@pytest.mark.parametrize("moment", ["0.5", "1e400", "-1", "9" * 4_500, "now"])
async def test_a_number_is_no_moment(server: Served, moment: str) -> None:
    for name in ("since", "until"):
        answer = await server.client.get("/api/v1/executions", params={name: moment})
        assert answer.status_code == 400, answer.text
    good = await server.client.get("/api/v1/executions", params={"until": "2026-01-31T12:00:00Z"})
    assert good.status_code == 200

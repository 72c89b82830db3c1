"""What a reader is never shown, whatever they ask for: secrets, and what a filter was not meant to select."""

from pathlib import Path

import pytest

from noetl.adapters.sqlite.store import SqliteStore
from tests.unit.server.serving import HELLO, Served, guarded, served
from tests.unit.server.test_access import GUARDED, Case

CANARY = "s3cr3t-canary-7461"
USES_A_SECRET = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: pries, path: tests/pries}
keychain:
  - {name: api, kind: credential, credential: api}
workflow:
  - step: call
    tool:
      kind: http
      input: {url: "http://127.0.0.1:1/x"}
      auth: api
    next: {arcs: [{step: after}]}
  - step: after
    tool: {kind: noop}
"""
ODD = (
    "'",
    '"',
    "' OR '1'='1",
    "'; DROP TABLE executions; --",
    '" OR ""="',
    "1 UNION SELECT * FROM secrets",
    "%",
    "_",
    "%' ESCAPE '\\",
    "\\",
    "\\'",
    "tests/hello'--",
    "tests/hell%",
    "tests/hell_",
    "*",
    "[a-z]*",
    "tests/*",
    "?",
    "(select 1)",
    "0x00",
    "${7*7}",
    "{{ 7*7 }}",
    "../../etc/passwd",
    "%00",
    "\u0000",
    "\u202e",
    "ｔｅｓｔｓ／ｈｅｌｌｏ",
    "tests/hello\n",
    "TESTS/HELLO",
    "9" * 400,
    "-1",
    "1e400",
    "null",
    "[]",
    "{}",
    "' || (select hash from tokens) || '",
    "'||pg_sleep(10)--",
    "a" * 200,
)
# Case does not matter, a number is a moment, and a path may be a pattern.
MEANT = {("text", "TESTS/HELLO"), ("since", "-1"), ("path", "*"), ("path", "tests/*")}
FILTERS = ("path", "text", "cursor", "prefix", "parent", "status", "since", "until", "limit", "children")


async def test_a_reader_of_everything_sees_no_secret(tmp_path: Path) -> None:
    async with guarded(tmp_path) as server:
        assert (await server.client.put("/api/v1/credentials/api", json={"token": CANARY})).status_code == 204
        shown = await server.run(USES_A_SECRET)
        assert shown["failures"]
        case = Case(server, shown["execution_id"], "0" * 32)
        reader = {"Authorization": f"Bearer {await case.token('read')}"}
        for method, path, _ in GUARDED:
            if method == "GET":
                place = case.place(path).replace("tests/hello", "tests/pries").replace("/pg", "/api")
                answer = await server.client.get(place, headers=reader)
                assert CANARY not in answer.text, path


@pytest.mark.parametrize("name", FILTERS)
async def test_a_filter_selects_what_it_says_and_nothing_else(tmp_path: Path, name: str) -> None:
    async with served(tmp_path, store=SqliteStore(str(tmp_path / "noetl.db"))) as server:
        await server.run(HELLO)
        for odd in ODD:
            answer = await server.client.get("/api/v1/executions", params={name: odd})
            assert answer.status_code in (200, 400), (odd, answer.text)
            if answer.status_code == 200 and (name, odd) not in MEANT:
                assert answer.json()["items"] == [], odd
        assert len((await server.client.get("/api/v1/executions")).json()["items"]) == 1


async def test_odd_names_find_nothing_anywhere(tmp_path: Path) -> None:
    async with served(tmp_path, store=SqliteStore(str(tmp_path / "noetl.db"))) as server:
        shown = await server.run(HELLO)
        place = f"/api/v1/executions/{shown['execution_id']}"
        for odd in ODD:
            await _finds_nothing(server, place, odd)


async def _finds_nothing(server: Served, place: str, odd: str) -> None:
    for path, params in (
        ("/api/v1/catalog", {"path": odd}),
        (f"{place}/events", {"step": odd}),
        (f"{place}/why", {"step": odd}),
        ("/api/v1/schema", {"kind": odd}),
    ):
        answer = await server.client.get(path, params=params)
        assert answer.status_code in (200, 400, 404), (path, odd, answer.text)
        assert answer.status_code != 200 or answer.json()["items"] == [], (path, odd)
    started = await server.client.post("/api/v1/executions", json={"path": odd})
    assert started.status_code in (400, 404), (odd, started.text)

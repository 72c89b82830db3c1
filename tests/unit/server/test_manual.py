"""The documentation that a server serves at /docs, to anyone."""

import os
from pathlib import Path

import pytest

from noetl import documentation
from tests.unit.server.serving import Served, guarded

NEEDED = {
    "site.css": "text/css; charset=utf-8",
    "site.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "images/orders.svg": "image/svg+xml",
    "images/ui/home-dark.png": "image/png",
    "schema/playbook.json": "application/json",
    "search.js": "text/javascript; charset=utf-8",
}


async def test_a_page_is_there_with_its_anchors_and_its_neighbours(server: Served) -> None:
    answer = await server.client.get("/docs/how-to/use-a-server")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert '<h2 id="read-about-it">' in answer.text
    assert 'href="/docs/reference/settings"' in answer.text
    assert 'rel="next"' in answer.text
    for other in (
        "/docs",
        "/docs/",
        "/docs/errors/unknown-step",
        "/docs/examples/hello",
        "/docs/reference/tools/",
    ):
        assert (await server.client.get(other)).status_code == 200


async def test_a_page_is_there_as_it_was_written(server: Served) -> None:
    answer = await server.client.get("/docs/how-to/install.md")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/markdown; charset=utf-8")
    assert answer.text.startswith("# Install it\n")


async def test_what_a_page_needs_is_there_and_is_sent_once(server: Served) -> None:
    for name, kind in NEEDED.items():
        answer = await server.client.get(f"/docs/{name}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
        again = await server.client.get(f"/docs/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_what_is_no_page_is_not_found_and_said_as_a_page(server: Served) -> None:
    outside = ("..%2f..%2fpyproject.toml", "how-to/../../pyproject.toml", "images/../../pyproject.toml")
    for name in ("nothing", "nothing.md", *outside, "page.html", "site.py", "index.html"):
        answer = await server.client.get(f"/docs/{name}")
        assert answer.status_code in (401, 404), name
        assert "requires-python" not in answer.text
    missing = (await server.client.get("/docs/nothing")).text
    assert "There is no such page" in missing
    assert '<a href="/docs/">the first page</a>' in missing


async def test_nothing_but_reading_is_done_there(server: Served) -> None:
    assert (await server.client.post("/docs/index")).status_code == 405


async def test_who_is_not_known_reads_too(tmp_path: Path) -> None:
    async with guarded(tmp_path) as server:
        del server.client.headers["Authorization"]
        assert (await server.client.get("/docs/index")).status_code == 200
        assert (await server.client.get("/docs2")).status_code == 401
        assert (await server.client.post("/docs/index")).status_code == 401


async def test_a_page_that_was_edited_is_shown_as_it_is_now(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "docs" / "index.md"
    page.parent.mkdir()
    monkeypatch.setattr(documentation, "folder", lambda: tmp_path)
    monkeypatch.setattr(documentation, "sources", lambda: {"index": "docs/index.md"})
    for second in (1, 2):
        page.write_text(f"# Edited {second}\n")
        os.utime(page, (second, second))
        assert (await server.client.get("/docs/index.md")).text == f"# Edited {second}\n"


async def test_a_package_without_documentation_says_so(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: None)
    answer = await server.client.get("/docs")
    assert answer.status_code == 404
    assert "installed without its documentation" in answer.text

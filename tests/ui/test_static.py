"""The built files: all there, referenced, small, and such that a strict content policy lets them run."""

import gzip
import re
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.ui.conftest import Server

STATIC = Path(__file__).parents[2] / "noetl" / "server" / "static"
FIRST_LOAD_BYTES = 300 * 1000


PAGES = ("index.html", "execution.html")


def index(page: str = "index.html") -> str:
    return (STATIC / page).read_text()


def referenced(text: str) -> set[str]:
    return set(re.findall(r"assets/([\w.-]+)", text))


def reachable() -> set[str]:
    """Every file that the page can come to load, from one file to the next."""
    known: set[str] = set()
    waiting = referenced(index())
    while waiting:
        name = waiting.pop()
        known.add(name)
        text = (STATIC / "assets" / name).read_text()
        near = set(re.findall(r"[\"'`]\./([\w.-]+\.(?:js|css|svg))[\"'`]", text)) | referenced(text)
        waiting |= near - known
    return known


def test_every_built_file_is_there_and_used() -> None:
    assert reachable() == {file.name for file in (STATIC / "assets").iterdir()}


def test_the_first_load_is_small_and_has_neither_editor_nor_graph() -> None:
    first = referenced(index())
    assert not [name for name in first if name.startswith(("editor", "flow", "diff"))]
    files = [STATIC / "index.html", *(STATIC / "assets" / name for name in first)]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= FIRST_LOAD_BYTES


def test_the_page_of_an_execution_names_its_code_beforehand_and_is_else_the_same() -> None:
    beside = re.findall(r'modulepreload" crossorigin href="/assets/(\w+)-', index("execution.html"))
    assert {"app", "page", "flow"} <= set(beside)
    bare = re.compile(r'    <link rel="modulepreload".*\n')
    assert bare.sub("", index("execution.html")) == bare.sub("", index())


def test_an_execution_page_is_within_the_first_load_too() -> None:
    lazy = [file for file in (STATIC / "assets").iterdir() if not file.name.startswith(("editor", "diff"))]
    assert sum(len(gzip.compress(file.read_bytes())) for file in lazy) <= FIRST_LOAD_BYTES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_inline_script_and_no_inline_style(page: str) -> None:
    text = index(page)
    assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
    assert "<style" not in text
    assert " style=" not in text
    assert re.findall(r"\bon\w+=", text) == []


def asked(server: Server, name: str, **headers: str) -> Any:
    return urlopen(Request(f"{server.url}/assets/{name}", headers=headers), timeout=60)


def test_assets_come_packed_to_who_can_unpack_them_and_are_kept_for_good(server: Server) -> None:
    name = next(name for name in referenced(index()) if name.startswith("app"))
    plain = (STATIC / "assets" / name).read_bytes()
    with asked(server, name) as answer:
        assert answer.read() == plain
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Content-Type"].startswith("text/javascript")
    with asked(server, name, **{"Accept-Encoding": "gzip, br"}) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(answer.read()) == plain


@pytest.mark.parametrize("name", ["nope.js", "..%2findex.html", "%2e%2e/index.html", ".hidden", "a%00b"])
def test_what_is_no_asset_is_not_there(server: Server, name: str) -> None:
    with pytest.raises(HTTPError) as refused:
        asked(server, name)
    assert refused.value.code == 404
    refused.value.close()


def test_no_part_of_the_page_is_made_from_text() -> None:
    sources = Path(__file__).parents[2] / "ui" / "src"
    found = [
        file.name
        for file in sources.rglob("*.ts*")
        if re.search(
            r"dangerouslySetInnerHTML|\.innerHTML|insertAdjacentHTML|document\.write", file.read_text()
        )
    ]
    assert found == []

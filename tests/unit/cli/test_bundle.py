"""Files that a playbook calls, for a server that has none of them."""

from pathlib import Path

import pytest

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.cli.playbooks.bundle import bundle_files, find_in_project
from noetl.cli.playbooks.sources import Source, read
from noetl.errors import RequestError
from noetl.ports.front import Front
from noetl.settings import load
from noetl.wiring.embedded import assemble

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"


def playbook(name: str, *calls: str) -> str:
    """A playbook with a task for each call, which is written as it stands in YAML."""
    tasks = "".join(f"      - {{name: t{n}, kind: playbook, path: {call}}}\n" for n, call in enumerate(calls))
    body = tasks or "      - {name: t, kind: noop}\n"
    return f"{HEAD}metadata: {{name: {name}, path: tests/{name}}}\nworkflow:\n  - step: s\n    tool:\n{body}"


@pytest.fixture
async def front(tmp_path: Path) -> Front:
    settings = load({"store": "memory://", "home": str(tmp_path)}, environ={}, folder=tmp_path)
    return assemble(settings, MemoryStore(now_ms), MemoryResults(now_ms)).front


def put(folder: Path, name: str, text: str) -> Source:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return read(str(folder / name))


@pytest.mark.parametrize("quote", ["", '"', "'"])
async def test_a_call_of_a_file_names_the_path_it_has(front: Front, tmp_path: Path, quote: str) -> None:
    put(tmp_path, "sub/child.yaml", playbook("child", "beside.yaml"))
    put(tmp_path, "sub/beside.yaml", playbook("beside"))
    text = playbook("parent", f"{quote}sub/child.yaml{quote}", "tests/other")
    sent = await bundle_files(front, put(tmp_path, "parent.yaml", text), text)
    assert sent == playbook("parent", f"{quote}tests/child{quote}", "tests/other")
    assert [entry.path for entry in await front.playbooks()] == ["tests/beside", "tests/child"]
    assert (await front.playbook("tests/child")).text == playbook("child", "tests/beside")


async def test_two_calls_on_one_line_are_both_named(front: Front, tmp_path: Path) -> None:
    put(tmp_path, "a.yaml", playbook("much_longer_than_its_file"))
    put(tmp_path, "b.yaml", playbook("b"))
    calls = "[{name: x, kind: playbook, path: a.yaml}, {name: y, kind: playbook, path: b.yaml}]"
    text = f"{HEAD}metadata: {{name: p, path: tests/p}}\nworkflow: [{{step: s, tool: {calls}}}]\n"
    sent = await bundle_files(front, put(tmp_path, "p.yaml", text), text)
    assert "path: tests/much_longer_than_its_file}, {name: y, kind: playbook, path: tests/b}" in sent


async def test_files_that_call_each_other_or_themselves_come_to_an_end(front: Front, tmp_path: Path) -> None:
    text = playbook("one", "two.yaml", "one.yaml")
    put(tmp_path, "two.yaml", playbook("two", "one.yaml"))
    sent = await bundle_files(front, put(tmp_path, "one.yaml", text), text)
    assert sent == playbook("one", "tests/two", "tests/one")
    assert (await front.playbook("tests/two")).text == playbook("two", "tests/one")


async def test_what_is_no_file_stays_as_it_is_written(front: Front, tmp_path: Path) -> None:
    text = playbook("p", "nowhere.yaml", '"{{ workload.path }}.yaml"')
    assert await bundle_files(front, put(tmp_path, "p.yaml", text), text) == text
    assert await front.playbooks() == []


async def test_what_is_called_by_a_path_that_the_server_does_not_know_is_brought_along(
    front: Front, tmp_path: Path
) -> None:
    """So is what that calls, by path or file; a path that the server knows, or a version, stays its own."""
    put(tmp_path, "sub/child.yaml", playbook("child", "tests/grandchild", "beside.yaml", "tests/parent"))
    put(tmp_path, "sub/beside.yaml", playbook("beside"))
    put(tmp_path, "deep/grandchild.yaml", playbook("grandchild", "tests/child"))
    put(tmp_path, "known.yaml", playbook("known", "tests/nowhere"))
    put(tmp_path, "old.yaml", playbook("old"))
    await front.register(playbook("known"))
    templated, pinned = '"{{ workload.path }}"', "tests/old, version: 3"
    text = playbook("parent", "tests/child", "tests/known", "tests/nowhere", templated, pinned)
    parent = put(tmp_path, "parent.yaml", text)
    assert await bundle_files(front, parent, text, tmp_path) == text
    paths = [entry.path for entry in await front.playbooks()]
    assert paths == ["tests/beside", "tests/child", "tests/grandchild", "tests/known"]
    assert (await front.playbook("tests/child")).text.count("tests/beside") == 1
    assert (await front.playbook("tests/known")).text == playbook("known")


async def test_without_a_project_nothing_is_looked_for_by_its_path(front: Front, tmp_path: Path) -> None:
    put(tmp_path, "child.yaml", playbook("child"))
    text = playbook("parent", "tests/child")
    assert await bundle_files(front, put(tmp_path, "parent.yaml", text), text) == text
    assert await front.playbooks() == []


async def test_a_called_file_with_errors_is_named(front: Front, tmp_path: Path) -> None:
    put(tmp_path, "bad.yaml", playbook("bad").replace("noop", "nop"))
    text = playbook("p", "bad.yaml")
    with pytest.raises(RequestError, match=r"calls 'bad\.yaml', which has errors") as raised:
        await bundle_files(front, put(tmp_path, "p.yaml", text), text)
    assert "noetl validate" in (raised.value.hint or "")


def test_a_path_is_found_among_the_files_of_a_project(tmp_path: Path) -> None:
    assert find_in_project(tmp_path, "tests/deep") is None
    put(tmp_path, "other.yaml", playbook("other", "tests/deep"))
    put(tmp_path, "sub/deep.yaml", playbook("deep"))
    found = find_in_project(tmp_path, "tests/deep")
    assert found is not None
    assert found.data.decode() == playbook("deep")

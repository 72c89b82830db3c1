"""What tasks print is read while they run and afterwards, from one place; errors stand below it."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from noetl.ports.front import ALL_LINES, FindLines
from tests.engine.harness import begin, engine, finish, playbook

CHATTY = """
    - step: talk
      tool:
        - name: python
          kind: python
          input:
            code: |
              import json, logging, sys
              print("out"); print("err", file=sys.stderr)
              logging.warning("careful")
              print(json.dumps({"severity": "DEBUG", "n": 1}))
        - {name: shell, kind: shell, input: {command: "echo one; echo two >&2"}}
        - {name: broken, kind: python, input: {code: "print('before')\\n{}['key']"}}
    """
HOLDS = """
    - step: hold
      tool: {kind: python, input: {gate: "@gate@", code: "print('held')\\nopen(gate).read()\\nprint('let go')"}}
    """
CALLS = """
    - step: call
      tool:
        - {name: own, kind: python, input: {code: "print('parent')"}}
        - {name: child, kind: playbook, path: tests/child}
    """
CHILD = playbook("- {step: c, tool: {kind: shell, input: {command: echo child}}}").replace(
    "tests/case", "tests/child"
)


async def lines(made: Any, execution_id: str, find: FindLines = ALL_LINES, **more: Any) -> list[Any]:
    pages = made.front.follow_logs(execution_id, find, **{"live": False, **more})
    return [line async for page in pages for line in page["items"]]


def texts(found: list[Any]) -> list[str]:
    return [line["text"] for line in found]


async def test_lines_have_their_place_and_level_and_errors_stand_below_them(tmp_path: Path) -> None:
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, playbook(CHATTY)))
        found = await lines(made, ran.execution_id)
        worse = await lines(made, ran.execution_id, FindLines(level="warning"))
        shell = await lines(made, ran.execution_id, FindLines(task="shell", text="TWO"))
    of_task = {
        task: [line for line in found if line["task"] == task] for task in ("python", "shell", "broken")
    }
    assert [(line["level"], line["text"]) for line in of_task["python"]] == [
        (None, "out"),
        (None, "err"),
        ("warning", "WARNING:root:careful"),
        ("debug", '{"severity": "DEBUG", "n": 1}'),
    ]
    assert sorted(texts(of_task["shell"])) == ["one", "two"]
    assert texts(of_task["broken"])[:2] == ["before", "python: KeyError: 'key'"]
    assert any("line 2, in <module>" in text for text in texts(of_task["broken"]))
    assert found == sorted(found, key=lambda line: line["ts"])
    assert {(line["step"], line["run"], line["attempt"]) for line in found} == {("talk", "talk.1", 1)}
    assert texts(worse) == ["WARNING:root:careful", *texts(of_task["broken"])[1:]]
    assert texts(shell) == ["two"]
    done = {event["task_label"]: event["data"] for event in ran.named("task.done")}
    assert not any("logs" in data for data in done.values()), "lines are kept in one place"
    assert ran.error["details"]["log"] == ["before"]


async def test_lines_are_read_while_their_task_runs(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with engine(tmp_path) as made:
        execution_id = await begin(made, playbook(HOLDS.replace("@gate@", str(gate))))
        seen: list[str] = []
        async with asyncio.timeout(60), aclosing(made.front.follow_logs(execution_id)) as pages:
            async for page in pages:
                if page["items"] and not seen:
                    assert await made.front.status(execution_id) == "running"
                    await asyncio.to_thread(gate.write_text, "go on")
                seen += texts(page["items"])
        assert seen == ["held", "let go"]
        await finish(made, execution_id)


async def test_lines_of_children_are_read_along_on_demand(tmp_path: Path) -> None:
    async with engine(tmp_path) as made:
        await made.front.register(CHILD)
        ran = await finish(made, await begin(made, playbook(CALLS)))
        assert texts(await lines(made, ran.execution_id)) == ["parent"]
        for live in (False, True):
            found = await lines(made, ran.execution_id, FindLines(children=True), live=live)
            assert [(line["text"], line["execution_id"] == ran.execution_id) for line in found] == [
                ("parent", True),
                ("child", False),
            ]
        unseen = FindLines(children=True, sees=lambda path: path != "tests/child")
        assert texts(await lines(made, ran.execution_id, unseen)) == ["parent"]


async def test_the_traceback_of_a_child_is_shown_once_where_it_happened(tmp_path: Path) -> None:
    async with engine(tmp_path) as made:
        await made.front.register(
            CHILD.replace("kind: shell, input: {command: echo child}", "kind: python, input: {code: 1 / 0}")
        )
        ran = await finish(made, await begin(made, playbook(CALLS)))
        found = await lines(made, ran.execution_id, FindLines(children=True))
        told = [line["execution_id"] for line in found if "Traceback" in line["text"]]
        assert len(told) == 1
        assert told != [ran.execution_id]
        assert "Traceback (most recent call last):" in texts(await lines(made, ran.execution_id))
        unseen = FindLines(children=True, sees=lambda path: path != "tests/child")
        assert "Traceback (most recent call last):" in texts(await lines(made, ran.execution_id, unseen))


async def test_lines_of_a_child_that_begins_late_are_not_missed(tmp_path: Path) -> None:
    """Its parent goes on printing, and ends, before anyone has looked for children again."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    late = CALLS.replace("print('parent')", "print('parent')\\nopen(gate).read()").replace(
        "input: {code", f'input: {{gate: "{gate}", code'
    )
    last = "        - {name: last, kind: python, input: {code: \"print('last')\"}}\n"
    async with engine(tmp_path) as made:
        await made.front.register(CHILD)
        execution_id = await begin(made, playbook(late.rstrip() + "\n" + last))
        seen: list[str] = []
        following = made.front.follow_logs(execution_id, FindLines(children=True))
        async with asyncio.timeout(60), aclosing(following) as pages:
            async for page in pages:
                if page["items"] and not seen:
                    await asyncio.to_thread(gate.write_text, "go on")
                seen += texts(page["items"])
        await finish(made, execution_id)
    assert sorted(seen) == ["child", "last", "parent"]


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_pages_have_each_line_once_and_in_order(tmp_path: Path, limit: int) -> None:
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, playbook(CHATTY)))
        whole, after = await lines(made, ran.execution_id), ""
        found: list[Any] = []
        while True:
            page = await made.front.logs(ran.execution_id, after=after, limit=limit)
            found, after = found + page["items"], page["next"]
            if not page["more"]:
                break
    assert found == whole


async def test_a_task_that_prints_without_end_loses_its_middle_and_says_how_much(tmp_path: Path) -> None:
    code = "for n in range(20000): print(n, 'x' * 40)"
    workflow = f'- {{step: flood, tool: {{kind: python, input: {{code: "{code}"}}, spec: {{max_output_bytes: 20000}}}}}}'
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, playbook(workflow)))
        found = texts(await lines(made, ran.execution_id))
    assert ran.status == "completed"
    kept = [text for text in found if not text.startswith("…")]
    left_out = [int(text.split()[1].replace(",", "")) for text in found if text.startswith("…")]
    assert len(kept) + sum(left_out) == 20000
    assert kept[-1].startswith("19999 ")
    assert 0 < len(kept) < 19000

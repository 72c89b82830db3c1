"""Recorded tool outputs as the text of a test file: within bounds, and put where the author's file has them.

Of a file that is there already only the recorded parts change; comments and order stay.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from noetl.dsl.testing.script import HELD, Place
from noetl.dsl.yaml.dump import dump
from noetl.dsl.yaml.tree import Map, Seq, Value

ANSWER_BYTES = 32 * 1024
RECORDED_BYTES = 1024 * 1024
LEAST_BYTES = 1024
CUT = "…"
DROPPED_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "set-cookie"})
Recorded = tuple[Place, Mapping[str, Value]]  # a call and the envelope it was answered with


class NotInBlocks(Exception):
    """A test is written in a style in which nothing can be replaced line by line."""


def answers(calls: Sequence[Recorded]) -> tuple[dict[str, Value], list[str]]:
    """The `given` of calls, by task, and the tasks whose data had to be cut."""
    limit = max(LEAST_BYTES, min(ANSWER_BYTES, RECORDED_BYTES // max(1, len(calls))))
    by_task: dict[str, list[Recorded]] = {}
    for place, output in calls:
        by_task.setdefault(place.name, []).append((place, output))
    given: dict[str, Value] = {}
    cut: list[str] = []
    for task, own in by_task.items():
        task_answers = []
        for place, output in own:
            answer, whole = _answer(output, limit)
            task_answers.append({**_which(place, own), **answer})
            if not whole and task not in cut:
                cut.append(task)
        given[task] = task_answers[0] if len(task_answers) == 1 else task_answers
    return given, cut


def _which(place: Place, all_: Sequence[Recorded]) -> dict[str, Value]:
    """What tells a call from the other calls of its task."""
    if len(all_) == 1:
        return {}
    places = [other for other, _ in all_]
    which: dict[str, Value] = {}
    if any(other.run != place.run for other in places):
        which["run"] = place.run
    if any(other.iteration != place.iteration for other in places):
        which["iteration"] = list(place.iteration) if len(place.iteration) > 1 else place.iteration[0]
    if any(other.visit != place.visit for other in places):
        which["visit"] = place.visit
    if any(other.attempt != place.attempt for other in places):
        which["attempt"] = place.attempt
    return which


def _answer(output: Mapping[str, Value], limit: int) -> tuple[dict[str, Value], bool]:
    answer: dict[str, Value] = {}
    if output["status"] == "ok" or output.get("data") is not None:
        answer["data"] = fitted(output.get("data"), limit)
    if output["status"] != "ok":
        error = {key: value for key, value in output["error"].items() if value not in (None, {}, False)}
        answer["error"] = fitted(error, limit)
    for helper in HELD:
        if output.get(helper):
            answer[helper] = fitted(_without_secrets(output[helper]), limit)
    return answer, answer.get("data") == output.get("data")


def _without_secrets(fields: Mapping[str, Value]) -> dict[str, Value]:
    headers = fields.get("headers")
    if not isinstance(headers, Mapping):
        return dict(fields)
    return {**fields, "headers": {key: value for key, value in headers.items() if key not in DROPPED_HEADERS}}


def fitted(value: Value, limit: int) -> Value:
    """A value of at most about so many bytes: lists lose their last items, texts their end."""
    if size(value) <= limit:
        return value
    if isinstance(value, str):
        return value[: max(0, limit - len(CUT))] + CUT
    part_of: Value = [] if isinstance(value, list) else {}
    entries = enumerate(value) if isinstance(value, list) else value.items()
    for key, item in entries:
        room = limit - size(part_of)
        part = fitted(item, max(room // 2, 1)) if isinstance(value, dict) else item
        if size(part) > room:
            break
        if isinstance(part_of, list):
            part_of.append(part)
        else:
            part_of[key] = part
    return part_of


def size(value: Value) -> int:
    """How many bytes a value takes as JSON."""
    return len(msgspec.json.encode(value))


# Text


def suite_text(head: Iterable[str], playbook: str, test: Mapping[str, Value]) -> str:
    """A new test file with one test."""
    lines = [*head, f"playbook: {dump(playbook).strip()}", "tests:"]
    return "\n".join([*lines, *_item(test)]) + "\n"


def _item(test: Mapping[str, Value]) -> list[str]:
    lines = dump(dict(test)).splitlines()
    return [f"  - {lines[0]}", *(f"    {line}".rstrip() for line in lines[1:])]


def with_parts(text: str, tests: Seq, index: int, parts: Mapping[str, Value | None]) -> str:
    """The text of a file in which some keys of one test are written anew; None takes a key out.

    Raises NotInBlocks when the test is not written with one key to a line.
    """
    lines = text.splitlines()
    node: Map = tests[index]
    column = _column(node)
    for key in sorted(parts, key=lambda key: node.at_key(key).line if key in node else 0, reverse=True):
        value = parts[key]
        new = [] if value is None else [" " * column + line for line in dump({key: value}).splitlines()]
        first, last = _span(lines, tests, index, key if key in node else "name")
        if key in node:
            lines[first:last] = new
        else:
            lines[last:last] = new
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _column(node: Map) -> int:
    """How far the keys of a test are indented."""
    marks = [node.at_key(key) for key in node]
    if len({mark.column for mark in marks}) != 1 or len({mark.line for mark in marks}) != len(marks):
        raise NotInBlocks
    return marks[0].column - 1


def _span(lines: list[str], tests: Seq, index: int, key: str) -> tuple[int, int]:
    """The lines of one key of a test, without blank lines and comments that follow."""
    node: Map = tests[index]
    first = node.at_key(key).line - 1
    others = [node.at_key(other).line - 1 for other in node]
    others += [tests.at(later).line - 1 for later in range(index + 1, len(tests))]
    last = min((line for line in others if line > first), default=_end(lines, first, node.at_key(key).column))
    while last > first + 1 and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
        last -= 1
    return first, last


def _end(lines: list[str], first: int, column: int) -> int:
    """Where the block of a last key ends: at the first line that is indented less."""
    for number in range(first + 1, len(lines)):
        text = lines[number]
        if text.strip() and not text.lstrip().startswith("#") and len(text) - len(text.lstrip()) < column - 1:
            return number
    return len(lines)


def recorded_case(name: str, workload: Mapping[str, Value], given: Mapping[str, Value]) -> dict[str, Value]:
    """A new test as a mapping, without what it expects."""
    test: dict[str, Value] = {"name": name}
    test |= {"workload": dict(workload)} if workload else {}
    return test | dict(given)

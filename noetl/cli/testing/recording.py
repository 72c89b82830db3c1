"""`noetl test --record`: run a playbook for real, write what its tools answered into a test, and run it."""

import asyncio
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from noetl.cli.playbooks.playbook_text import text_of
from noetl.cli.playbooks.sources import Source, is_test, read_one
from noetl.cli.terminal import counted, emit, note
from noetl.cli.testing import files
from noetl.cli.testing.choices import TestChoices
from noetl.cli.testing.files import CaseFile
from noetl.errors import RequestError
from noetl.json_value import Json

if TYPE_CHECKING:
    from noetl.core.testing.expectations import Facts
    from noetl.dsl.testing.suite import Case
    from noetl.settings import Settings
    from noetl.worker.scripted_toolbox import Called

CALLS_MAX = 1000
OUTPUT_BYTES = 4096
STEPS_LISTED = 20
HEAD = (
    "# Recorded by `noetl test --record`; run it with `noetl test`.",
    "# What stands under given is what the tools answered: change it to test what happens then.",
)


def record(path: str, choices: TestChoices) -> int:
    """Record a playbook into a new test file, or the tests of a file again."""
    from noetl.cli.connection.embedded_engine import current_settings

    settings = current_settings()
    return _record_again(path, choices, settings) if is_test(path) else _new(path, choices, settings)


def target_of(path: str) -> str:
    """The test file that a recording goes to."""
    return path if is_test(path) else files.file_beside(path)


def _new(path: str, choices: TestChoices, settings: "Settings") -> int:
    from noetl.cli.playbooks.validation import check
    from noetl.cli.running.run_input import read_payload
    from noetl.cli.running.watches import print_findings
    from noetl.dsl.diagnostic import Mark
    from noetl.dsl.testing.suite import Case, read_suite
    from noetl.dsl.testing.write_suite import recorded_case, suite_text
    from noetl.dsl.yaml.tree import Map

    source, target = read_one(path), target_of(path)
    if not check(source).valid:
        print_findings(source)
        return 1
    if os.path.exists(target):
        message = f"'{target}' is there already, and is not overwritten"
        raise RequestError(message, hint=f"noetl test --record {target} records its tests again")
    workload = read_payload(choices["input_file"], choices["assignments"])
    case = Case("recorded", Mark(), Map(), workload=workload)
    recorded = _record_calls(source, case, settings)
    test = recorded_case(case.name, workload, recorded.parts)
    name = os.path.basename(path)
    suite = read_suite(suite_text(HEAD, name, test))
    expect = _expect(_facts(source, suite.cases[0], settings))
    with open(target, "x", encoding="utf-8") as file:
        file.write(suite_text(HEAD, name, {**test, "expect": expect}))
    _print_recording(target, recorded, as_json=choices["as_json"])
    return 0 if choices["as_json"] else _verify(target, case.name, settings)


def _record_again(path: str, choices: TestChoices, settings: "Settings") -> int:
    if not os.path.exists(path):
        raise RequestError(f"there is no '{path}'", hint="noetl test --record PLAYBOOK makes one")
    file = files.load(path)
    if not file.ok or file.playbook is None:
        from noetl.cli.testing.report import Progress

        Progress(quiet=False).unusable(file)
        return 1
    code = 0
    for case in file.suite.cases:
        if choices["only"] is None or choices["only"] in case.name:
            code = max(code, _record_case(path, case.name, settings, as_json=choices["as_json"]))
    return code


def _record_case(path: str, name: str, settings: "Settings", *, as_json: bool) -> int:
    """Record one test of a file; what it expects stays, unless it expects nothing yet."""
    file = files.load(path)
    assert file.playbook is not None
    case = next(entry for entry in file.suite.cases if entry.name == name)
    recorded = _record_calls(file.playbook.source, case, settings)
    parts: dict[str, Json] = {"given": None, "children": None, **recorded.parts}
    text = _rewritten(file, name, parts)
    if "expect" not in case.node:
        from noetl.dsl.testing.suite import read_suite

        suite = read_suite(text)
        first_case = next(entry for entry in suite.cases if entry.name == name)
        facts = _facts(file.playbook.source, first_case, settings)
        text = _rewritten(
            replace(file, source=Source(file.name, text.encode()), suite=suite),
            name,
            {"expect": _expect(facts)},
        )
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    _print_recording(path, recorded, as_json=as_json)
    return 0 if as_json else _verify(path, name, settings)


def _rewritten(file: CaseFile, name: str, parts: dict[str, Json]) -> str:
    from noetl.dsl.testing.write_suite import NotInBlocks, with_parts

    tests = file.suite.tree["tests"]
    index = next(number for number, node in enumerate(tests) if node["name"] == name)
    try:
        return with_parts(text_of(file.source), tests, index, parts)
    except NotInBlocks:
        mark = file.suite.cases[index].mark
        message = f"{file.name}:{mark.line}:{mark.column}: the test '{name}' is written on one line"
        hint = "write each of its keys on a line of its own; then it can be recorded"
        raise RequestError(message, hint=hint) from None


@dataclass(frozen=True, slots=True)
class Recording:
    """What a real run gave: the recorded parts of a test, how many calls, and what had to be cut."""

    parts: dict[str, Json]
    calls: int
    cut: list[str]
    status: str


def _record_calls(source: Source, case: "Case", settings: "Settings") -> Recording:
    from noetl.wiring.playbook_test import record

    note(f"running {source.name} for real")
    recording = asyncio.run(record(settings, case, text_of(source), os.path.abspath(source.name)))
    if recording.facts.error is not None and not recording.facts.steps:
        raise RequestError(f"{source.name} did not run: {recording.facts.error['message']}")
    calls = [call for call in recording.calls if call.kind not in case.run]
    if len(calls) > CALLS_MAX:
        message = f"{source.name} made {len(calls)} tool calls; at most {CALLS_MAX} are recorded"
        raise RequestError(message, hint="record it with a smaller workload: --set KEY=VALUE")
    own, cut = _answers([call for call in calls if call.execution_id == recording.main])
    parts: dict[str, Json] = {"given": own} if own else {}
    children: dict[str, Json] = {}
    for path in dict.fromkeys(call.place.playbook for call in calls if call.execution_id != recording.main):
        mine = [call for call in calls if call.execution_id != recording.main and call.place.playbook == path]
        children[path], more = _answers(mine)
        cut += more
    if children:
        parts["children"] = children
    return Recording(parts, len(calls), cut, recording.facts.status)


def _answers(calls: "list[Called]") -> tuple[dict[str, Json], list[str]]:
    from noetl.dsl.testing.write_suite import answers

    return answers([(call.place, call.output) for call in calls])


def _facts(source: Source, case: "Case", settings: "Settings") -> "Facts":
    from noetl.wiring.playbook_test import rehearse

    return rehearse(settings, case, text_of(source), os.path.abspath(source.name)).facts


def _expect(facts: "Facts") -> dict[str, Json]:
    """What a recorded test expects: how it ended, with what, and the way it took."""
    from collections import Counter

    from noetl.dsl.testing.write_suite import size

    expect: dict[str, Json] = {"status": facts.status}
    if facts.error is not None:
        keys = ("kind", "step", "task")
        expect["error"] = {key: facts.error[key] for key in keys if facts.error.get(key) is not None}
    elif size(facts.output) <= OUTPUT_BYTES:
        expect["output"] = facts.output
    listed = len(facts.steps) <= STEPS_LISTED
    expect["steps"] = [*facts.steps] if listed else {**Counter(facts.steps)}
    return expect


def _print_recording(target: str, recorded: Recording, *, as_json: bool) -> None:

    tell = note if as_json else emit
    tell(f"{target}: {counted(recorded.calls, 'output')} of an execution that {recorded.status}")
    for task in recorded.cut:
        note(f"{task}: its data was too large for a test file and was cut")


def _verify(target: str, name: str, settings: "Settings") -> int:
    """Run what was recorded: it must be enough by itself."""
    from noetl.cli.testing import outcome
    from noetl.cli.testing.report import Progress

    file = files.load(target)
    case = next(entry for entry in file.suite.cases if entry.name == name)
    result = outcome.run(file, case, settings, outcome.CoverageByPlaybook())
    Progress(quiet=False).ended(result)
    return 0 if result.passed else 1

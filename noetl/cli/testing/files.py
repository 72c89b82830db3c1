"""Which test files the user means, and what each says. Nothing is run here."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from noetl.cli.playbooks import sources
from noetl.cli.playbooks.validation import CheckResult, check, with_findings
from noetl.errors import NotFound, RequestError

if TYPE_CHECKING:
    from noetl.dsl.testing.suite import Suite


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A test file, the playbook that it tests, and whatever is wrong with either."""

    source: sources.Source
    suite: "Suite"
    playbook: CheckResult | None = None

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def ok(self) -> bool:
        return self.suite.ok and self.playbook is not None and self.playbook.valid


def file_beside(playbook: str) -> str:
    """Where the tests of a playbook are, unless a test file says otherwise."""
    return f"{os.path.splitext(playbook)[0]}{sources.TEST_ENDINGS[0]}"


def find(arguments: Sequence[str]) -> list[str]:
    """Every test file the arguments name, each once; a playbook stands for the test file beside it."""
    files: dict[str, None] = {}
    for argument in arguments or ["."]:
        matches = list(_expand(argument))
        if not matches:
            raise _nothing(argument)
        files.update(dict.fromkeys(matches))
    return list(files)


def _expand(argument: str) -> Iterator[str]:
    if os.path.isdir(argument):
        yield from filter(sources.is_test, sources.files_below(argument))
    elif os.path.exists(argument) and not sources.is_test(argument) and is_playbook(argument):
        beside = file_beside(argument)
        if os.path.exists(beside):
            yield beside
    elif os.path.exists(argument):
        yield argument


def is_playbook(name: str) -> bool:
    """Whether a file is a playbook by what it says."""
    return sources.LOOKS_LIKE_PLAYBOOK.search(sources.read_one(name).data) is not None


def _nothing(argument: str) -> NotFound:
    if os.path.isdir(argument):
        message = f"there are no tests in '{argument}'"
        hint = f"a test file ends in {sources.TEST_ENDINGS[0]}; to make one: noetl test --record FILE"
        return NotFound(message, hint=hint)
    if os.path.exists(argument):
        message = f"'{argument}' has no tests: there is no '{file_beside(argument)}'"
        return NotFound(message, hint=f"noetl test --record {argument}")
    return NotFound(f"no such file or folder: '{argument}'", hint="noetl test runs every test of a folder")


def load(name: str) -> CaseFile:
    """Read a test file and its playbook; raises RequestError when a file cannot be read."""
    from noetl.dsl.testing.names import check_names
    from noetl.dsl.testing.suite import read_suite

    source = sources.read(name)
    suite = read_suite(source.data)
    if not suite.ok:
        return CaseFile(source, suite)
    playbook = check(sources.read(_beside(name, suite, source)))
    if playbook.valid and playbook.loaded.playbook is not None:
        suite = replace(suite, diagnostics=check_names(suite, playbook.loaded.playbook))
    return CaseFile(source, suite, playbook)


def _beside(name: str, suite: "Suite", source: sources.Source) -> str:
    """The playbook's file; a test file names it from its own folder."""
    path = os.path.normpath(Path(name).parent / suite.playbook)
    if not os.path.isfile(path):
        mark = suite.tree.at("playbook")
        message = f"{name}:{mark.line}:{mark.column}: there is no playbook '{path}'"
        raise RequestError(message, hint="playbook: is a file, named from the folder of the test file")
    return path


def check_file(name: str) -> CheckResult:
    """What is wrong with a test file, as a playbook's findings are told."""
    return _check_result(load(name))


def _check_result(file: CaseFile) -> CheckResult:
    return with_findings(file.source, file.suite.diagnostics)


def invalid_texts(file: CaseFile) -> list[CheckResult]:
    """What is wrong with a file and its playbook, ready to be printed."""
    wrong = [_check_result(file)] if file.suite.diagnostics else []
    return wrong if file.playbook is None or file.playbook.valid else [*wrong, file.playbook]

"""The plug-in for pytest: `*.test.yaml` are collected and run; fixtures run playbooks and call tools.

Every pytest of an environment that has NoETL loads this module, so nothing else is imported before its use.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from noetl.cli.testing.files import CaseFile
    from noetl.cli.testing.outcome import Outcome
    from noetl.client.result import Result
    from noetl.dsl.testing.suite import Case

ENDINGS = (".test.yaml", ".test.yml")
HEAD_BYTES = 64 * 1024
OURS = re.compile(rb"(?m)^playbook\s*:")  # other programs have files of this name, too


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "PlaybookTests | None":
    if not file_path.name.endswith(ENDINGS) or not _is_ours(file_path):
        return None
    return PlaybookTests.from_parent(parent, path=file_path)


def _is_ours(file: Path) -> bool:
    with file.open("rb") as opened:
        return OURS.search(opened.read(HEAD_BYTES)) is not None


class PlaybookTests(pytest.File):
    """A test file: each of its tests is an item."""

    def collect(self) -> "Iterator[PlaybookTest]":
        from noetl.cli.testing.files import load
        from noetl.errors import NoetlError

        try:
            file = load(str(self.path))
        except NoetlError as error:
            raise self.CollectError(_words(error.message, error.hint)) from None
        if not file.ok:
            raise self.CollectError(_invalid(file))
        for case in file.suite.cases:
            yield PlaybookTest.from_parent(self, name=case.name, file=file, case=case)


class PlaybookTest(pytest.Item):
    """One test of a playbook: outputs of tools are given, nothing outside is called, waits are skipped."""

    def __init__(self, *, file: "CaseFile", case: "Case", **fields: Any) -> None:
        super().__init__(**fields)
        self._file, self._case = file, case
        self.add_marker("noetl")

    def runtest(self) -> None:
        from noetl import settings
        from noetl.cli.testing.outcome import CoverageByPlaybook, run

        outcome = run(self._file, self._case, settings.load(), CoverageByPlaybook())
        if not outcome.passed:
            raise PlaybookTestFailed(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What a test expects and did not get; where it is no test that failed, what pytest says."""
        if isinstance(excinfo.value, PlaybookTestFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self._case.mark.line - 1, self.name


class PlaybookTestFailed(Exception):
    """A test of a playbook that failed; the text says where and why, as `noetl test` does."""

    def __init__(self, outcome: "Outcome") -> None:
        from noetl.cli.formats.text import findings_text
        from noetl.cli.playbooks.validation import with_findings
        from noetl.cli.terminal import Paint

        found = with_findings(outcome.file.source, outcome.findings)
        super().__init__(findings_text([found], Paint(False)))


def _invalid(file: "CaseFile") -> str:
    from noetl.cli.formats.text import findings_text
    from noetl.cli.terminal import Paint
    from noetl.cli.testing.files import invalid_texts

    return findings_text(invalid_texts(file), Paint(False))


def _words(message: str, hint: str | None) -> str:
    return message if hint is None else f"{message}\n  = fix: {hint}"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "noetl: a test of a playbook, from a *.test.yaml")


@pytest.fixture
def noetl_run(tmp_path: Path) -> "Callable[..., Result]":
    """`noetl.run` with a store of the test's own: nothing is kept in the project."""
    import noetl

    def run(
        playbook: str | Path, /, workload: Mapping[str, object] | None = None, **options: Any
    ) -> "Result":
        options.setdefault("store", tmp_path / ".noetl" / "noetl.db")
        return noetl.run(playbook, workload, **options)

    return run


class ToolHarness:
    """Calls tools as a worker does; `lines` has what the last one logged."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(
        self, tool: str | Callable[..., object], values: Mapping[str, object] | None = None, /, **options: Any
    ) -> Any:
        """The answer of a tool to an input; raises noetl.Failed as a task would fail."""
        import noetl

        self.lines = []
        return noetl.call_tool(tool, values, log=self.lines.append, **options)


@pytest.fixture
def noetl_tool() -> ToolHarness:
    """`noetl.call_tool`, with what the tool logs kept for the test."""
    return ToolHarness()

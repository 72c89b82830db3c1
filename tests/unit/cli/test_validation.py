"""Checking one text: the kinds of other packages count, and only when they may be meant."""

import gc
from collections.abc import Iterator

import pytest

from noetl import tools
from noetl.cli.playbooks.sources import Source
from noetl.cli.playbooks.validation import check, tally
from noetl.ports.tool import Tool, define

TEXT = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: case, path: tests/case}
workflow:
  - {step: start, tool: {kind: KIND}}
"""


def text(kind: str) -> Source:
    return Source("case.yaml", TEXT.replace("KIND", kind).encode())


class Fax:
    """The entry point of another package."""

    name, value = "fax", "fax.tools"

    def load(self) -> Tool:
        return define("fax", "Sends a fax.")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Another package brings the kind `fax`; remembers whether anybody looked."""
    looks: list[bool] = []

    def entry_points(group: str) -> list[Fax]:
        looks.append(True)
        return [Fax()]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    tools.added.cache_clear()
    yield looks
    tools.added.cache_clear()


def test_a_kind_of_another_package_is_known(asked: list[bool]) -> None:
    assert check(text("fax")).valid


def test_other_packages_are_not_looked_at_for_our_own_kinds(asked: list[bool]) -> None:
    assert check(text("noop")).valid
    assert not asked


def test_a_kind_nobody_brings_is_an_error(asked: list[bool]) -> None:
    result = check(text("fux"))
    assert [finding.code for finding in result.diagnostics] == ["unknown-kind"]
    assert "did you mean 'fax'?" in (result.diagnostics[0].hint or "")


def test_findings_are_counted_by_severity() -> None:
    assert tally([check(text("fux")), check(text("noop"))]) == {"error": 1}


def test_garbage_is_collected_again_after_a_check() -> None:
    check(text("noop"))
    assert gc.isenabled()

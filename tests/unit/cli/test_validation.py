"""Checking one text: the kinds of other packages count, and only when they may be meant."""

import gc

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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Another package brings the kind `fax`; remembers whether anybody looked."""
    looks: list[bool] = []

    def installed() -> dict[str, Tool]:
        looks.append(True)
        return {"fax": define("fax", "Sends a fax.")}

    monkeypatch.setattr(tools, "installed", installed)
    return looks


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

"""A result store that cannot be written ends the run with what is wrong; the execution is kept."""

from pathlib import Path

from tests.acceptance.conftest import Noetl

TEXT = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: big, path: tests/big}
workflow:
  - {step: start, tool: {kind: python, input: {code: "result = 'x' * 200000"}}}
"""


def test_a_payload_that_cannot_be_written_is_told_and_the_execution_goes_on_later(
    noetl: Noetl, tmp_path: Path
) -> None:
    (tmp_path / "big.yaml").write_text(TEXT)
    blocked = tmp_path / ".noetl" / "results"
    blocked.parent.mkdir()
    blocked.write_text("in the way")
    stopped = noetl("run", "big.yaml")
    assert stopped.returncode == 3
    assert "could not be written" in stopped.stderr
    blocked.unlink()
    resumed = noetl("execution", "resume", "@last")
    assert resumed.returncode == 0, resumed.stderr
    assert noetl("execution", "replay", "@last").returncode == 0

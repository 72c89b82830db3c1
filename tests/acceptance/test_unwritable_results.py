"""A result store that cannot be written ends the run with what is wrong; the execution is kept."""

import os
import subprocess
import sys
from pathlib import Path

NOETL = str(Path(sys.executable).with_name("noetl"))
TEXT = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: big, path: tests/big}
workflow:
  - {step: start, tool: {kind: python, input: {code: "result = 'x' * 200000"}}}
"""


def noetl(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NOETL_HOME": str(folder / "home")}
    return subprocess.run(
        [NOETL, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_payload_that_cannot_be_written_is_told_and_the_execution_goes_on_later(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_text(TEXT)
    blocked = tmp_path / ".noetl" / "results"
    blocked.parent.mkdir()
    blocked.write_text("in the way")
    stopped = noetl(tmp_path, "run", "big.yaml")
    assert stopped.returncode == 3
    assert "could not be written" in stopped.stderr
    blocked.unlink()
    resumed = noetl(tmp_path, "execution", "resume", "@last")
    assert resumed.returncode == 0, resumed.stderr
    assert noetl(tmp_path, "execution", "replay", "@last").returncode == 0

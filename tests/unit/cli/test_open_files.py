"""A server or worker takes as many connections as the system allows, where the usual limit of open files is low."""

import subprocess
import sys

import pytest

SHOW = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from noetl.cli.processes.lifecycle import run_fast
async def show():
    print(*resource.getrlimit(resource.RLIMIT_NOFILE))
    return 0
run_fast(show)
"""


@pytest.mark.parametrize(
    "soft, hard, wanted", [(256, 4096, "4096 4096"), (4096, 4096, "4096 4096"), (128, 128, "128 128")]
)
def test_a_low_limit_of_open_files_is_raised_as_far_as_it_may_be(soft: int, hard: int, wanted: str) -> None:
    code = SHOW.format(soft=soft, hard=hard)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == (wanted, "")

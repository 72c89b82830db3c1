"""Which processes are orphans: those that carry the mark of a worker that is gone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from noetl.worker import orphans
from noetl.worker.orphans import MARK, end_orphans, mark


@contextmanager
def marked(text: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A program with a mark."""
    program = subprocess.Popen(["sleep", "4323"], env={MARK: text, "PATH": os.defpath})
    try:
        yield program
    finally:
        program.kill()
        program.wait()


def gone() -> str:
    """The mark of a process that has ended."""
    said = f"import sys; sys.path.insert(0, {os.getcwd()!r}); from noetl.worker.orphans import mark; print(mark())"
    return subprocess.run(
        [sys.executable, "-c", said], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_program_of_a_worker_that_is_gone_is_ended():
    with marked(gone()) as program:
        end_orphans()  # or a worker that some other test has just started
        assert program.wait(30) == -9


@pytest.mark.parametrize("why", ["its worker lives", "it counts elsewhere", "it is no mark", "it is empty"])
def test_every_other_program_is_left_alone(why: str) -> None:
    text = {
        "its worker lives": mark(),
        "it counts elsewhere": f"1-{gone().partition('-')[2]}",
        "it is no mark": "something",
        "it is empty": "",
    }[why]
    with marked(text) as program:
        assert program.pid not in end_orphans()
        assert program.poll() is None


def test_a_worker_that_has_ended_and_was_not_waited_for_is_gone():
    with marked("") as worker:
        text = f"{mark().partition('-')[0]}-{worker.pid}-{orphans._started(worker.pid)}"
        assert not orphans._is_gone(text)
        worker.kill()
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
        assert orphans._is_gone(text)

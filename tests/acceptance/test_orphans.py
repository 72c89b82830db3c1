"""A worker that is killed takes the programs of its tasks with it, and the next one ends what got away."""

import os
from pathlib import Path

import pytest

from tests.acceptance.running import Process, audit_all, eventually, playbook

PROGRAM = "sleep 4321 & echo $! > child; %s sleep 4322 & echo $! > other; echo $$ > group; wait"


@pytest.fixture(autouse=True)
def audited(tmp_path):
    yield
    audit_all(tmp_path)


def shell(command: str) -> str:
    return playbook(f'- {{step: start, tool: {{kind: shell, input: {{command: "{command}"}}}}}}')


def number(tmp_path: Path, name: str) -> int:
    """A process of the program, once it is there."""
    file = tmp_path / name
    return int(eventually(lambda: file.exists() and file.read_text().strip(), f"{name} is running"))


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def test_the_whole_group_of_a_program_dies_with_a_killed_worker(noetl, write, tmp_path):
    running = Process(noetl, "run", write("a.yaml", shell(PROGRAM % "")), "-q")
    pids = [number(tmp_path, name) for name in ("group", "child", "other")]
    assert all(map(is_running, pids))
    running.kill()
    eventually(lambda: not any(map(is_running, pids)), "the group is dead")


def test_what_left_its_group_is_ended_by_the_next_worker(noetl, write, tmp_path):
    running = Process(noetl, "run", write("a.yaml", shell(PROGRAM % "setsid")), "-q")
    number(tmp_path, "group")
    (away,) = eventually(lambda: sessions_of("4322"), "it is in a session of its own")
    running.kill()
    assert is_running(away)
    done = noetl("run", write("b.yaml", shell("true").replace("tests/case", "tests/other")), "-q")
    assert done.returncode == 0, done.stderr
    eventually(lambda: not is_running(away), "the orphan is dead")


def test_a_cancelled_program_is_gone_with_everything_it_started(noetl, write, tmp_path):
    running = Process(noetl, "run", write("a.yaml", shell(f"trap '' TERM; {PROGRAM % ''}")), "-q")
    pids = [number(tmp_path, name) for name in ("group", "child", "other")]
    cancelled = noetl("execution", "cancel", "@last")
    assert cancelled.returncode == 0, cancelled.stderr
    running.wait()
    assert not any(map(is_running, pids))


def sessions_of(word: str) -> list[int]:
    """The programs with an argument that lead a session."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                arguments = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                leads = os.getsid(int(name)) == int(name)
            except OSError:
                continue
            if leads and arguments[:2] == [b"sleep", word.encode()]:
                found.append(int(name))
    return found

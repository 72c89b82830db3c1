"""The shell kind with real programs."""

import asyncio
import os
import select
import signal
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "values, stdout",
    [
        ({"command": ["echo", "a b", "$HOME", 7]}, "a b $HOME 7\n"),
        ({"command": "echo one; echo two | tr a-z A-Z"}, "one\nTWO\n"),
        ({"command": ["cat"], "stdin": "häh"}, "häh"),
        ({"command": ["true"], "stdin": "x" * 1_000_000}, ""),
        ({"command": "echo $A-$B-$NOETL_STEP-$NOETL_IDEMPOTENCY_KEY", "env": {"A": 1, "B": True}}, "1-true-s-key-1\n"),
    ],
)  # fmt: skip
async def test_a_program_is_run_and_its_output_kept(use, values, stdout):
    output = await use("shell", values)
    assert output["status"] == "ok"
    assert output["data"] == {"exit_code": 0, "stdout": stdout, "stderr": ""}


async def test_a_non_zero_exit_is_an_error_that_keeps_the_output(use):
    output = await use("shell", {"command": "echo out; echo why >&2; exit 3"})
    assert output["status"] == "error"
    assert output["error"]["kind"] == "shell"
    assert output["error"]["code"] == "3"
    assert "exit code 3: why" in output["error"]["message"]
    assert output["data"] == {"exit_code": 3, "stdout": "out\n", "stderr": "why\n"}


@pytest.mark.parametrize(
    "values, kind",
    [
        ({"command": ["no-such-program"]}, "not_found"),
        ({"command": ["echo"], "cwd": "gone"}, "not_found"),
        ({"command": ["echo"], "cwd": "/"}, "path"),
        ({"command": ["/"]}, "shell"),
        ({"command": []}, "input"),
        ({"command": ["echo", "a\0b"]}, "input"),
        ({"command": {"a": 1}}, "input"),
    ],
)
async def test_what_cannot_be_started_says_why(use, values, kind):
    assert (await use("shell", values))["error"]["kind"] == kind


async def test_the_program_starts_in_the_work_folder_or_below(use, tmp_path: Path):
    (tmp_path / "sub").mkdir()
    real = str(tmp_path)
    assert (await use("shell", {"command": ["pwd", "-P"]}))["data"]["stdout"].strip() == real
    below = await use("shell", {"command": ["pwd", "-P"], "cwd": "sub"})
    assert below["data"]["stdout"].strip() == f"{real}/sub"


async def test_the_environment_of_the_worker_does_not_leak(use, monkeypatch):
    monkeypatch.setenv("WORKER_SECRET", "canary")
    output = await use("shell", {"command": ["env"]})
    assert "canary" not in output["data"]["stdout"]


async def test_output_beyond_the_limit_is_counted_and_dropped(use):
    spec = {"max_output_bytes": 1000}
    output = await use("shell", {"command": "head -c 300000 /dev/zero | tr '\\0' x"}, spec=spec)
    assert output["data"]["stdout"] == "x" * 1000 + "\n[299000 more bytes]"


async def test_bytes_that_are_not_text_are_replaced(use):
    output = await use("shell", {"command": "printf '\\377a\\000'"})
    assert output["data"]["stdout"] == "\ufffda\ufffd"


async def test_what_a_program_leaves_running_does_not_hold_the_task(use):
    output = await asyncio.wait_for(use("shell", {"command": "sleep 600 & echo $!"}), 60)
    assert output["status"] == "ok"
    assert ends(int(output["data"]["stdout"]))


async def test_a_process_that_left_the_group_does_not_hold_the_task(use, tmp_path: Path):
    away = "setsid sh -c 'echo $$ > part; mv part away; exec sleep 600' & while [ ! -e away ]; do sleep 0.01; done"
    output = await asyncio.wait_for(use("shell", {"command": f"echo hi; {away}"}), 60)
    os.kill(int((tmp_path / "away").read_text()), signal.SIGKILL)
    assert output["data"]["stdout"] == "hi\n"


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
async def test_cancelling_stops_the_program_and_its_children(use, tmp_path: Path, trap):
    os.mkfifo(tmp_path / "child")
    command = f"{trap}sleep 600 & echo $! > child; wait; wait"
    spec = {"grace": 0.2}
    task = asyncio.create_task(use("shell", {"command": command}, spec=spec))
    child = await asyncio.to_thread((tmp_path / "child").read_text)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    assert ends(int(child))


def ends(pid: int) -> bool:
    """Whether a process ends within a minute: a signal needs a moment to be carried out."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended, _, _ = select.select([handle], [], [], 60)
    os.close(handle)
    return bool(ended)


@pytest.mark.parametrize("told", [True, False], ids=["the loop says which", "the loop does not say"])
async def test_a_program_that_is_not_there_is_named(use, monkeypatch, told):
    if not told:

        async def silent(*_, **__):
            raise FileNotFoundError(2, "No such file or directory")

        monkeypatch.setattr(asyncio.get_running_loop(), "subprocess_exec", silent)
    output = await use("shell", {"command": ["nosuchprogram"]})
    assert output["error"]["kind"] == "not_found"
    assert output["error"]["message"] == "there is no program or folder 'nosuchprogram'"

"""Isolated python processes: whatever code does it does to itself, and nothing of it stays.

Every test uses real processes. Files and descriptors tell when something has happened; no test waits for time.
"""

import asyncio
import gc
import os
import signal
import subprocess
import sys

import pytest

from noetl.errors import BackendError, InvariantViolation
from noetl.ports.call import Limits
from noetl.worker.python.call import PROGRAMS_MAX
from noetl.worker.python.host import PythonHost
from tests.unit.worker.hosted import HANG, PID, heard, read_line, run, value, wait_until_dead

# ---- what a call leaves behind --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, seen",
    [
        ("leak = 1", "'leak' in globals()"),
        ("import builtins; leak = 1", "hasattr(__import__('__main__'), 'leak')"),
        ("import os; os.environ['LEAK'] = '1'", "'LEAK' in __import__('os').environ"),
        ("import os; os.chdir('/')", "__import__('os').getcwd() == '/'"),
        ("import sys; sys.path.insert(0, '/leak')", "'/leak' in __import__('sys').path"),
        ("import sys; sys.stdout = sys.stderr = None", "__import__('sys').stdout is None"),
        ("import sys; sys.stdout.close()", "__import__('sys').stdout.closed"),
        (
            "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
            "__import__('signal').getsignal(15) == 1",
        ),
        ("import os; os.close(1)", "not __import__('os').fstat(1)"),
        (
            "import os; os.dup2(os.open('/dev/null', 1), 1)",
            "__import__('os').path.samefile('/dev/null', '/dev/fd/1')",
        ),
        ("import signal; signal.alarm(5)", "__import__('signal').alarm(0) > 0"),
        ("import sys; sys.argv.append('leak')", "'leak' in __import__('sys').argv"),
    ],
)
async def test_what_a_call_changes_is_put_back(host, change, seen) -> None:
    pid = await value(host, f"{change}\n{PID}")
    assert await value(host, f"print('heard')\nresult = {seen}") is False
    assert await value(host, PID) == pid
    assert (await run(host, "print('heard')")).printed == "heard\n"


async def test_modules_stay_imported_with_their_state(host) -> None:
    await run(host, "import json; json.mark = 5")
    assert await value(host, "import json; result = json.mark") == 5


@pytest.mark.parametrize(
    "leave",
    [
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()",
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])",
        "import os\nif os.fork() == 0:\n    while True: pass",
    ],
)
async def test_a_process_with_something_left_in_it_answers_and_is_replaced(host, leave) -> None:
    pid = await value(host, f"{leave}\n{PID}")
    wait_until_dead(pid)
    assert await value(host, PID) != pid


async def test_a_process_that_holds_much_memory_is_replaced(make) -> None:
    host = make(1, Limits(memory_bytes=1 << 28))
    keep = "import json; json.kept = bytearray(130 << 20)"
    pid = await value(host, f"{keep}\n{PID}")
    assert await value(host, PID) != pid


async def test_children_of_a_call_end_with_it(host) -> None:
    child = await value(host, "import subprocess\nresult = subprocess.Popen(['sleep', '60']).pid")
    wait_until_dead(child)


async def test_a_fork_that_returns_from_the_code_does_not_answer_for_it(host) -> None:
    code = "import os\nparent = os.getpid()\nchild = os.fork()\nresult = os.getpid() == parent\nif child: os.waitpid(child, 0)"
    assert [await value(host, code) for _ in range(3)] == [True] * 3


# ---- the surroundings -----------------------------------------------------------------------------------


async def test_the_environment_is_clean_and_home_is_a_scratch_folder(make, monkeypatch) -> None:
    monkeypatch.setenv("NOETL_TOKEN", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    host = make(1, environment={"TZ": "Asia/Tokyo"})
    seen = await value(host, "import os\nresult = [dict(os.environ), os.getcwd()]")
    environment, folder = seen
    assert sorted(environment) == ["HOME", "LANG", "PATH", "TMPDIR", "TZ"]
    assert environment["HOME"] == environment["TMPDIR"] == folder
    await host.close()
    assert not os.path.exists(folder)  # noqa: ASYNC240


async def test_code_runs_in_the_work_folder_and_sees_installed_packages(make, tmp_path) -> None:
    host = make(1, work_dir=str(tmp_path))
    await value(host, "import msgspec\nopen('made', 'w').write('here')")
    assert (tmp_path / "made").read_text() == "here"


async def test_a_process_leads_its_own_session_without_core_files(host) -> None:
    code = "import os, resource\nresult = [os.getpid(), os.getpgrp(), os.getsid(0), resource.getrlimit(resource.RLIMIT_CORE)]"
    pid, group, session, core = await value(host, code)
    assert (group, session, core) == (pid, pid, [0, 0])
    assert session != os.getsid(0)


# ---- code that breaks its process -----------------------------------------------------------------------

CLOSE_ALL = "import os\nos.closerange(3, 4096)\n"


@pytest.mark.parametrize(
    "code, ended, exit_code, part",
    [
        ("import os; os._exit(9)", "crashed", 9, "exit code 9"),
        ("import os; os._exit(0)", "crashed", 0, "exit code 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed", -11, "SIGSEGV"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "crashed", -9, "memory"),
        ("import ctypes; ctypes.string_at(0)", "crashed", -11, "SIGSEGV"),
        ("x = []\nwhile True: x.append(bytearray(1 << 24))", "memory", None, "bytes"),
        ("x = 'a' * 10**12", "memory", None, "bytes"),
        (CLOSE_ALL, "crashed", None, "connection"),
        (CLOSE_ALL + HANG, "crashed", None, "connection"),
        ("import os\nfor fd in range(3, 999):\n  try: os.write(fd, b'garbage!' * 9)\n  except OSError: pass\n" + HANG, "crashed", None, "connection"),
        ("import os\nfor fd in range(3, 999):\n  try: os.write(fd, b'\\4\\0\\0\\0oops')\n  except OSError: pass\n", "crashed", None, "connection"),
        ("import os\nif os.fork(): os._exit(3)\n" + HANG, "crashed", 3, "exit code 3"),
        ("import os, ctypes\nif ctypes.CDLL(None).fork(): os._exit(3)\n" + HANG, "crashed", 3, "exit code 3"),
    ],
)  # fmt: skip
async def test_code_that_breaks_its_process_fails_alone(make, code, ended, exit_code, part) -> None:
    host = make(2, Limits(memory_bytes=1 << 28))
    pid = await value(host, PID)
    ran = await run(host, code)
    assert (ran.ended, ran.exit_code) == (ended, exit_code)
    assert part in ran.message
    wait_until_dead(pid)
    assert await value(host, PID) != pid


async def test_running_and_waiting_calls_do_not_notice_a_crash_beside_them(host) -> None:
    good = [run(host, "result = sum(range(n))", n=n) for n in range(40)]
    bad = [run(host, "import os; os._exit(n)", n=n) for n in range(5)]
    mixed = [call for pair in zip(good[:5], bad, strict=True) for call in pair] + good[5:]
    endings = await asyncio.gather(*mixed)
    assert [ran.exit_code for ran in endings if ran.ended == "crashed"] == [0, 1, 2, 3, 4]
    assert sorted(int(str(ran.value)) for ran in endings if ran.ended == "ok") == sorted(
        sum(range(n)) for n in range(40)
    )


async def test_a_limit_of_one_call_is_not_the_limit_of_the_next(host) -> None:
    ran = await host.run("x = bytearray(1 << 27)", {}, limits=Limits(memory_bytes=1 << 27))
    assert ran.ended == "memory"
    assert str(1 << 27) in ran.message
    ran = await host.run("while True: pass", {}, limits=Limits(cpu_s=0.2))
    assert (ran.ended, ran.exit_code) == ("timeout", -signal.SIGXCPU)
    pid = (await host.run(PID, {}, limits=Limits(memory_bytes=1 << 27, cpu_s=5))).value
    code = f"import resource as r\nassert r.getrlimit(r.RLIMIT_CPU)[0] == r.RLIM_INFINITY\nx = bytearray(1 << 28)\n{PID}"
    assert await value(host, code) == pid


# ---- time and cancellation ------------------------------------------------------------------------------


async def test_a_timeout_ends_the_code_and_says_where_it_was(host) -> None:
    pid = await value(host, PID)
    ran = await heard(
        host, "print('began')\ndef main():\n    import time\n    time.sleep(60)\n", {}, timeout_s=0.3
    )
    assert (ran.ended, ran.message) == ("timeout", "the code did not finish within 0.3 s")
    assert ran.printed == "began\n"
    assert ran.raised is not None
    assert "line 4, in main\n    time.sleep(60)" in ran.raised.traceback
    wait_until_dead(pid)
    assert await value(host, "result = 'alive'") == "alive"


async def test_code_may_clean_up_when_its_time_is_over(host, tmp_path) -> None:
    code = (
        f"try:\n    import time; time.sleep(60)\nfinally:\n    open({str(tmp_path / 'clean')!r}, 'w').close()"
    )
    assert (await host.run(code, {}, timeout_s=0.3)).ended == "timeout"
    assert (tmp_path / "clean").exists()


@pytest.mark.parametrize(
    "code",
    [
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + HANG,
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "import re\nre.match('(a*)*b', 'a' * 40)",
    ],
)
async def test_code_that_will_not_stop_is_killed(host, code) -> None:
    assert (await host.run(code, {}, timeout_s=0.1)).ended == "timeout"
    assert await value(host, "result = 'alive'") == "alive"


async def test_the_time_of_a_call_does_not_run_while_it_waits(make) -> None:
    host = make(1)
    calls = [host.run("import time; time.sleep(0.3)", {}, timeout_s=1) for _ in range(4)]
    assert [ran.ended for ran in await asyncio.gather(*calls)] == ["ok"] * 4


async def test_cancelling_a_call_kills_its_process_and_all_it_started(host, fifo) -> None:
    code = f"import os, subprocess\nchild = subprocess.Popen(['sleep', '60'])\nopen({str(fifo)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\nchild.wait()"
    call = asyncio.create_task(host.run(code, {}))
    pids = [int(pid) for pid in (await read_line(fifo)).split()]
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    for pid in pids:
        wait_until_dead(pid)
    assert await value(host, "result = 'alive'") == "alive"


async def test_a_cancelled_call_that_waits_never_runs(make, fifo, tmp_path) -> None:
    host = make(1)
    first = asyncio.create_task(host.run(f"open({str(fifo)!r}).read()", {}))
    second = asyncio.create_task(host.run(f"open({str(tmp_path / 'ran')!r}, 'w')", {}))
    third = asyncio.create_task(host.run("result = 3", {}))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.to_thread(fifo.write_text, "go")
    assert (await first).ended == "ok"
    assert (await third).value == 3
    assert second.cancelled()
    assert not (tmp_path / "ran").exists()


# ---- the pool -------------------------------------------------------------------------------------------


async def test_calls_that_block_run_side_by_side_up_to_the_limit(make, tmp_path) -> None:
    host = make(5)
    meet = f"import os, time\nopen({str(tmp_path)!r} + f'/{{n}}', 'w').close()\nwhile len(os.listdir({str(tmp_path)!r})) < 5: time.sleep(0.001)\n{PID}"
    pids = [ran.value for ran in await asyncio.gather(*(run(host, meet, n=n) for n in range(5)))]
    assert len(set(pids)) == 5
    assert (
        len({ran.value for ran in await asyncio.gather(*(run(host, PID) for _ in range(50)))} - set(pids))
        == 0
    )


async def test_one_call_after_another_needs_one_process(host) -> None:
    assert len({await value(host, PID) for _ in range(50)}) == 1


async def test_a_warm_host_has_a_process_before_the_first_call(host) -> None:
    host.warm()
    host.warm()
    assert await value(host, "result = 1") == 1


async def test_no_more_processes_than_may_be_are_started_while_the_first_one_comes_up_slowly(
    make, tmp_path
) -> None:
    python, starts = tmp_path / "python", tmp_path / "starts"
    python.write_text(f'#!/bin/sh\necho >> {starts}\nsleep 0.2\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    host = make(1, python=str(python))
    assert await asyncio.gather(*(value(host, "result = 1") for _ in range(3))) == [1, 1, 1]
    assert starts.read_text() == "\n"


async def test_more_programs_than_a_process_remembers(host) -> None:
    for n in (*range(PROGRAMS_MAX + 10), 0, 5, PROGRAMS_MAX + 5):
        assert await value(host, f"result = {n}") == n


@pytest.mark.parametrize("text, part", [(None, "No such file"), ("echo broken >&2; exit 1", "broken")])
async def test_an_interpreter_that_does_not_start_is_a_backend_error(make, tmp_path, text, part) -> None:
    python = tmp_path / "python"
    if text is not None:
        python.write_text(f"#!/bin/sh\n{text}\n")
        python.chmod(0o700)
    host = make(2, python=str(python))
    host.warm()
    endings = await asyncio.gather(*(host.run("result = 1", {}) for _ in range(3)), return_exceptions=True)
    for problem in endings:
        assert isinstance(problem, BackendError)
        assert part in problem.message


async def test_without_a_descriptor_for_exits_processes_are_still_seen_to_end(make, monkeypatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    host = make(2, grace_s=0.2)
    assert (await run(host, "import os; os._exit(4)")).exit_code == 4
    assert (await host.run(HANG, {}, timeout_s=0.1)).ended == "timeout"
    assert (await run(host, CLOSE_ALL + HANG)).ended == "crashed"
    assert await value(host, "result = 1") == 1


# ---- the end --------------------------------------------------------------------------------------------


async def test_closing_ends_every_call_and_leaves_nothing_open(fifo) -> None:
    gc.collect()  # what other tests left open is closed now, not meanwhile
    before = sorted(os.listdir("/proc/self/fd"))
    host = PythonHost(1)
    running = asyncio.create_task(
        host.run(f"import os\nopen({str(fifo)!r}, 'w').write(str(os.getpid()))\n" + HANG, {})
    )
    waiting = asyncio.create_task(host.run("result = 1", {}))
    pid = int(await read_line(fifo))
    await host.close()
    await host.close()
    assert [(await call).ended for call in (running, waiting)] == ["crashed", "crashed"]
    wait_until_dead(pid)
    assert sorted(os.listdir("/proc/self/fd")) == before
    with pytest.raises(InvariantViolation):
        await host.run("result = 1", {})


HOST = """
import asyncio, sys
from noetl.worker.python.host import PythonHost

async def main():
    host = PythonHost(1)
    await host.run(sys.argv[1], {})
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize(
    "then",
    ["while True: pass", HANG, "result = 'free'", "import os\nif os.fork() == 0: tell()\nwhile True: pass"],
    ids=["busy", "waiting", "free", "forked"],
)
def test_processes_die_with_a_host_that_is_killed(fifo, tmp_path, then) -> None:
    tell = f"import os\ndef tell(): open({str(fifo)!r}, 'w').write(str(os.getpid()))\n"
    code = tell + then if "tell()" in then else f"{tell}tell()\n{then}"
    host = subprocess.Popen([sys.executable, "-c", HOST, code], env={"TMPDIR": str(tmp_path)})
    pid = int(fifo.read_text())
    host.kill()
    host.wait()
    wait_until_dead(pid)

"""Calls that a process holds before their turn: each is still alone, runs once, and waits for nobody.

What a process is handed early depends on how quick the code was; here all code counts as quick.
"""

import asyncio
import os

import pytest

from noetl.worker.python.call import Paces
from noetl.worker.python.process import CALLS_MAX
from tests.unit.worker.hosted import heard, read_line, value

CALLS = 40
MARK = "import os\nwith open(path, 'a') as file: file.write(f'{n}\\n')\n"


@pytest.fixture(autouse=True)
def all_code_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Paces, "of", lambda self, request: 0.0)


@pytest.fixture
async def warm(make):
    """A host of at most two processes, of which one is ready."""
    host = make(2, grace_s=0.3)
    await value(host, "result = 1")
    return host


def numbers(path) -> list[int]:
    return sorted(int(line) for line in path.read_text().split())


async def test_a_busy_process_is_handed_many_calls_and_answers_each(make) -> None:
    host = make(1)
    await value(host, "result = 1")
    calls = [asyncio.create_task(host.run("result = n * 2", {"n": n})) for n in range(CALLS_MAX + 10)]
    await asyncio.sleep(0)
    (process,) = host._processes
    assert len(process.calls) == CALLS_MAX
    assert [(await call).value for call in calls] == [n * 2 for n in range(CALLS_MAX + 10)]


async def test_what_each_call_prints_is_its_own(warm) -> None:
    code = "import os, sys\nif n % 3: print(n, 'x' * size)\nif n % 5 == 0: os.write(1, b'raw')\nif n % 7 == 0: print(n, file=sys.stderr)"
    given = [{"n": n, "size": 100_000 if n % 10 == 1 else 5} for n in range(CALLS)]
    ended = await asyncio.gather(*(heard(warm, code, each) for each in given))
    for ran, each in zip(ended, given, strict=True):
        n = each["n"]
        out = (f"{n} {'x' * each['size']}\n" if n % 3 else "") + ("raw" if n % 5 == 0 else "")
        assert ran.printed == out + (f"{n}\n" if n % 7 == 0 else "")


@pytest.mark.parametrize(
    "harm, ended",
    [
        ("os._exit(3)", "crashed"),
        ("os.kill(0, 9)", "crashed"),
        ("raise ValueError('no')", "raised"),
        ("import threading, time; threading.Thread(target=time.sleep, args=[60], daemon=True).start()", "ok"),
        ("held = bytearray(5 << 30)", "memory"),
    ],
)
async def test_what_one_call_does_to_its_process_harms_no_other_and_all_run_once(
    warm, tmp_path, harm, ended
) -> None:
    path = tmp_path / "ran"
    code = f"{MARK}if n == 7: {harm}\nresult = n"
    found = await asyncio.gather(*(warm.run(code, {"n": n, "path": str(path)}) for n in range(CALLS)))
    assert [ran.ended for ran in found] == ["ok"] * 7 + [ended] + ["ok"] * (CALLS - 8)
    assert [ran.value for n, ran in enumerate(found) if n != 7] == [n for n in range(CALLS) if n != 7]
    assert numbers(path) == list(range(CALLS))


async def test_a_call_that_takes_long_holds_up_none_of_those_behind_it(warm, fifo) -> None:
    code = "if n == 3: open(path).read()\nresult = n"
    calls = [asyncio.create_task(warm.run(code, {"n": n, "path": str(fifo)})) for n in range(CALLS)]
    others = [call for n, call in enumerate(calls) if n != 3]
    assert [ran.value for ran in await asyncio.gather(*others)] == [n for n in range(CALLS) if n != 3]
    assert not calls[3].done()
    await asyncio.to_thread(fifo.write_text, "go")
    assert (await calls[3]).value == 3


async def test_a_call_out_of_time_ends_alone_and_all_run_once(warm, tmp_path) -> None:
    path = tmp_path / "ran"
    code = f"{MARK}import signal\nif n == 5: signal.pause()\nresult = n"
    given = [{"n": n, "path": str(path)} for n in range(CALLS)]
    found = await asyncio.gather(
        *(warm.run(code, each, timeout_s=0.2 if each["n"] == 5 else 60) for each in given)
    )
    assert [ran.ended for ran in found] == ["ok"] * 5 + ["timeout"] + ["ok"] * (CALLS - 6)
    assert numbers(path) == list(range(CALLS))


async def test_calls_cancelled_before_their_turn_never_run_and_the_others_run_once(
    make, tmp_path, fifo
) -> None:
    host = make(1, grace_s=0.3)
    await value(host, "result = 1")
    path = tmp_path / "ran"
    first = asyncio.create_task(
        host.run(f"open({str(fifo)!r}, 'w').write('on')\nopen({str(fifo)!r}).read()", {})
    )
    calls = [asyncio.create_task(host.run(MARK, {"n": n, "path": str(path)})) for n in range(CALLS)]
    await read_line(fifo)
    for call in calls[::2]:
        call.cancel()
    await asyncio.gather(*calls[::2], return_exceptions=True)
    await asyncio.to_thread(fifo.write_text, "go")
    assert (await first).ended == "ok"
    assert [ran.ended for ran in await asyncio.gather(*calls[1::2])] == ["ok"] * (CALLS // 2)
    assert numbers(path) == list(range(1, CALLS, 2))


async def test_cancelling_the_call_that_runs_harms_none_of_those_behind_it(warm, tmp_path, fifo) -> None:
    path = tmp_path / "ran"
    hang = f"import signal\nopen({str(fifo)!r}, 'w').write('on')\nsignal.pause()"
    first = asyncio.create_task(warm.run(hang, {}))
    calls = [asyncio.create_task(warm.run(MARK, {"n": n, "path": str(path)})) for n in range(CALLS)]
    await read_line(fifo)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert [ran.ended for ran in await asyncio.gather(*calls)] == ["ok"] * CALLS
    assert numbers(path) == list(range(CALLS))


async def test_a_host_that_closes_ends_calls_before_their_turn_as_well(make, fifo) -> None:
    host = make(1, grace_s=0.3)
    await value(host, "result = 1")
    first = asyncio.create_task(
        host.run(f"open({str(fifo)!r}, 'w').write('on')\nopen({str(fifo)!r}).read()", {})
    )
    calls = [asyncio.create_task(host.run("result = n", {"n": n})) for n in range(CALLS)]
    await read_line(fifo)
    await host.close()
    assert {ran.ended for ran in await asyncio.gather(first, *calls)} == {"crashed"}


async def test_without_memory_to_share_calls_are_handed_over_in_their_turn(make, monkeypatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    host = make(1)
    code = "print(n)\nresult = n"
    found = await asyncio.gather(*(heard(host, code, {"n": n}) for n in range(CALLS)))
    assert [(ran.value, ran.printed) for ran in found] == [(n, f"{n}\n") for n in range(CALLS)]

"""A store that was damaged, cut short or filled up: a clear error or the right result, never a stack trace."""

import json
import os
import signal
import subprocess
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.acceptance.conftest import Noetl
from tests.acceptance.running import Process, audit_all, eventually, playbook
from tests.fork_server import FORK_SERVER

HOLD = playbook(
    """
    - step: large
      tool: {kind: python, input: {code: "result = {'text': 'x' * 200_000, 'n': 7}"}}
      next: {arcs: [{step: hold}]}
    - {step: hold, tool: {kind: wait, input: {signal: go}}, next: {arcs: [{step: end}]}}
    - {step: end, tool: {kind: noop, output: "{{ large.data.n }}"}}
    """
)

BOUND = "setpriv --bounding-set=-dac_override" if os.geteuid() == 0 else ""  # modes bind root too, then
ROOM_KIB = 64  # for each file: less than the first step writes, whatever the size of an empty database


@pytest.fixture
def killed(noetl: Noetl, write) -> str:
    """An execution that waits for a signal, and whose process was killed; its id."""
    with (noetl.folder / "printed").open("wb") as printed:
        words = ("run", write("hold.yaml", HOLD), "-q")
        out = printed.fileno()
        running = FORK_SERVER.start(words, noetl.folder, noetl.environment, out, out)
    eventually(lambda: running.poll() is not None or waits(noetl), "the wait")
    running.kill()
    assert running.wait() == -signal.SIGKILL, (noetl.folder / "printed").read_text()
    listed = json.loads(noetl("execution", "list", "--json").stdout)
    return str(listed[0]["execution_id"])


def database(noetl: Noetl) -> Path:
    return noetl.folder / ".noetl" / "noetl.db"


def waits(noetl: Noetl) -> bool:
    """Whether the log says that the execution waits; one look costs the run next to nothing."""
    if not database(noetl).exists():
        return False
    with closing(apsw.Connection(str(database(noetl)), flags=apsw.SQLITE_OPEN_READONLY)) as store:
        store.set_busy_timeout(1000)
        try:
            rows = store.execute(
                "SELECT 1 FROM log WHERE instr(body, CAST('task.parked' AS BLOB))"
            ).fetchall()
        except apsw.Error:  # it is only just being made
            return False
    return bool(rows)


def clear(done: "subprocess.CompletedProcess[str]") -> str:
    """What a command said that failed as it should: an error with its code, and no stack trace."""
    assert done.returncode in (1, 2, 3), (done.returncode, done.stderr)
    assert "error[" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr


def gone_on(noetl: Noetl, execution_id: str) -> None:
    """The execution is resumed, told to go, and ends well."""
    resumed = Process(noetl, "execution", "resume", execution_id, "--json")
    eventually(lambda: noetl("execution", "signal", execution_id, "go").returncode == 0, "the signal")
    done = resumed.wait()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["output"] == 7
    audit_all(noetl.folder)


def test_an_execution_with_a_damaged_log_is_stuck_until_it_is_mended(noetl: Noetl, killed: str) -> None:
    with closing(apsw.Connection(str(database(noetl)))) as store:
        newest = "(SELECT max(first) FROM log)"
        ((whole,),) = store.execute(f"SELECT body FROM log WHERE first = {newest}")
        store.execute(f"UPDATE log SET body = x'5b7b' WHERE first = {newest}")
        assert "is stuck since" in clear(noetl("execution", "resume", killed))
        shown = json.loads(noetl("execution", "show", killed, "--json").stdout)
        assert (shown["status"], shown["stuck"]["reason"]) == ("stuck", "log")
        why = noetl("execution", "why", killed)
        assert f"noetl execution release {killed}" in why.stdout
        assert "is stuck since" in clear(noetl("execution", "release", killed))
        store.execute(f"UPDATE log SET body = ? WHERE first = {newest}", (whole,))
    assert noetl("execution", "release", killed).returncode == 0
    gone_on(noetl, killed)


@pytest.mark.parametrize("command", ["why", "show"])
def test_whoever_only_looks_at_a_damaged_log_is_told_that_it_is_stuck(
    noetl: Noetl, killed: str, command: str
) -> None:
    with closing(apsw.Connection(str(database(noetl)))) as store:
        store.execute("UPDATE log SET body = x'5b7b' WHERE first = (SELECT max(first) FROM log)")
    told = noetl("execution", command, killed, "--json")
    assert (told.returncode, json.loads(told.stdout)["status"]) == (0, "stuck"), told.stderr


def test_a_damaged_page_of_the_database_is_a_clear_error_and_a_copy_helps(noetl: Noetl, killed: str) -> None:
    with closing(apsw.Connection(str(database(noetl)))) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        ((size,),) = store.execute("PRAGMA page_size")
        pages = {page for (page,) in store.execute("SELECT rootpage FROM sqlite_master WHERE name = 'log'")}
    copy = database(noetl).read_bytes()
    with database(noetl).open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * size)
            file.write(b"\xff" * size)
    for words in (("resume", killed), ("why", killed), ("show", killed)):
        said = clear(noetl("execution", *words))
        assert "damaged" in said or "malformed" in said, said
    database(noetl).write_bytes(copy)
    gone_on(noetl, killed)


def test_a_payload_that_was_cut_short_is_told_where_it_is_read(noetl: Noetl, killed: str) -> None:
    payloads = [file for file in (noetl.folder / ".noetl" / "results").rglob("*") if file.is_file()]
    assert payloads
    for file in payloads:
        file.write_bytes(file.read_bytes()[:100])
    looked = noetl("render", "{{ large.data.text }}", "--at", killed)
    assert "is damaged: its checksum" in looked.stderr, looked.stderr
    assert (
        f"= fix: bring it back from a copy, or make it anew: noetl execution rerun {killed}" in looked.stderr
    )
    resumed = Process(noetl, "execution", "resume", killed, "--json")
    eventually(lambda: noetl("execution", "signal", killed, "go").returncode == 0, "the signal")
    done = resumed.wait()
    result = json.loads(done.stdout)
    assert (done.returncode, result["status"]) == (1, "failed"), done.stderr
    assert "large" in json.dumps(result["error"]), result["error"]
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_told_and_the_execution_goes_on_when_there_is_room(noetl: Noetl, killed: str) -> None:
    full = noetl.shell(f"ulimit -f {ROOM_KIB}; noetl run hold.yaml -q")
    assert "Traceback" not in full.stderr, full.stderr
    assert full.returncode == 3, (full.returncode, full.stderr)
    assert "error[" in full.stderr
    gone_on(noetl, killed)


def test_a_read_only_folder_is_told_and_the_execution_goes_on_once_it_can_be_written(
    noetl: Noetl, killed: str
) -> None:
    store = database(noetl).parent
    kept = {path: path.stat().st_mode for path in (store, *store.rglob("*"))}
    for path, mode in kept.items():
        path.chmod(mode & ~0o222)
    for words in ("run hold.yaml -q", f"execution resume {killed}", f"execution why {killed}"):
        assert "writable" in clear(noetl.shell(f"{BOUND} noetl {words}"))
    for path, mode in kept.items():
        path.chmod(mode)
    gone_on(noetl, killed)


def test_of_two_processes_that_resume_at_once_one_runs_it(noetl: Noetl, killed: str) -> None:
    both = [Process(noetl, "execution", "resume", killed, "--json") for _ in range(2)]
    eventually(lambda: any(process.ended for process in both), "one is refused")
    eventually(lambda: noetl("execution", "signal", killed, "go").returncode == 0, "the signal")
    ended = sorted((process.wait() for process in both), key=lambda done: done.returncode)
    assert [done.returncode for done in ended] == [0, 2], [done.stderr for done in ended]
    assert json.loads(ended[0].stdout)["output"] == 7
    assert "another process" in ended[1].stderr

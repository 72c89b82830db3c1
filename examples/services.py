"""PostgreSQL, and NATS where it is wanted, from their wheels, for trying a cluster: `start [--nats]`, `stop`.

`start` leaves them running on free ports, with their data in `.noetl/services` of this folder, and prints the
settings that name them: eval "$(python examples/services.py start)". Not for production.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = Path(".noetl") / "services.json"
FOLDERS = Path(tempfile.gettempdir()) / f"noetl-services-{os.getuid()}"  # a file for each keeper: its folder
READY_S = 60.0
LOOK_S = 0.05


def main(arguments: list[str]) -> int:
    """Start, stop, or be the process that keeps them."""
    with_nats = arguments[1:] == ["--nats"]
    if arguments[:1] == ["stop"] and len(arguments) == 1:
        return stop()
    todo = {"start": start, "keep": keep}
    if arguments[:1] not in (["start"], ["keep"]) or not (with_nats or len(arguments) == 1):
        print("use: python examples/services.py start [--nats] | stop", file=sys.stderr)
        return 2
    return todo[arguments[0]](with_nats)


def start(with_nats: bool) -> int:
    """Start them in a process of its own, unless they run, and print what to export."""
    if _running() is None:
        PLACE.parent.mkdir(exist_ok=True)
        PLACE.unlink(missing_ok=True)
        log = PLACE.with_suffix(".log").open("wb")
        keeper = subprocess.Popen(
            [sys.executable, __file__, "keep", *(["--nats"] if with_nats else [])],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        until = time.monotonic() + READY_S
        while _running() is None:
            if keeper.poll() is not None or time.monotonic() > until:
                print(f"the services did not start; see {PLACE.with_suffix('.log')}", file=sys.stderr)
                return 1
            time.sleep(LOOK_S)
    said = json.loads(PLACE.read_text())
    for name in ("NOETL_STORE", "NOETL_BUS"):
        if name in said:
            print(f"export {name}={shlex.quote(said[name])}")
    print("the services run; stop them with: python examples/services.py stop", file=sys.stderr)
    return 0


def stop() -> int:
    """Stop them; their data go with them."""
    folders = [Path.cwd()] if _running() is not None else _folders()
    if len(folders) != 1:
        others = "".join(f"\n  cd {shlex.quote(str(folder))}" for folder in folders)
        print(
            "no services run in this folder" + (f"; they run in:{others}" if folders else ""), file=sys.stderr
        )
        return 1
    os.chdir(folders[0])
    os.kill(_running() or 0, signal.SIGTERM)
    while _running() is not None:
        time.sleep(LOOK_S)
    print(
        f"the services of {folders[0]} are gone; in this shell: unset NOETL_STORE NOETL_BUS", file=sys.stderr
    )
    return 0


def _folders() -> list[Path]:
    """Where services run, in other folders."""
    places = [Path(file.read_text()) for file in FOLDERS.glob("*")] if FOLDERS.is_dir() else []
    return [folder for folder in places if _running(folder) is not None]


def _running(folder: Path = Path()) -> int | None:
    """The process that keeps them."""
    try:
        pid = int(json.loads((folder / PLACE).read_text())["pid"])
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def keep(with_nats: bool) -> int:
    """Run them until told to stop."""
    sys.path.insert(0, str(ROOT))
    from tests.servers import NatsServer, PostgresServer

    with PostgresServer.start() as postgres, NatsServer.start() if with_nats else nullcontext() as nats:
        said = {"pid": os.getpid(), "NOETL_STORE": postgres.new_database()}
        if nats is not None:
            said["NOETL_BUS"] = nats.url
        written = PLACE.with_suffix(".part")
        written.write_text(json.dumps(said))
        written.replace(PLACE)
        FOLDERS.mkdir(mode=0o700, exist_ok=True)
        listed = FOLDERS / str(os.getpid())
        listed.write_text(str(Path.cwd()))
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        stopping.wait()
        PLACE.unlink(missing_ok=True)
        listed.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

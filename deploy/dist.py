"""Builds what is handed out: wheel, source archive, bill of materials; the same bytes from the same commit.

python deploy/dist.py FOLDER [--uv PATH]     PATH: a uv that writes the bill of materials, too
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MATERIALS = "noetl.cdx.json"


def build(folder: Path) -> list[Path]:
    """The wheel and the source archive."""
    from hatchling.build import build_sdist, build_wheel

    os.environ.setdefault("SOURCE_DATE_EPOCH", _commit_time())
    os.chdir(ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    return [folder / make(str(folder)) for make in (build_wheel, build_sdist)]


def _commit_time() -> str:
    """A file's time in an archive is that of the commit, not of the build."""
    shown = subprocess.run(
        ["git", "show", "-s", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return shown.stdout.strip() or "1700000000"


def pinned() -> list[str]:
    """Every package with the version that the tests ran with, and where that one is for."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return [match[1] for line in lines if (match := re.match(r"([^ #]+==.*?)(?: \\)?$", line))]


def bill_of_materials(folder: Path, uv: str) -> Path:
    """What the package and its extras are made of, as CycloneDX, with the versions of the lock."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("README.md", "LICENSE"):
            shutil.copy(ROOT / name, scratch)
        shutil.copytree(ROOT / "noetl", Path(scratch, "noetl"), ignore=shutil.ignore_patterns("__pycache__"))
        wanted = f"\n[tool.uv]\nconstraint-dependencies = {json.dumps(pinned())}\n"
        Path(scratch, "pyproject.toml").write_text(_without_groups() + wanted)
        words = [uv, "export", "-q", "--format", "cyclonedx1.5", "--all-extras", "--no-dev"]
        done = subprocess.run(words, cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"dist: there is no bill of materials:\n{done.stderr}")
    return _without_chance(folder / MATERIALS, json.loads(done.stdout))


def _without_groups() -> str:
    """Groups are for tests, one in an environment of its own: they cannot all be installed together."""
    return re.sub(r"(?ms)^\[dependency-groups\]\n.*?(?=^\[)", "", (ROOT / "pyproject.toml").read_text())


def _without_chance(file: Path, bill: dict[str, object]) -> Path:
    """Neither a serial number nor the time of the build: the same commit has the same bill."""
    bill.pop("serialNumber", None)
    metadata = bill.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("timestamp", None)
    file.write_text(json.dumps(bill, indent=1) + "\n")
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--uv")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    files = build(folder)
    if chosen.uv is not None:
        files.append(bill_of_materials(folder, str(Path(chosen.uv).resolve())))
    for file in files:
        print(f"dist: {file.name}, {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

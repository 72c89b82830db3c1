"""The wheel is the product: the same bytes from the same commit, and all it needs, on every Python that is here."""

import calendar
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from deploy.dist import bill_of_materials, pinned
from examples.api import Server, Shop
from noetl import __version__, documentation
from noetl.cli.extras import EXTRA_OF
from tests.docs.pages import API, blocks

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = sorted(PROJECT["optional-dependencies"])
OLDEST = (3, 11)
RELEASE = f"1!{__version__}"  # as installers sort it
PAGE = """
from noetl.server.manual.addresses import OnServer
from noetl.server.manual.site import Site
print('href="/docs/how-to/use-a-server"' in Site(OnServer(), "1").page("index"))
"""
UV = next((ROOT / ".tools").glob("uv-*/bin/uv"))
CLEAN = {"LANG": "C.UTF-8", "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never"}


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOETL_", "VIRTUAL_"))}
    return {**kept, **CLEAN, **more}


def pythons() -> list[str]:
    """Every Python of this machine that the package is for, one of each minor version: this one first."""
    siblings = Path(sys.base_prefix).parent.glob("3.*/bin/python3")
    usual = [
        Path(folder, f"python3.{minor}")
        for folder in ("/usr/local/bin", "/usr/bin")
        for minor in range(11, 20)
    ]
    found: dict[tuple[int, int], str] = {sys.version_info[:2]: str(Path(sys.base_prefix, "bin/python3"))}
    for place in sorted([*siblings, *usual]):
        version = _version(place)
        if version is not None and version >= OLDEST:
            found.setdefault(version, str(place))
    return list(found.values())


def _version(python: Path) -> tuple[int, int] | None:
    """None of one that is not there or cannot be started."""
    if not python.exists():
        return None
    words = [str(python), "-c", "import sys; print(*sys.version_info[:2])"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return (int(done.stdout.split()[0]), int(done.stdout.split()[1])) if done.returncode == 0 else None


PYTHONS = pythons()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder / f"noetl-{RELEASE}-py3-none-any.whl"


def build(folder: Path) -> dict[str, bytes]:
    subprocess.run(
        [ROOT / ".venv" / "bin" / "python", ROOT / "deploy" / "dist.py", folder],
        check=True,
        capture_output=True,
    )
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def installed(wheel: Path, extra: str | None, python: str, folder: Path) -> Path:
    """An environment with the wheel and nothing else; its folder of programs."""
    pins = folder / "pinned.txt"
    pins.write_text("\n".join(pinned()))
    what = f"noetl{f'[{extra}]' if extra else ''} @ {wheel.as_uri()}"
    place = folder / "environment"
    for words in (
        ["venv", "-q", "--python", python, str(place)],
        [
            "pip",
            "install",
            "-q",
            "--python",
            place / "bin/python",
            "--constraint",
            folder / "pinned.txt",
            what,
        ],
    ):
        done = subprocess.run([UV, *words], capture_output=True, text=True, check=False, env=environment())
        assert done.returncode == 0, done.stderr
    return place / "bin"


@pytest.fixture
def api() -> Iterator[Server]:
    with Server(Shop()) as server:
        yield server


def run(bin_folder: Path, words: list[str], cwd: Path, **more: str) -> str:
    done = subprocess.run(
        [bin_folder / words[0], *words[1:]],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env=environment(PATH=f"{bin_folder}:/usr/bin:/bin", HOME=str(cwd), **more),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_commit_gives_the_same_bytes(tmp_path: Path) -> None:
    assert build(tmp_path / "first") == build(tmp_path / "second")


def test_the_bill_of_materials_has_each_dependency_as_it_was_tested(tmp_path: Path) -> None:
    bill = json.loads(bill_of_materials(tmp_path, str(UV)).read_text())
    versions = {entry["name"]: entry["version"] for entry in bill["components"] if "version" in entry}
    wanted = [Requirement(line).name for line in PROJECT["dependencies"]]
    for extra in EXTRAS:
        wanted += [Requirement(line).name for line in PROJECT["optional-dependencies"][extra]]
    tested = dict(line.split(";")[0].strip().split("==") for line in pinned())
    assert {name: versions.get(name) for name in wanted if name != "noetl"} == {
        name: tested[name] for name in wanted if name != "noetl"
    }
    assert "pytest" not in versions


def test_the_wheel_has_the_program_its_pages_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    folders = {name.partition("/")[0] for name in names}
    assert folders == {"noetl", f"noetl-{RELEASE}.dist-info"}
    assert "noetl/server/static/index.html" in names
    assert [name for name in names if "__pycache__" in name] == []


def test_the_wheel_has_every_page_of_the_documentation_and_what_pages_show(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name.removeprefix("noetl/manual/") for name in archive.namelist()}
    assert set(documentation.sources().values()) - inside == set()
    shown = {
        (ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT).as_posix()
        for page in documentation.sources().values()
        for link in re.findall(r"!\[[^\]]*\]\(([^)#\s]+)\)", (ROOT / page).read_text())
    }
    dark = {picture.replace("-light.", "-dark.") for picture in shown}
    assert shown
    assert (shown | dark) - inside == set()


def test_no_installer_takes_the_other_program_of_this_name_for_a_newer_release(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [archive.read(name) for name in archive.namelist() if name.endswith("/METADATA")]
    fields = Parser().parsestr(metadata.decode())
    assert Version(fields["Version"]) > Version("99999")  # of an index, where versions have no epoch
    assert "Not the program that the package index has under this name" in fields["Summary"]


def test_the_source_archive_builds_the_wheel(wheel: Path, tmp_path: Path) -> None:
    (source,) = wheel.parent.glob("*.tar.gz")
    shutil.unpack_archive(source, tmp_path, filter="data")
    (unpacked,) = (place for place in tmp_path.iterdir() if place.is_dir())
    build = "import sys, hatchling.build; hatchling.build.build_wheel(sys.argv[1])"
    with zipfile.ZipFile(wheel) as archive:
        times = min(entry.date_time for entry in archive.infolist())
    epoch = str(calendar.timegm((*times, 0, 0, 0)))
    subprocess.run(
        [ROOT / ".venv" / "bin" / "python", "-c", build, tmp_path],
        cwd=unpacked, env=environment(SOURCE_DATE_EPOCH=epoch), check=True, capture_output=True,
    )  # fmt: skip
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize("python", PYTHONS)
def test_from_the_wheel_alone_the_readme_works_on_every_python_that_is_here(
    wheel: Path, python: str, tmp_path: Path, api: Server
) -> None:
    programs = installed(wheel, None, python, tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    playbook = next(block for block in blocks(ROOT / "README.md") if block.title == "orders.yaml")
    (work / "orders.yaml").write_text(playbook.text.replace(API, api.url))
    assert run(programs, ["python", "-m", "noetl", "--version"], work).startswith(f"noetl {__version__} ")
    printed = run(programs, ["noetl", "run", "--quiet", "orders.yaml"], work, NOETL_ALLOW_NETWORKS="loopback")
    assert printed == '"3450 rows are in shop/"\n'
    told = run(programs, ["python", "-c", "import noetl; print(noetl.run('orders.yaml').output)"], work)
    assert told == "3450 rows are in shop/\n"
    read = "from noetl import documentation as d; print(len(d.sources()), d.title(d.read('how-to/install')))"
    assert run(programs, ["python", "-c", read], work) == f"{len(documentation.sources())} Install it\n"
    run(programs, ["noetl", "init", "shop"], work)
    run(programs, ["noetl", "test"], work / "shop")  # on another loop than a run is
    shutil.rmtree(programs.parent)


BY_NAME = re.compile(r"pip install\b[^#`]* ['\"]?noetl(\[[^\]]*\])?['\"]?(?=\s|`|$)")


def test_no_page_installs_the_other_program_of_this_name() -> None:
    assert BY_NAME.search("pip install --upgrade noetl   # or the new image")
    pages = [ROOT / "README.md", *(ROOT / page for page in documentation.sources().values())]
    said = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in pages
        for line in page.read_text().splitlines()
        if BY_NAME.search(line)
    ]
    assert said == []


def named_by_all() -> set[str]:
    """The extras of which the extra `all` consists; large ones are not among them."""
    (line,) = PROJECT["optional-dependencies"]["all"]
    return set(line.partition("[")[2].rstrip("]").split(","))


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_what_it_promises_and_nothing_is_missing(
    wheel: Path, extra: str, tmp_path: Path
) -> None:
    programs = installed(wheel, extra, str(ROOT / ".venv" / "bin" / "python"), tmp_path)
    brought = named_by_all() if extra == "all" else {extra}
    modules = [module for module, brings in EXTRA_OF.items() if brings in brought]
    assert modules
    run(programs, ["python", "-c", f"import {', '.join(modules)}"], tmp_path)
    assert run(programs, ["noetl", "--version"], tmp_path).startswith(f"noetl {__version__} ")
    if extra == "server":
        assert run(programs, ["python", "-c", PAGE], tmp_path) == "True\n"
    shutil.rmtree(programs.parent)

"""Which playbooks the user means: files, folders, globs, and `-` for standard input. Nothing here reads YAML.

A file that is named is always taken. In a folder only the `.yaml` and `.yml` files that look like playbooks
are, since playbooks live beside other YAML.
"""

import difflib
import glob
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from noetl.errors import NotFound, RequestError

STDIN = "-"
STDIN_NAME = "<stdin>"
SUFFIXES = (".yaml", ".yml")
TEST_ENDINGS = tuple(f".test{suffix}" for suffix in SUFFIXES)
READ_LIMIT = 32 * 1024 * 1024  # far above the loader's own limit, which then says so with a position
LOOKS_LIKE_PLAYBOOK = re.compile(
    rb"""^(?:\{\s*)?["']?(?:apiVersion["']?\s*:\s*["']?noetl\b|kind["']?\s*:\s*["']?Playbook\b)""",
    re.MULTILINE,
)
IGNORED_FOLDERS = {"node_modules", "__pycache__"}


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name it is reported under."""

    name: str
    data: bytes


def find(arguments: Sequence[str]) -> list[str]:
    """Every playbook the arguments name, each once, in order; fails naming every argument that names none."""
    files: dict[str, None] = {}
    missing: list[str] = []
    for argument in arguments:
        matches = list(_expand(argument))
        files.update(dict.fromkeys(matches))
        if not matches:
            missing.append(argument)
    if missing:
        raise _nothing(missing)
    return list(files)


def read(name: str) -> Source:
    if name == STDIN:
        return Source(STDIN_NAME, sys.stdin.buffer.read(READ_LIMIT))
    try:
        with open(name, "rb") as file:
            return Source(name, file.read(READ_LIMIT))
    except OSError as error:
        raise RequestError(f"cannot read '{name}': {error.strerror or error}") from error


def is_test(name: str) -> bool:
    """Whether a file is a playbook's tests, by its name."""
    return name.endswith(TEST_ENDINGS)


def read_one(argument: str) -> Source:
    """The text of one file, for commands that take exactly one playbook."""
    if argument != STDIN and os.path.isdir(argument):
        raise RequestError(f"'{argument}' is a folder, not a playbook", hint="name one file of it")
    if argument != STDIN and not os.path.exists(argument):
        raise _nothing([argument])
    if is_test(argument):
        raise RequestError(f"'{argument}' is a test, not a playbook", hint=f"noetl test {argument}")
    return read(argument)


def _expand(argument: str) -> Iterator[str]:
    if argument == STDIN:
        yield argument
    elif os.path.isdir(argument):
        yield from _in_folder(argument)
    elif os.path.exists(argument):
        yield argument
    elif glob.has_magic(argument):
        for name in sorted(glob.glob(argument, recursive=True)):
            yield from _in_folder(name) if os.path.isdir(name) else [name]


def files_below(folder: str) -> Iterator[str]:
    """Every file of a folder and of those in it, hidden ones and those of other tools left out."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in IGNORED_FOLDERS)
        yield from (os.path.normpath(os.path.join(place, file)) for file in sorted(files))


def _in_folder(folder: str) -> Iterator[str]:
    return (name for name in files_below(folder) if name.endswith(SUFFIXES) and _looks_like_playbook(name))


def _looks_like_playbook(name: str) -> bool:
    if not os.path.isfile(name):
        return False
    try:
        with open(name, "rb") as file:
            return LOOKS_LIKE_PLAYBOOK.search(file.read(READ_LIMIT)) is not None
    except OSError:
        return True  # reading it again will say why it cannot be read


def _nothing(missing: list[str]) -> NotFound:
    first = missing[0]
    if os.path.isdir(first):
        return NotFound(
            f"no playbooks in the folder '{first}'",
            hint="a playbook is a .yaml or .yml file with `kind: Playbook`; a named file is always checked",
        )
    if glob.has_magic(first):
        return NotFound(f"no file matches '{first}'", hint="quote the pattern, or name a file or a folder")
    others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    return NotFound(f"no such file or folder: '{first}'{others}", hint=_nearest_file(first))


def _nearest_file(name: str) -> str | None:
    folder = Path(name).parent
    if not folder.is_dir():
        return f"there is no folder '{folder}' either"
    names = [entry.name for entry in folder.iterdir() if entry.suffix in SUFFIXES]
    near = difflib.get_close_matches(Path(name).name, names, n=1)
    return f"did you mean '{folder / near[0]}'?" if near else None

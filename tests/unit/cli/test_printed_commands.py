"""Every command line that noetl prints, in a hint or anywhere else, is one that it takes."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from noetl.cli.main import ALIASES, COMMANDS, root

SOURCES = Path(__file__).parents[3] / "noetl"
VALUE = "1"  # for what is put in when a text is printed; a name as well as a number
KNOWN = {*ALIASES, *(name for group in COMMANDS.values() for name in group)}
# A command begins a text, stands behind what introduces one, or is one by its name; other words are prose.
BEGIN = re.compile(rf"(?:^|: |`)(?=noetl [a-z])|(?=\bnoetl (?:{'|'.join(sorted(KNOWN))})\b)")
OTHER = re.compile(r"noetl ([a-z]+) .*?, or ([a-z]+ (?:ID|1)\b.*)")  # noetl execution retry ID, or rerun ID
EXAMPLE = re.compile(r"^ {2,}(?:[A-Z_]+=\S+ )*(noetl [a-z].*)$", re.MULTILINE)  # has no prose
GIVEN = re.compile(r"-.*|@last|\d.*|[A-Z]+(=[A-Z]+)?|.*[./*'\"{].*")  # what is given to a command, not prose
NAMES_OF_CLIENTS = {"opened_bus"}


def text_of(node: ast.AST) -> str:
    """A text with something put in for what is known only when it is printed."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    called = (
        node.value.func if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Call) else None
    )
    name = getattr(called, "attr", getattr(called, "id", ""))
    given = getattr(node.value, "id", "") if isinstance(node, ast.FormattedValue) else ""
    return f" --server {VALUE}" if name == "server_flag" or given == "flag" else VALUE


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text below a node and its line; docstrings and names that clients give themselves are none."""
    if isinstance(node, ast.Constant | ast.JoinedStr):
        yield getattr(node, "lineno", 0), text_of(node)
        return
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in NAMES_OF_CLIENTS:
        return
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
            yield from texts(child)


def printed() -> Iterator[tuple[str, list[str]]]:
    """Where a command stands, and its words."""
    for file in sorted(SOURCES.rglob("*.py")):
        for line, text in texts(ast.parse(file.read_text())):
            place = f"{file.relative_to(SOURCES)}:{line}"
            for found in EXAMPLE.finditer(text):
                yield place, shlex.split(re.split(r"\s{2}|\s[&|#>]", found[1])[0])[1:]
            rest = EXAMPLE.sub("", text)
            for begin in sorted({found.end() for found in BEGIN.finditer(rest)}):
                yield place, command_of(rest[begin:])
            for found in OTHER.finditer(rest):
                yield place, command_of(f"noetl {found[1]} {found[2]}")


def command_of(text: str) -> list[str]:
    """The words of a command at the beginning of a text, as far as they are no prose."""
    line = re.split(r"[;,:`)\n]|\.(?=\s|$)|\s{2}|\s[&|#]", text)[0]
    words = shlex.split(line)[1:]
    command: click.Command = root
    taken: list[str] = []
    takes_value = False
    for word in words:
        below = (
            command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        )
        if isinstance(command, click.Group) and not word.startswith("-"):
            if below is None:
                return [*taken, word]
            command = below
        elif not takes_value and not GIVEN.fullmatch(word):
            break
        takes_value = not takes_value and any(
            word in one.opts and isinstance(one, click.Option) and not one.is_flag for one in command.params
        )
        taken.append(VALUE if re.fullmatch("[A-Z]+", word) else word)
    return taken


def check(words: list[str]) -> None:
    """Let click read a command line, without running anything; raises what click says of a wrong one."""
    command: click.Command = root
    context = click.Context(root, info_name="noetl")
    while isinstance(command, click.Group):
        if not words or words[0].startswith("-"):
            return
        name, below, words = command.resolve_command(context, words)
        assert below is not None
        context, command = click.Context(below, parent=context, info_name=name), below
    command.make_context(context.info_name, words, parent=context.parent).close()


PRINTED = [pytest.param(*one, id=f"{one[0]} noetl {' '.join(one[1])}") for one in printed()]


@pytest.mark.parametrize("place, words", PRINTED)
def test_every_printed_command_is_one_that_noetl_takes(place: str, words: list[str]) -> None:
    try:
        check(words)
    except click.ClickException as error:
        pytest.fail(f"{place} prints 'noetl {' '.join(words)}': {error.format_message()}")


@pytest.mark.parametrize(
    "text, words",
    [
        ("noetl execution show 1 tells how it went", "execution show 1"),
        ("noetl schedule add NAME PATH --every 15m", "schedule add 1 1 --every 15m"),
        ("noetl test --record FILE", "test --record 1"),
        ("noetl excution list", "excution"),
        ("noetl execution lst, or look at it", "execution lst"),
    ],
)
def test_prose_around_a_command_is_no_part_of_it(text: str, words: str) -> None:
    assert command_of(text) == words.split()


@pytest.mark.parametrize(
    "line", ["excution list", "execution lst", "execution show", "execution show 1 --al"]
)
def test_a_wrong_command_would_be_found(line: str) -> None:
    with pytest.raises(click.ClickException):
        check(line.split())

"""How things look on a terminal: colour, data on stdout, everything else on stderr.

Nothing here knows a command or a playbook. Colour is only used on a terminal, and never when NO_COLOR is set.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TextIO, TypeVar

import click

from noetl.cli.exit_codes import EXIT_CLOSED_PIPE

Item = TypeVar("Item")
Tone = Literal["error", "warning", "info", "good", "strong", "faint"]

TONES: dict[Tone, dict[str, str | bool]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "info": {"fg": "cyan", "bold": True},
    "good": {"fg": "green", "bold": True},
    "strong": {"bold": True},
    "faint": {"fg": "bright_black"},
}


def colourful(stream: TextIO) -> bool:
    """Whether colour may be written to this stream."""
    from noetl.settings import colour_allowed

    return stream.isatty() and colour_allowed()


class Paint:
    """Colours text for one stream, or leaves it as it is."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, tone: Tone) -> str:
        style = TONES[tone]
        return click.style(text, fg=style.get("fg"), bold=bool(style.get("bold"))) if self.on else text


def emit(text: str) -> None:
    """Write data to stdout; ends quietly where the reader has gone, with an error where the disk is full."""
    try:
        click.echo(text, color=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise click.exceptions.Exit(EXIT_CLOSED_PIPE) from None
        failure(
            "output", f"stdout cannot be written to: {error.strerror}", "make room, or write it elsewhere"
        )
        raise click.exceptions.Exit(1) from None


def indented_json(value: object) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def emit_json(value: object) -> None:
    """Write data to stdout for programs."""
    emit(indented_json(value))


def emit_list(
    items: Sequence[Item],
    line: Callable[[Item], str],
    *,
    fields: Callable[[Item], object],
    empty: str,
    as_json: bool,
) -> None:
    """Write a list to stdout: a line for each, or for programs its fields; `empty` when there is none."""
    if as_json:
        emit_json([fields(item) for item in items])
        return
    if not items:
        note(empty)
    for item in items:
        emit(line(item))


def note(text: str) -> None:
    """Write anything that is not data to stderr."""
    click.echo(text, err=True, color=True)


def failure(code: str, message: str, hint: str | None = None, *, verb: str = "fix") -> None:
    """Say on stderr why the command could not do its work, and what to do next."""
    paint = Paint(colourful(sys.stderr))
    note(paint(f"error[{code}]", "error") + paint(f": {message}", "strong"))
    if hint:
        note(f"  {paint('=', 'info')} {verb}: {hint}")


def width_of(names: Iterable[str]) -> int:
    return max(map(len, names), default=0)


def counted(number: int, noun: str) -> str:
    """A number with its noun, as in `1 error`, `2 errors`, `2 deliveries`."""
    many = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"

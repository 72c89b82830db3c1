"""Lines of tasks on a terminal: what they printed, their colours, and nothing that does more."""

import io
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from noetl.cli.formats.log_lines import LineFormat
from noetl.cli.running.progress_tree import TreeWatch

HEAD = "10:00:00.000  talk/talk_task  "


class Terminal(io.StringIO):
    """A stream that people look at."""

    def isatty(self) -> bool:
        return True


def line(text: str, level: str | None = None) -> Any:
    place = {"execution_id": "e1", "step": "talk", "task": "talk_task", "iteration": None, "attempt": 1}
    return {**place, "ts": "2026-11-19T10:00:00.000Z", "level": level, "text": text}


@pytest.fixture(autouse=True)
def colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_line_keeps_its_colours_and_cannot_do_more_to_a_terminal() -> None:
    shown = LineFormat("e1", Terminal())(line("\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2J\rover \x08end"))
    assert shown == f"{HEAD}\x1b[31mred\x1b[0m \\x1b]0;title\\x07\\x1b[2J\\x0dover \\x08end\x1b[0m"


def test_colours_of_a_line_go_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert LineFormat("e1", Terminal())(line("\x1b[1;31mred\x1b[0m end")) == f"{HEAD}red end"


def test_a_line_is_written_to_a_file_as_it_was_printed() -> None:
    assert (
        LineFormat("e1", io.StringIO())(line("\x1b[31mred\x1b[0m\tend")) == f"{HEAD}\x1b[31mred\x1b[0m\tend"
    )


def test_a_line_above_the_tree_of_a_run_is_shown_as_it_is() -> None:
    out, watch = io.StringIO(), TreeWatch()
    watch._live = Live(console=Console(file=out, width=40))
    said = "state :warning: [bold]x[/bold] 10 of 20 " + "word " * 20 + "end"
    watch.announce(said)
    assert out.getvalue() == f"{said}\n"

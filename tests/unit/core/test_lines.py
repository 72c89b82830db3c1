"""Bytes become lines, and a line says its level where somebody wrote one down."""

import pytest

from noetl.core.values.lines import LINE_BYTES, LineSplitter, level_of, level_of_number


def split(*parts: bytes) -> list[str]:
    splitter = LineSplitter()
    return [line for part in parts for line in splitter.feed(part)] + list(splitter.end())


@pytest.mark.parametrize(
    "parts, lines",
    [
        ((b"one\ntwo\n",), ["one", "two"]),
        ((b"o", b"ne\nt", b"wo"), ["one", "two"]),
        ((b"\n\n",), ["", ""]),
        ((b"one\r\ntwo\r\n",), ["one", "two"]),
        ((b" 1%\r 50%\r100%\n",), ["100%"]),
        ((b"a\0b\xff\n",), ["a\ufffdb\ufffd"]),
        ((), []),
    ],
)
def test_lines_are_cut_wherever_the_bytes_were(parts: tuple[bytes, ...], lines: list[str]) -> None:
    assert split(*parts) == lines


def test_what_is_too_long_of_a_line_is_counted() -> None:
    cut = "x" * LINE_BYTES
    assert split(b"x" * LINE_BYTES, b"yz\nnext\n") == [f"{cut} … 2 bytes left out", "next"]


@pytest.mark.parametrize(
    "text, level, shown",
    [
        ("plain", None, "plain"),
        ("\x1e30\x1fcareful", "warning", "careful"),
        ("\x1ecareful", None, "\x1ecareful"),
        ("ERROR:app.db:no", "error", "ERROR:app.db:no"),
        ("ERROR: no", None, "ERROR: no"),
        ('{"level": "WARN", "msg": 1}', "warning", '{"level": "WARN", "msg": 1}'),
        ('{"levelname": "CRITICAL"}', "critical", '{"levelname": "CRITICAL"}'),
        ('{"severity": "notice", "level": 30}', "info", '{"severity": "notice", "level": 30}'),
        ('{"level": "none of these"}', None, '{"level": "none of these"}'),
        ('{"msg": 1}', None, '{"msg": 1}'),
        ("{not json", None, "{not json"),
    ],
)
def test_a_line_says_its_level_where_logging_or_json_does(text: str, level: str | None, shown: str) -> None:
    assert level_of(text) == (level, shown)


@pytest.mark.parametrize(
    "number, level",
    [(0, "debug"), (10, "debug"), (25, "info"), (40, "error"), (50, "critical"), (99, "critical")],
)
def test_numbers_of_logging_are_levels(number: int, level: str) -> None:
    assert level_of_number(number) == level

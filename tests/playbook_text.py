"""Playbook texts of tests: short ones completed, fixture files taken apart, and texts no file can hold."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from noetl.dsl.load import Loaded, load, load_tree
from noetl.tools import kinds

FIXTURES = Path(__file__).parent / "rules"
HEADER = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: example, path: examples/example}
"""
MARKER = re.compile(r"# --- (?:bad (?P<line>\d+):(?P<column>\d+)|clean)")


def complete(text: str) -> str:
    """A text that begins with its workflow gets the sections every playbook has, after it: lines stay as they are."""
    has_workflow = re.search(r"(?m)^workflow:", text)
    return text + HEADER if has_workflow and "apiVersion" not in text else text


def loaded(text: str | bytes) -> Loaded:
    """What loading a text with the tool kinds of this package gives."""
    return load(complete(text) if isinstance(text, str) else text, kinds=kinds())


def messages(text: str, *codes: str) -> list[str]:
    """The messages of the findings of some codes, in order; of all findings when no code is named."""
    return [finding.message for finding in loaded(text).diagnostics if finding.code in codes or not codes]


@dataclass(frozen=True)
class Case:
    """One document of a fixture file: its text, and where the finding must stand; nowhere in a clean one."""

    code: str
    text: str
    place: tuple[int, int] | None

    def __str__(self) -> str:
        return f"{self.code} at {self.place}" if self.place else f"{self.code} clean"


def fixture_cases(code: str) -> Iterator[Case]:
    """The documents of the fixture file of one code."""
    place: tuple[int, int] | None = None
    lines: list[str] | None = None
    for line in [*(FIXTURES / f"{code}.yaml").read_text().splitlines(), "# --- clean"]:
        found = MARKER.fullmatch(line)
        if not found:
            if lines is not None:
                lines.append(line)
            continue
        if lines is not None:
            yield Case(code, "\n".join(lines) + "\n", place)
        lines = []
        place = (int(found["line"]), int(found["column"])) if found["line"] else None


def _deep_data(depth: int) -> dict[str, object]:
    data: dict[str, object] = {}
    for _ in range(depth):
        data = {"a": data}
    return data


def _text(text: str | bytes) -> Callable[[], Loaded]:
    return lambda: loaded(text)


def _schema(schema: str) -> Callable[[], Loaded]:
    step = "workflow:\n  - step: start\n    tool: {kind: noop}\n    spec: {validate: {"
    return _text(f"{step}input: {schema}}}}}\n")


def _chain(links: int, link: str) -> str:
    """Definitions of which each refers to the next."""
    return "".join(f"a{i}: {link % (i + 1)}, " for i in range(links)) + f"a{links}: {{type: integer}}}}}}"


def _data(depth: int) -> Callable[[], Loaded]:
    return lambda: load_tree(_deep_data(depth), kinds=kinds())


# Documents that cannot stand in a file of text: three that must be refused, with the place, and one that need not.
GENERATED: dict[str, tuple[list[tuple[Callable[[], Loaded], tuple[int, int]]], Callable[[], Loaded]]] = {
    "json-schema-too-large": (
        [
            (_schema("{enum: [" + "0, " * 10_000 + "0]}"), (4, 30)),
            (_schema("{$ref: '#/$defs/a0', $defs: {" + _chain(140, "{$ref: '#/$defs/a%d'}")), (4, 30)),
            (_schema("{$ref: '#/$defs/a0', $defs: {" + _chain(140, "{items: {$ref: '#/$defs/a%d'}}")), (4, 30)),
        ],
        _schema("{$ref: '#/$defs/a0', $defs: {" + _chain(30, "{$ref: '#/$defs/a%d'}")),
    ),
    "too-deep": (
        [(_data(201), (1, 1)), (_data(1_000), (1, 1)), (_data(100_000), (1, 1))],
        _data(10),
    ),
    "yaml-character": (
        [
            (_text("workload: {a: \x07}\n"), (1, 15)),
            (_text("workload:\n  a: x\x85y\n"), (2, 7)),
            (_text("a: 1\nb: \ud800\n"), (2, 4)),
        ],
        _text('workload: {a: "\\a é 漢 😀"}\n'),
    ),
    "yaml-encoding": (
        [
            (_text("a: 1\n".encode("utf-16")), (1, 1)),
            (_text(b"a: caf\xe9\n"), (1, 7)),
            (_text(b"a: 1\nb: \xff\n"), (2, 4)),
        ],
        _text("workload: {a: café}\n".encode()),
    ),
    "yaml-too-deep": (
        [
            (_text("a: " + "[" * 30_000 + "]" * 30_000 + "\n"), (1, 53)),
            (_text("[" * 200), (1, 51)),
            (_text("".join(f"{' ' * n}a:\n" for n in range(300))), (51, 51)),
        ],
        _text("a: " + "[" * 20 + "]" * 20 + "\n"),
    ),
    "yaml-too-large": (
        [
            (_text("# " + "x" * 20_000_000), (1, 1)),
            (_text(b" " * 20_000_000), (1, 1)),
            (_text("\n" * (2**23 + 1)), (1, 1)),
        ],
        _text("a: [" + "1," * 1_000 + "]\n"),
    ),
}  # fmt: skip

"""Documents and what the program must say about them: how a row is written, and the shortest ways to a playbook."""

import textwrap
from dataclasses import dataclass

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: case, path: cases/case}\n"
NOOP = "- {step: start, tool: {kind: noop}}"
SET = "tool: {kind: noop}"
READ = "{kind: python, input: {a: '{{ %s }}', code: 'result = a'}}"


def doc(workflow: str = NOOP, root: str = "") -> str:
    """A playbook; line 4 is the first line of `root`, or `workflow:`, or the first step when both are short."""
    root = textwrap.dedent(root).strip("\n")
    steps = textwrap.indent(textwrap.dedent(workflow).strip("\n"), "  ")
    return f"{HEAD}{root}{chr(10) if root else ''}workflow:\n{steps}\n"


def step(*lines: str, root: str = "") -> str:
    """A playbook with one step: its keys begin at line 6."""
    return doc("\n".join(["- step: start", *(f"  {line}" for line in lines)]), root)


def tool(text: str, root: str = "") -> str:
    """A playbook with one pipeline, which stands at line 6."""
    return step(f"tool: {text}", root=root)


def rules(text: str, more: str = "") -> str:
    """A playbook with the rules of one http task named a, at line 6."""
    policy = f"{{{more}rules: {text}}}"
    return tool(f"[{{name: a, kind: http, input: {{url: x}}, spec: {{policy: {policy}}}}}]")


def arcs(text: str, *, mode: str = "", root: str = "", extra: str = "") -> str:
    """A playbook whose first step routes to b (and c): the router stands at line 7."""
    spec = f"spec: {{mode: {mode}}}, " if mode else ""
    others = [f"- {{step: {name}, tool: {{kind: noop}}}}" for name in ("b", "c") if f"step: {name}" in text]
    first = f"- step: start\n  tool: {{kind: noop}}\n  next: {{{spec}arcs: {text}}}"
    return doc("\n".join([first, *others, *([extra] if extra else [])]), root)


def loop(text: str, *lines: str, root: str = "") -> str:
    """A playbook with one loop step: the loop stands at line 6, the tool at line 7."""
    return step(f"loop: {text}", *(lines or ("tool: {kind: noop}",)), root=root)


def admit(text: str) -> str:
    """A playbook whose one step has an admission, at line 7."""
    return step(f"spec: {{policy: {{admit: {text}}}}}", "tool: {kind: noop}", root="workload: {a: 1}")


@dataclass(frozen=True)
class Row:
    """One document and the finding it must draw; no severity stands for no finding at all."""

    section: str
    name: str
    text: str | bytes
    severity: str = ""
    line: int = 0
    words: tuple[str, ...] = ()
    code: str = ""
    alone: bool = True  # no other finding of that severity

    def __str__(self) -> str:
        return f"{self.section} {self.name}"


class Table:
    """The rows of one section, written by what the program says."""

    def __init__(self, section: str, rows: list[Row]) -> None:
        self.section = section
        self.rows = rows

    def clean(self, name: str, text: str | bytes) -> None:
        self.rows.append(Row(self.section, name, text))

    def error(
        self, name: str, text: str | bytes, line: int, *words: str, code: str = "", alone: bool = True
    ) -> None:
        self.rows.append(Row(self.section, name, text, "error", line, words, code, alone))

    def warning(self, name: str, text: str, line: int, *words: str, alone: bool = True) -> None:
        self.rows.append(Row(self.section, name, text, "warning", line, words, "", alone))

    def info(self, name: str, text: str, line: int, *words: str) -> None:
        self.rows.append(Row(self.section, name, text, "info", line, words))

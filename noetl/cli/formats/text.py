"""Findings for people: the code and the sentence, the place, the line with a caret, the fix.

error[unknown-step]: arc to unknown step 'finsh'
  --> hello.yaml:7:24
   |
 7 |   next: {arcs: [{step: finsh}]}
   |                        ^^^^^
   = fix: did you mean 'finish'?
"""

import re
import unicodedata
from collections.abc import Sequence

from noetl.cli.playbooks.validation import CheckResult, tally
from noetl.cli.terminal import Paint, counted
from noetl.dsl.diagnostic import Diagnostic, Severity

NOUNS: tuple[tuple[Severity, str], ...] = (("error", "error"), ("warning", "warning"), ("info", "note"))
WIDTH = 120
CUT = "…"
# What the caret underlines: a quoted text, a word with its dots, or one character.
SPOT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[\w.$/-]+")


def findings_text(results: Sequence[CheckResult], paint: Paint) -> str:
    """Every finding of every text, a blank line between two."""
    blocks = []
    for result in results:
        lines = result.lines() if result.diagnostics else []
        blocks += [_finding(result.name, finding, lines, paint) for finding in result.diagnostics]
    return "\n\n".join(blocks)


def summary_line(results: Sequence[CheckResult], paint: Paint) -> str:
    """One line that says how it went."""
    counts = tally(results)
    checked = results[0].name if len(results) == 1 else counted(len(results), "playbook")
    parts = [paint(counted(counts[severity], noun), severity) for severity, noun in NOUNS if counts[severity]]
    bad = sum(1 for result in results if result.diagnostics)
    where = f" in {counted(bad, 'file')}" if len(results) > 1 and bad else ""
    mark = paint("failed", "error") if counts["error"] else paint("ok", "good")
    return f"{mark}: {checked}: {', '.join(parts) or 'no findings'}{where}"


def _finding(name: str, finding: Diagnostic, lines: list[str], paint: Paint) -> str:
    margin = " " * len(str(finding.line))
    bar = paint("|", "info")
    out = [
        paint(f"{finding.severity}[{finding.code}]", finding.severity)
        + paint(f": {printable(finding.message)}", "strong"),
        f"{margin} {paint('-->', 'info')} {printable(name)}:{finding.line}:{finding.column}",
    ]
    if 0 < finding.line <= len(lines) and lines[finding.line - 1].strip():
        text, caret = quote(lines[finding.line - 1], finding.column)
        number = paint(str(finding.line), "info")
        out += [
            f"{margin} {bar}",
            f"{number} {bar} {text}",
            f"{margin} {bar} {paint(caret, finding.severity)}",
        ]
    if finding.hint:
        first, *rest = printable(finding.hint, keep_lines=True).split("\n")
        out += [f"{margin} {paint('=', 'info')} fix: {first}", *(f"{margin}   {line}" for line in rest)]
    return "\n".join(out)


def quote(line: str, column: int) -> tuple[str, str]:
    """The author's line, cut to a readable width around the column, and the carets below it."""
    start = min(column - 1, len(line))
    spot = SPOT.match(line, start)
    end = max(spot.end() if spot else start + 1, start + 1)
    first = 0 if end <= WIDTH else max(0, start - WIDTH // 3)
    last = min(len(line), first + WIDTH)
    head = CUT if first else ""
    tail = CUT if last < len(line) else ""
    text = head + printable(line[first:last]) + tail
    before = head + printable(line[first:start])
    marked = printable(line[start : min(end, last)]) or " "
    return text.rstrip(), " " * width(before) + "^" * max(1, width(marked))


def printable(text: str, *, keep_lines: bool = False) -> str:
    """Text without anything that could move the cursor or change colours."""
    safe = [c if _printable(c) or (keep_lines and c == "\n") else _visible(c) for c in text]
    return "".join(safe)


def _printable(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _visible(character: str) -> str:
    return (
        "  "
        if character == "\t"
        else f"\\x{ord(character):02x}"
        if ord(character) < 256
        else f"\\u{ord(character):04x}"
    )


def width(text: str) -> int:
    """How many terminal cells a text takes."""
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

"""Reading documentation pages: their code blocks, and the commands in them with what they should print.

* A `yaml` block that has `apiVersion:` is a playbook and must be free of findings. The word `invalid` after the
  language says that it must have errors, `warned` that it must have warnings and no errors. `title=a.yaml`
  writes it to that file for the page's commands.
* The word `runs` says that the playbook is also run, in memory, and must complete.
* In a `console` block, lines that begin with `$ ` are run in the page's folder, which also has the examples. The
  lines below a command are what it prints; a line `…` stands for any lines. `# exit 1` after a command is its
  exit code. Ids, times and numbers of events may be others than the page shows.
* The API of the examples is there for playbooks and commands, as if at the address that pages write.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
EXIT = re.compile(r"\s+# exit (?P<code>\d+)$")
ANYTHING = "…"
API = "http://127.0.0.1:8081"  # where pages say that the API of the examples is
CHANGING = (  # what differs from run to run, and what it becomes before two outputs are compared
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"\b\w+ via cli\b"), "USER via cli"),
    (re.compile(r"\b\d+(?:\.\d+)? m?s\b"), "TIME"),
    (re.compile(r"\b(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:\.\d+)?Z?\b"), "CLOCK"),
    (re.compile(r" +TIME"), " TIME"),
    (re.compile(r"\b\d+ (?=events\b|decisions\b)"), "N "),  # how often a worker reports is a matter of speed
    (re.compile(r"(?m)^.*\bstep\.checkpointed\b.*\n"), ""),
    (re.compile(r"(?m)^ +\d+  (?=\S| )"), "SEQ  "),
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the words after it, and its text without indentation."""

    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def title(self) -> str | None:
        return next((word.removeprefix("title=") for word in self.words if word.startswith("title=")), None)

    @property
    def is_playbook(self) -> bool:
        return self.language == "yaml" and re.search(r"^apiVersion:", self.text, re.MULTILINE) is not None

    @property
    def runs(self) -> bool:
        return "runs" in self.words

    @property
    def verdict(self) -> str:
        """What validation must say: `invalid`, `warned` or `clean`."""
        return next((word for word in self.words if word in ("invalid", "warned")), "clean")


@dataclass(frozen=True)
class Command:
    """One command of a console block, and what it should do."""

    line: int
    command: str
    code: int
    output: str


def pages(root: Path) -> list[Path]:
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        body = re.sub(f"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, language, tuple(words), body))
    return found


def commands(block: Block) -> list[Command]:
    found: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
        if line.startswith("$ "):
            said = EXIT.search(line)
            command = EXIT.sub("", line.removeprefix("$ "))
            found.append(Command(number, command, int(said["code"]) if said else 0, ""))
        elif found:
            last = found[-1]
            found[-1] = Command(last.line, last.command, last.code, f"{last.output}{line}\n")
    return found


def alike(printed: str) -> str:
    """An output without what differs from run to run."""
    for changing, name in CHANGING:
        printed = changing.sub(name, printed)
    return printed


def matches(expected: str, printed: str) -> bool:
    """Whether the output is as written; a line `…` stands for any lines."""
    pieces = [re.escape(alike(piece)) for piece in re.split(rf"^{ANYTHING}\n", expected, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(pieces), alike(printed)) is not None

"""How a whole folder would migrate: which files come over, what is rewritten how often, what is left.

Pure counting and wording; the command migrates and prints.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

State = Literal["clean", "rewritten", "choices", "refused"]
STATES: Mapping[State, str] = {
    "clean": "need nothing",
    "rewritten": "are rewritten and accepted",
    "choices": "are rewritten and accepted, with places to look at",
    "refused": "are refused by validate afterwards",
}
LINES = re.compile(r" \(lines? [\d, ]+\)")
QUOTED = re.compile(r"'[^']*'")
OF_ONE_NAME = re.compile(
    r"(?:step|task|set target|the input|templates of step|the profile) '|.* is read by other steps "
)
INPUTS = re.compile(r".* now stands? under 'input'")
LISTED = re.compile(r"(.*(?:what was simply there|what it read|only what it names|workers must have)): .*")


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file: how it comes over, and what was said about it."""

    name: str
    state: State
    rewrites: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()  # codes of what validate refuses


@dataclass(frozen=True, slots=True)
class Report:
    """Every file, and how often each thing was said."""

    files: tuple[FileReport, ...]

    @property
    def states(self) -> dict[State, int]:
        return {state: sum(file.state == state for file in self.files) for state in STATES}

    def as_json(self) -> dict[str, object]:
        return {
            "total": len(self.files),
            "files": [
                {"file": file.name, "state": file.state, "findings": [*file.findings]} for file in self.files
            ],
            "states": self.states,
            "rewrites": _counts(file.rewrites for file in self.files),
            "choices": _counts(file.choices for file in self.files),
            "findings": _counts(file.findings for file in self.files),
        }

    def lines(self) -> Iterable[str]:
        total = len(self.files)
        yield f"{total} playbook{'' if total == 1 else 's'}"
        for state, count in self.states.items():
            yield f"  {count:>5}  {STATES[state]}"
        yield from _section("rewritten (places in files)", _counts(file.rewrites for file in self.files))
        yield from _section("to look at (places in files)", _counts(file.choices for file in self.files))
        yield from _section("refused for (findings in files)", _counts(file.findings for file in self.files))
        refused = [file.name for file in self.files if file.state == "refused"]
        if refused:
            yield "refused files"
            yield from (f"  {name}" for name in refused)


def state_of(*, changed: bool, choices: bool, errors: bool) -> State:
    if errors:
        return "refused"
    return "choices" if choices else "rewritten" if changed else "clean"


def _section(title: str, counts: Mapping[str, Mapping[str, int]]) -> Iterable[str]:
    if counts:
        yield title
        for what, count in counts.items():
            yield f"  {count['places']:>5} in {count['files']:<4} {what}"


def _counts(messages_by_file: Iterable[tuple[str, ...]]) -> dict[str, dict[str, int]]:
    """How often each thing was said, and in how many files; the most frequent first."""
    places: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for messages in messages_by_file:
        kinds = [_general(message) for message in messages]
        places.update(kinds)
        files.update({*kinds})
    ordered = sorted(places, key=lambda what: (-places[what], what))
    return {what: {"places": places[what], "files": files[what]} for what in ordered}


def _general(message: str) -> str:
    """What is said, without the names and lines of one playbook."""
    message = LISTED.sub(r"\1", LINES.sub("", message))
    if INPUTS.fullmatch(message):
        return "inputs beside 'kind' now stand under 'input'"
    return QUOTED.sub("'…'", message) if OF_ONE_NAME.match(message) else message

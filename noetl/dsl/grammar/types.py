"""The vocabulary of the grammar: what a value at some place of a playbook can be required to be.

Only the words live here, no tables and no checks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Text:
    """A string: a template where one may stand, or prose that nobody looks into."""

    template: bool = True
    prose: bool = False


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name that templates can read: a step, a label, an iterator."""

    what: Literal["step", "task", "iterator", "block", "keychain entry"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words; never a template."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A number within bounds; `above` excludes its bound, `least` and `most` include theirs."""

    integer: bool = False
    least: float | None = None
    most: float | None = None
    above: float | None = None
    template: bool = True


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time: a number of seconds, or a whole number with its unit, as in 10m; never a template."""


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false; never a template."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A `when`: true, false or a template."""


@dataclass(frozen=True, slots=True)
class Free:
    """Whatever value; the templates in it are checked."""


@dataclass(frozen=True, slots=True)
class FreeMap:
    """A mapping whose keys are the author's; its texts are templates unless it says otherwise."""

    template: bool = True
    whole: bool = False  # one template that gives the mapping may stand for it


@dataclass(frozen=True, slots=True)
class Const:
    """Exactly this text."""

    value: str


@dataclass(frozen=True, slots=True)
class Special:
    """A shape that depends on more than its own node; checker and schema know it by name."""

    name: Literal[
        "branches", "request", "collection", "delay", "reduce", "json_schema", "keychain", "workbook",
        "task_spec", "anything", "claim",
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tasks:
    """A pipeline: a list of tasks and sugar items, or one alone where `single` says so."""

    single: bool = False
    least: int = 1


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a policy with the directives they may choose; none are those of an admission."""

    directives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assigns:
    """A `set`: what is written, by targets in these scopes."""

    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """A spec that holds, beside the keys of its record, defaults for tasks under the names of their kinds."""

    record: "Record"


@dataclass(frozen=True, slots=True)
class Either:
    """Whichever of the shapes fits the value's type."""

    options: tuple["Shape", ...]
    says: str  # how a message names the choice


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one shape."""

    item: "Shape"
    least: int = 0


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a record."""

    shape: "Shape"
    doc: str = ""
    required: bool = False
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with known keys. `name` is how messages call it and how other tables refer to it."""

    name: str
    keys: Mapping[str, Key]
    open: bool = False
    needs_one: tuple[str, ...] = ()  # at least one of these must be given
    advice: Mapping[str, str] = field(default_factory=dict)  # a key that is often tried here -> what to write
    required: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", tuple(name for name, key in self.keys.items() if key.required))


Shape = (
    Text
    | Identifier
    | Choice
    | Span
    | Number
    | Flag
    | Guard
    | Free
    | FreeMap
    | Const
    | Special
    | Tasks
    | Rules
    | Assigns
    | Layer
    | Either
    | ListOf
    | Record
)


SECONDS = Number(above=0)
SPAN_PATTERN = r"^[1-9][0-9]{0,5}(s|m|h|d)$"
SPAN_MOST_S = 366 * 86_400
PROSE = Text(template=False, prose=True)


def reserved(doc: str) -> Key:
    """A key that is accepted and has no effect yet."""
    return Key(Free(), doc, reserved=True)

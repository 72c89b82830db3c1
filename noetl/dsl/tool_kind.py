"""What the language needs to know of a tool kind: its name, inputs and knobs. Running one is the tools' room.

A kind is described by data only, so that validation, JSON Schema, completion and docs need no driver.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from noetl.json_value import Json


@dataclass(frozen=True, slots=True)
class Field:
    """One input or knob: its Python type (checked with msgspec), whether it must be given, and a sentence."""

    name: str
    type: object  # a type, or a form of typing that stands for one
    required: bool = False
    doc: str = ""
    default: Json = None


@dataclass(frozen=True, slots=True)
class Kind:
    """One tool kind as authors see it."""

    name: str
    summary: str
    inputs: Mapping[str, Field] = field(default_factory=dict)
    open_input: bool = False  # keys beyond `inputs` are the author's own (python variables, a callee's input)
    one_of: tuple[tuple[str, ...], ...] = ()  # groups of which exactly one input must be given
    beside: tuple[str, ...] = ()  # keys that stand beside `kind` and never fold into input (calls)
    knobs: Mapping[str, Field] = field(default_factory=dict)  # the kind's own keys under task `spec`
    defaults: Mapping[str, Json] = field(default_factory=dict)  # the innermost layer of the task spec
    helper: str | None = None  # the envelope's kind field: http, pg, py
    sql_text: tuple[str, ...] = ()  # inputs that hold SQL: interpolation there draws a warning
    untemplated: tuple[str, ...] = ()  # inputs that are never templates (python code)
    example: str = ""


Kinds = Mapping[str, Kind]

"""Checks one value against one shape of the grammar and gathers the findings.

One cause gives one finding: a misspelt key that
looks like a missing one is reported alone, and nothing inside a value of the wrong type is looked at.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.grammar import types
from noetl.dsl.grammar.mismatch import choices, mismatch
from noetl.dsl.grammar.playbook import ADMIT_THEN, ITERATION_NAMES, RESERVED_NAMES
from noetl.dsl.grammar.types import Key, Record
from noetl.dsl.nearest import did_you_mean, nearest
from noetl.dsl.templates.syntax import is_template, is_whole, template_problems
from noetl.dsl.tool_kind import Field, Kinds
from noetl.dsl.yaml.one_line import described, flow, seen
from noetl.dsl.yaml.tree import Map, Seq
from noetl.json_value import Json

UNKNOWN_KEY = Code("unknown-key", "error", "A key that is not part of the language")
MISSING_KEY = Code("missing-key", "error", "A required key is missing")
WRONG_TYPE = Code("wrong-type", "error", "A value of the wrong type")
WRONG_VALUE = Code("wrong-value", "error", "A value that is not allowed here")
NO_TEMPLATE = Code("template-not-allowed", "error", "A template where none may stand")
BAD_TEMPLATE = Code("bad-template", "error", "A template that cannot be compiled")
BARE_GUARD = Code("guard-without-template", "error", "A when that is neither a boolean nor a template")
BAD_NAME = Code("bad-name", "error", "A name that is no identifier")
RESERVED_NAME = Code("reserved-name", "error", "A name that means something else in templates")
RESERVED_KEY = Code("reserved-key", "info", "A key that is accepted and has no effect yet")
API_VERSION = Code("wrong-api-version", "error", "Not a version of the language that can be read")
SET_IN_SPEC = Code("set-in-spec", "error", "set stands under spec")
DO_OUTSIDE_RULES = Code("do-outside-rules", "error", "A directive outside a task's rules")
LOOP_INCOMPLETE = Code("loop-incomplete", "error", "A loop without in or iterator")
NEXT_NOT_ROUTER = Code("next-not-router", "error", "next is not a router")
POLICY_WITHOUT_RULES = Code("policy-without-rules", "error", "A task's policy is not a mapping with rules")

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LABEL = re.compile(r"[A-Za-z_]\w*(\.\w+)*", re.ASCII)
_SPECS = {"executor.spec", "step.spec", "loop.spec", "next.spec", "a task's spec", "the kind's defaults"}
_MISSING: Mapping[str, Code] = {
    "loop": LOOP_INCOMPLETE,
    "next": NEXT_NOT_ROUTER,
    "a task's policy": POLICY_WITHOUT_RULES,
}
_LISTS = {"next": NEXT_NOT_ROUTER, "a task's policy": POLICY_WITHOUT_RULES}

CUT_TEXT = "put the text before it in quotes: a comma in { } begins another key"
_GUESSED_MAX = 50  # unknown keys of one mapping for which the nearest known one is looked up

Handler = Callable[["Checker", Json, Mark], None]
Handlers = Mapping[
    str | type, Callable[..., None]
]  # by the name of a special shape, or by the type of a shape


class Checker:
    """The findings of one document, and what its special shapes need to know of their surroundings."""

    __slots__ = ("compiled", "enter", "findings", "handlers", "iterators", "kinds")

    def __init__(self, kinds: Kinds, handlers: Handlers, enter: Mapping[str, Handler] | None = None) -> None:
        self.kinds = kinds
        self.handlers = handlers
        self.enter = enter or {}  # what is done when a record of that name is entered
        self.findings: list[Diagnostic] = []
        self.compiled = False
        self.iterators: frozenset[str] = frozenset()

    def report(self, code: Code, mark: Mark, message: str, hint: str | None = None) -> None:
        """Add a finding."""
        self.findings.append(code.at(mark, message, hint))

    def walk(self, shape: types.Shape, value: Json, mark: Mark, name: str) -> None:
        """Check a value; `name` is the key it stands under."""
        if isinstance(shape, Record):
            self.record(shape, value, mark)
        elif isinstance(shape, types.Special):
            self.handlers[shape.name](self, value, mark)
        elif isinstance(shape, types.Tasks | types.Rules | types.Assigns | types.Layer):
            self.handlers[type(shape)](self, shape, value, mark)
        elif isinstance(shape, types.ListOf):
            self.list_of(shape, value, mark, name)
        elif isinstance(shape, types.Either):
            self.either(shape, value, mark, name)
        else:
            _SCALARS[type(shape)](self, shape, value, mark, name)

    # ---- containers -------------------------------------------------------------------------------------

    def record(self, shape: Record, node: Json, mark: Mark, more: Mapping[str, Key | Field] = {}) -> None:
        """Check a mapping with known keys; `more` are a tool kind's own. Nothing is an empty mapping."""
        if node is None:
            node = Map(mark=mark)
        if not isinstance(node, Map):
            code = _LISTS.get(shape.name, WRONG_TYPE)
            keys = _quoted_words(shape.required or shape.needs_one or shape.keys)
            hint = f"write {shape.name} as a mapping with {keys}"
            self.report(code, mark, f"{shape.name} must be a mapping, not {described(node)}", hint)
            return
        if shape.name in self.enter:
            self.enter[shape.name](self, node, mark)
        unknown = []
        for key, value in node.items():
            entry = more.get(key) or shape.keys.get(key)
            if entry is None:
                unknown.append(key)
            elif isinstance(entry, Field):
                self.field(entry, value, node.at(key), f"'{key}' in {shape.name}")
            elif entry.reserved:
                self.reserved(key, shape, node)
            else:
                self.walk(entry.shape, value, node.at(key), key)
        missing = [key for key in shape.required if key not in node]
        if shape.needs_one and not any(key in node for key in shape.needs_one):
            missing += shape.needs_one
        if unknown and not shape.open:
            self.unknown(shape, node, unknown, missing, {**shape.keys, **more})
        self.missing(shape, node, missing)

    def unknown(
        self,
        shape: Record,
        node: Map,
        unknown: list[str],
        missing: list[str],
        keys: Mapping[str, object],
    ) -> None:
        """Report unknown keys; one that looks like a missing key takes its finding over."""
        for count, key in enumerate(unknown):
            if self._misplaced(shape, node, key):
                missing[:] = [name for name in missing if shape is not ADMIT_THEN]
                continue
            free = [name for name in keys if name not in node]
            guess = (nearest(key, missing) or nearest(key, free)) if count < _GUESSED_MAX else None
            if guess in missing:
                missing.remove(guess)
            hint = f"did you mean '{guess}'?" if guess else f"known keys: {', '.join(keys)}"
            if not guess and is_cut_text(node, key):
                hint = CUT_TEXT
            elif not guess and key in shape.advice:
                hint = shape.advice[key]
                lead = hint.removeprefix("write: ").partition(":")[0]
                if lead in missing:
                    missing.remove(lead)
            self.report(UNKNOWN_KEY, node.at_key(key), f"unknown key '{key}' in {shape.name}", hint)

    def _misplaced(self, shape: Record, node: Map, key: str) -> bool:
        """Report keys that have their own rule about where they belong."""
        if key == "set" and shape.name in _SPECS:
            self._set_in_spec(shape.name, node)
            return True
        place = node.at_key(key) if key == "do" else find_do(node[key]) if key == "rules" else None
        self._do_outside(shape, place)
        return place is not None

    def _do_outside(self, shape: Record, place: Mark | None) -> None:
        if place is not None:
            message = f"'do' in {shape.name}: a directive may only stand in a task's spec.policy.rules"
            self.report(DO_OUTSIDE_RULES, place, message, "move the rule to the task it is about")

    def _set_in_spec(self, place: str, spec: Map) -> None:
        message = f"'set' stands in {place}: it belongs beside 'spec'"
        self.report(SET_IN_SPEC, spec.at_key("set"), message, f"write set: {flow(spec['set'])} beside spec")

    def missing(self, shape: Record, node: Map, missing: Iterable[str]) -> None:
        """Report required keys that are not there."""
        code = _MISSING.get(shape.name, MISSING_KEY)
        absent = set(missing)
        for key in shape.required:
            if key in absent:
                hint = f"add {key}: {_example(shape.keys[key].shape)}"
                self.report(code, node.mark, f"{shape.name} has no '{key}'", hint)
        if shape.needs_one and absent.issuperset(shape.needs_one):
            names = " or ".join(f"'{key}'" for key in shape.needs_one)
            self.report(code, node.mark, f"{shape.name} has no {names}", f"add {shape.needs_one[0]}: …")

    def reserved(self, key: str, shape: Record, node: Map) -> None:
        """Say that a reserved key does nothing; a directive may not hide in it."""
        message = f"'{key}' in {shape.name} is reserved: it is accepted and has no effect"
        self.report(RESERVED_KEY, node.at_key(key), message)
        value = node[key]
        if key == "spec" and isinstance(value, Map) and "set" in value:
            self._set_in_spec(f"the spec of {shape.name}", value)
        self._do_outside(shape, None if shape.name == "a task's policy" else find_do(value))

    def list_of(self, shape: types.ListOf, value: Json, mark: Mark, name: str) -> None:
        """Check a list item by item; nothing at all is an empty list."""
        if value is None:
            value = Seq(mark=mark)
        if not isinstance(value, Seq):
            self.wrong_type(name, "a list", value, mark)
            return
        if len(value) < shape.least:
            self.report(WRONG_VALUE, mark, f"'{name}' is empty", f"add at least {shape.least} item to {name}")
        for index, item in enumerate(value):
            self.walk(shape.item, item, value.at(index), name)

    def either(self, shape: types.Either, value: Json, mark: Mark, name: str) -> None:
        """Check against the option that fits the value's type."""
        for option in shape.options:
            if _fits(option, value):
                self.walk(option, value, mark, name)
                return
        self.wrong_type(name, shape.says, value, mark)

    # ---- values -----------------------------------------------------------------------------------------

    def wrong_type(self, name: str, expected: str, value: Json, mark: Mark) -> None:
        """Report a value of the wrong type."""
        message = f"'{name}' must be {expected}, not {described(value)}"
        self.report(WRONG_TYPE, mark, message, f"give {name} {expected}")

    def template(self, text: str, mark: Mark) -> None:
        """Report what is wrong with a template."""
        for message, hint in template_problems(text):
            self.report(BAD_TEMPLATE, mark, message, hint)

    def free(self, value: Json, mark: Mark) -> bool:
        """Check the templates inside any value; whether there are any."""
        if isinstance(value, str):
            if "{" not in value or not is_template(value):
                return False
            self.template(value, mark)
            return True
        templated = False
        if isinstance(value, Map):
            for key, item in value.items():
                templated = self.free(item, value.at(key)) or templated
        elif isinstance(value, Seq):
            for index, item in enumerate(value):
                templated = self.free(item, value.at(index)) or templated
        return templated

    def plain(self, value: str, mark: Mark, name: str) -> bool:
        """Report a template where none may stand; whether the text is plain."""
        if not is_template(value):
            return True
        message = f"'{name}' must be a fixed text, not the template {seen(value)}"
        self.report(NO_TEMPLATE, mark, message, f"write the value of {name} itself")
        return False

    def text(self, shape: types.Text, value: Json, mark: Mark, name: str) -> None:
        """A string."""
        if not isinstance(value, str):
            self.wrong_type(name, "a text", value, mark)
        elif shape.template:
            self.free(value, mark)
        elif not shape.prose and self.plain(value, mark, name) and not value.strip():
            self.report(WRONG_VALUE, mark, f"'{name}' is empty", f"give {name} a text, or leave it out")

    def choice(self, shape: types.Choice, value: Json, mark: Mark, name: str) -> None:
        """One of a few words."""
        if isinstance(value, str) and value in shape.values:
            return
        if isinstance(value, str) and not self.plain(value, mark, name):
            return
        hint = f"write one of: {', '.join(shape.values)}"
        hint = did_you_mean(value, shape.values, hint) if isinstance(value, str) else hint
        message = f"'{name}' is {seen(value)}, but must be one of {_quoted_words(shape.values)}"
        self.report(WRONG_VALUE, mark, message, hint)

    def number(self, shape: types.Number, value: Json, mark: Mark, name: str) -> None:
        """A number within its bounds, or a template."""
        expected = "an integer" if shape.integer else "a number"
        if isinstance(value, str) and shape.template and is_template(value):
            self.template(value, mark)
        elif isinstance(value, bool) or not isinstance(value, int if shape.integer else int | float):
            if isinstance(value, str) and not self.plain(value, mark, name):
                return
            self.wrong_type(name, expected, value, mark)
        elif shape.least is not None and not value >= shape.least:
            message = f"'{name}' is {value}, but must be at least {shape.least:g}"
            self.report(WRONG_VALUE, mark, message, f"write {shape.least:g} or more")
        elif shape.most is not None and not value <= shape.most:
            message = f"'{name}' is {value}, but must be at most {shape.most:.0f}"
            self.report(WRONG_VALUE, mark, message, f"write {shape.most:.0f} or less")
        elif shape.above is not None and not value > shape.above:
            message = f"'{name}' is {value}, but must be above {shape.above:g}"
            self.report(WRONG_VALUE, mark, message, f"write a number above {shape.above:g}")

    def span(self, _shape: types.Span, value: Json, mark: Mark, name: str) -> None:
        """A length of time."""
        if isinstance(value, str):
            if self.plain(value, mark, name) and not re.fullmatch(types.SPAN_PATTERN, value):
                message = f"'{name}' is {seen(value)}, but must be a length of time"
                self.report(WRONG_VALUE, mark, message, "write a number with s, m, h or d, as in 10m")
        elif isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong_type(name, "a length of time, as in 10m", value, mark)
        elif not 0 < value <= types.SPAN_MOST_S:
            message = f"'{name}' is {value}, but must be above 0 and at most {types.SPAN_MOST_S} seconds"
            self.report(WRONG_VALUE, mark, message, "write a length of time, as in 10m")

    def flag(self, _shape: types.Flag, value: Json, mark: Mark, name: str) -> None:
        """true or false."""
        if isinstance(value, str) and is_template(value):
            message = f"'{name}' must be true or false, not the template {seen(value)}"
            self.report(NO_TEMPLATE, mark, message, f"write {name}: true or {name}: false")
        elif not isinstance(value, bool):
            self.wrong_type(name, "true or false", value, mark)

    def guard(self, _shape: types.Guard, value: Json, mark: Mark, name: str) -> None:
        """A condition."""
        if isinstance(value, bool):
            return
        if isinstance(value, str) and is_template(value):
            self.template(value, mark)
            return
        message = f"'{name}' is {seen(value)}, but must be true, false or a template in {{{{ }}}}"
        hint = (
            f'write {name}: "{{{{ {value} }}}}"' if isinstance(value, str) else "write a condition in {{ }}"
        )
        self.report(BARE_GUARD, mark, message, hint)

    def any_value(self, _shape: types.Free, value: Json, mark: Mark, _name: str) -> None:
        """Whatever value; only its templates are checked."""
        self.free(value, mark)

    def free_map(self, shape: types.FreeMap, value: Json, mark: Mark, name: str) -> None:
        """A mapping with the author's own keys."""
        if value is None or (shape.whole and self.whole(value, mark)):
            return
        if not isinstance(value, Map):
            expected = "a mapping, or one template {{ … }} that gives one" if shape.whole else "a mapping"
            self.wrong_type(name, expected, value, mark)
        elif shape.template:
            self.free(value, mark)

    def whole(self, value: Json, mark: Mark) -> bool:
        """Check a text that is one template and nothing else; whether it is one."""
        if not isinstance(value, str) or not (is_whole(value) or _is_broken_template(value)):
            return False
        self.template(value, mark)
        return True

    def const(self, shape: types.Const, value: Json, mark: Mark, name: str) -> None:
        """Exactly one text."""
        if value != shape.value:
            code = API_VERSION if name == "apiVersion" else WRONG_VALUE
            message = f"'{name}' is {seen(value)}, but must be {shape.value}"
            self.report(code, mark, message, f"write {name}: {shape.value}")

    def identifier(self, shape: types.Identifier, value: Json, mark: Mark, name: str) -> None:
        """A name that templates can read."""
        if not isinstance(value, str):
            self.wrong_type(name, "a name", value, mark)
            return
        if not self.plain(value, mark, name):
            return
        pattern = _LABEL if shape.what == "task" and self.compiled else _NAME
        if not pattern.fullmatch(value):
            message = f"'{value}' cannot name {_an(shape.what)}"
            like = _identifier_like(value, shape.what)
            hint = f"use letters, digits and _, a letter first, as in '{like}'"
            self.report(BAD_NAME, mark, message, hint)
        elif shape.what in ("step", "task", "iterator") and _is_reserved(value, shape.what):
            message = f"'{value}' cannot name {_an(shape.what)}: it already means something in templates"
            self.report(RESERVED_NAME, mark, message, f"choose another name, such as '{value.strip('_')}_1'")

    def field(self, field: Field, value: Json, mark: Mark, what: str, kind: str = "KIND") -> None:
        """A value of a tool kind's own type; what its templates give is checked when they are rendered."""
        if not self.free(value, mark) or isinstance(value, Map | Seq):
            self.literal(field, value, mark, what, kind)

    def literal(self, field: Field, value: Json, mark: Mark, what: str, kind: str = "KIND") -> None:
        """A value without templates against a Python type."""
        problem = mismatch(field, value)
        if problem is not None:
            meaning = f"'{field.name}': {field.doc} " if field.doc else ""
            page = f"{meaning}`noetl tools {kind}` explains every key of {_this(kind)}"
            hint = did_you_mean(value, choices(field), page) if isinstance(value, str) else page
            self.report(WRONG_TYPE, mark, f"{what} is {seen(value)}, but {problem}", hint)


def is_cut_text(node: Map, key: str) -> bool:
    """Whether a key is rather the rest of a text whose comma ended it."""
    return node[key] is None and " " in key


def _this(kind: str) -> str:
    return "a kind" if kind == "KIND" else "the kind"


def find_do(value: Json) -> Mark | None:
    """Where the first `do` key inside a value stands."""
    if isinstance(value, Map):
        if "do" in value:
            return value.at_key("do")
        inside = (find_do(item) for item in value.values())
    elif isinstance(value, Seq):
        inside = (find_do(item) for item in value)
    else:
        return None
    return next((mark for mark in inside if mark is not None), None)


def _is_broken_template(text: str) -> bool:
    """Whether a text was meant as one template and cannot be compiled: that is then what is wrong with it."""
    return text.startswith("{{") and text.rstrip().endswith("}}") and bool(template_problems(text))


def _is_reserved(name: str, what: str) -> bool:
    return name in RESERVED_NAMES or name.startswith("_") or (what == "iterator" and name in ITERATION_NAMES)


def _identifier_like(name: str, what: str) -> str:
    like = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "name"
    return like if not like[0].isdigit() else f"{what.partition(' ')[0]}_{like}"


def _an(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _example(shape: types.Shape) -> str:
    """What a required key may look like: its one value, or the keys that must stand under it."""
    if isinstance(shape, types.Const):
        return shape.value
    needed = shape.required if isinstance(shape, Record) else ()
    return f"{{{', '.join(f'{key}: …' for key in needed)}}}" if needed else "…"


def _quoted_words(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _fits(shape: types.Shape, value: Json) -> bool:
    if isinstance(shape, Record | types.FreeMap):
        return isinstance(value, Map)
    if isinstance(shape, types.ListOf):
        return isinstance(value, Seq)
    if isinstance(shape, types.Number):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number or (shape.template and isinstance(value, str) and is_template(value))
    return isinstance(value, str)


_SCALARS: Mapping[type, Callable[..., None]] = {
    types.Text: Checker.text,
    types.Choice: Checker.choice,
    types.Number: Checker.number,
    types.Span: Checker.span,
    types.Flag: Checker.flag,
    types.Guard: Checker.guard,
    types.Free: Checker.any_value,
    types.FreeMap: Checker.free_map,
    types.Const: Checker.const,
    types.Identifier: Checker.identifier,
}

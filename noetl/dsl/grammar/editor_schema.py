"""The JSON Schema of the language, from the grammar's tables and the tool kinds, for editors.

It describes the canonical surface: older spellings still run, but an editor should not offer them. Checks
that need more than one place of the document (arcs to known steps, jumps to known labels) are the rules'.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial

from noetl.dsl.grammar import types
from noetl.dsl.grammar.claim import CLAIM_BOUNDS, CLAIM_IN, NOT_OF_A_CLAIM
from noetl.dsl.grammar.editor_schema_kind import (
    TEMPLATE,
    WHOLE_TEMPLATE,
    Schema,
    input_schema,
    knob_schemas,
    templated,
)
from noetl.dsl.grammar.keychain import KEYCHAIN
from noetl.dsl.grammar.playbook import (
    ADMIT_THEN,
    BLOCK,
    ITERATION_NAMES,
    LOOP_POLICY,
    LOOP_SPEC,
    REDUCERS,
    RESERVED_NAMES,
    ROOT,
    SCHEDULING,
)
from noetl.dsl.grammar.task import (
    BRANCH,
    CALL_KEYS,
    CALL_NEEDS,
    DIRECTIVE_OPTIONS,
    DIRECTIVES,
    ELSE_BRANCH,
    KIND_DEFAULTS,
    SUGAR,
    SUGAR_ITEM,
    SUGAR_RECORDS,
    TASK,
    TASK_SPEC,
    THEN_COMMON,
)
from noetl.dsl.tool_kind import Kind, Kinds

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "NoETL playbook"
_MAPPING = ["object", "null"]  # a key without a value is an empty mapping
_NAME = r"^[A-Za-z]\w*$"
_FREE_NAME = r"^[A-Za-z_]\w*$"
_LABEL = r"^[A-Za-z][\w.]*$"  # generated labels, as `noetl compile` prints them, contain dots


def playbook_schema(kinds: Kinds) -> Schema:
    """The schema of a whole playbook, with every given kind."""
    builder = _Builder(kinds)
    return builder.document(TITLE, builder.record(ROOT))


def kind_schema(kind: Kind) -> Schema:
    """The schema of one task of a kind."""
    builder = _Builder({kind.name: kind})
    return builder.document(f"NoETL task of kind {kind.name}", builder.task(kind))


def record_schema(record: types.Record, title: str) -> Schema:
    """The schema of a document that is one record."""
    builder = _Builder({})
    return builder.document(title, builder.record(record))


class _Builder:
    """One schema being built: shapes in, schemas out; records and tasks become shared definitions."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.defs: dict[str, Schema] = {}
        self.slugs: dict[int, str] = {}  # two records may share a name; each has its own definition

    def document(self, title: str, body: Schema) -> Schema:
        return {"$schema": DIALECT, "title": title, **body, "$defs": self.defs}

    def shape(self, shape: types.Shape) -> Schema:
        """The schema of one shape of the grammar."""
        match shape:
            case types.Text(template=template, prose=prose):
                return {"type": "string"} if template or prose else {"type": "string", "pattern": r"\S"}
            case types.Identifier(what=what):
                return _name(what)
            case types.Choice(values=values):
                return {"enum": list(values)}
            case types.Number():
                return _number(shape)
            case types.Span():
                number = {"type": "number", "exclusiveMinimum": 0, "maximum": types.SPAN_MOST_S}
                return {"anyOf": [number, {"type": "string", "pattern": types.SPAN_PATTERN}]}
            case types.Flag():
                return {"type": "boolean"}
            case types.Guard():
                return {"anyOf": [{"type": "boolean"}, TEMPLATE]}
            case types.Free():
                return {}
            case types.FreeMap(whole=whole):
                return {"anyOf": [{"type": _MAPPING}, WHOLE_TEMPLATE]} if whole else {"type": _MAPPING}
            case types.Const(value=value):
                return {"const": value}
            case types.Either(options=options):
                return {"anyOf": [self.shape(option) for option in options]}
            case types.ListOf(item=item, least=least):
                kind = "array" if least else ["array", "null"]  # a key without a value is an empty list
                return {"type": kind, "items": self.shape(item), "minItems": least}
            case types.Record():
                more = {} if shape is not LOOP_POLICY else {key: LOOP_SPEC.keys[key] for key in SCHEDULING}
                also = {name: self.key(key) for name, key in more.items()}
                return self.shared(self.slug(shape), partial(self.record, shape, also))
            case types.Tasks(single=single, least=least):
                tasks = {"type": "array", "items": self.item(), "minItems": least}
                return {"anyOf": [self.item(), tasks]} if single else tasks
            case types.Rules(directives=directives):
                return self.rules_of(directives)
            case types.Assigns(scopes=scopes):
                return _assign(*scopes)
            case types.Layer(record=record):
                return self.layer(record)
            case types.Special(name=name):
                return self.special(name)

    def slug(self, record: types.Record) -> str:
        """The definition's name of a record."""
        if id(record) not in self.slugs:
            words = re.sub(r"^(an?|the) |'s\b", "", record.name)
            slug = re.sub(r"\W+", "_", words)
            slugs = set(self.slugs.values())
            self.slugs[id(record)] = slug if slug not in slugs else f"{slug}_{len(slugs)}"
        return self.slugs[id(record)]

    def shared(self, name: str, make: Callable[[], Schema]) -> Schema:
        """A reference to a definition, built the first time; a definition may contain itself."""
        if name not in self.defs:
            self.defs[name] = {}
            self.defs[name] = make()
        return {"$ref": f"#/$defs/{name}"}

    def record(self, record: types.Record, more: Mapping[str, Schema] | None = None) -> Schema:
        """A closed mapping (unless the record is open) with a description on every key."""
        properties = {name: self.key(key) for name, key in record.keys.items()} | dict(more or {})
        required = [name for name, key in record.keys.items() if key.required]
        needs = required or record.needs_one
        schema: Schema = {"type": "object" if needs else _MAPPING, "properties": properties}
        if not record.open:
            schema["additionalProperties"] = False
        if required:
            schema["required"] = required
        if record.needs_one:
            schema["anyOf"] = [{"required": [name]} for name in record.needs_one]
        return schema

    def key(self, key: types.Key) -> Schema:
        """The schema of a key's value with the key's sentence."""
        note = " Reserved: accepted, without effect." if key.reserved else ""
        return {"description": key.doc + note, **self.shape(key.shape)}

    # ---- shapes that depend on more than their own node ---------------------------------------------------

    def special(self, name: str) -> Schema:
        table: dict[str, Callable[[], Schema]] = {
            "branches": lambda: {"type": "array", "items": self.either(BRANCH, ELSE_BRANCH)},
            "request": self.request,
            "collection": self.collection,
            "claim": lambda: self.shared("claim", self.claim),
            "delay": lambda: {"type": ["number", "string"], "minimum": 0},
            "reduce": lambda: {
                **_assign("ctx", "step"),
                "type": "object",
                "additionalProperties": {"enum": list(REDUCERS)},
            },
            "json_schema": lambda: {"type": ["object", "boolean"]},
            "anything": dict,
            "keychain": self.keychain,
            "workbook": self.workbook,
            "task_spec": lambda: self.shared("task_spec", partial(self.record, TASK_SPEC)),
        }
        return table[name]()

    def collection(self) -> Schema:
        """Items, or where they are claimed from: a mapping that is no claim is a collection of pairs."""
        said = [{"required": ["until"]}, {"properties": {"claim": {"required": ["kind"]}}}]
        claims = {"properties": {"claim": {"type": "object"}}, "required": ["claim"], "anyOf": said}
        mapping = {"type": "object", "if": claims, "then": self.shape(CLAIM_IN)}
        return {"anyOf": [{"type": "array"}, mapping, TEMPLATE]}

    def claim(self) -> Schema:
        """A task of any kind without what a claim cannot have, and its bounds."""
        record = types.Record(CLAIM_BOUNDS.name, {**_CLAIM_TASK, **CLAIM_BOUNDS.keys})
        called = {key for kind in self.kinds.values() for key in kind.beside if key in CALL_KEYS}
        more: dict[str, Schema] = {key: {"description": CALL_KEYS[key].doc} for key in sorted(called)}
        more |= {key: {"description": TASK.keys[key].doc} for key in ("input", "spec")}
        more["kind"] = self.kind_names()
        alternatives = [_when_kind(name, self.claim_of(kind)) for name, kind in self.kinds.items()]
        return {**self.record(record, more), "allOf": alternatives}

    def claim_of(self, kind: Kind) -> Schema:
        """What the kind of a claim says of it: as of a task."""
        parts = self.kind_parts(kind)
        others = {key: False for key in CALL_KEYS if key not in kind.beside}
        return {"properties": {**parts, **others}, "required": self.kind_needs(kind)}

    def either(self, *records: types.Record) -> Schema:
        return {"anyOf": [self.shape(record) for record in records]}

    def request(self) -> Schema:
        """One task whose input takes the page's parameters."""
        input_map = {"properties": {"input": {"type": "object"}}, "required": ["kind"]}
        return {"allOf": [self.item(), input_map]}

    def workbook(self) -> Schema:
        """Blocks by name, or a list of blocks that each say their name."""
        named = {"type": "object", "propertyNames": _name("block"), "additionalProperties": self.shape(BLOCK)}
        return {"anyOf": [named, {"type": ["array", "null"], "items": self.shape(_NAMED_BLOCK)}]}

    def item(self) -> Schema:
        """One entry of a pipeline: a task of some kind, or sugar."""
        return self.shared("task", self.any_task)

    def any_task(self) -> Schema:
        """By `kind`, or by the sugar's own key; each alternative is a closed mapping of its own."""
        alternatives = [
            _when_kind(name, self.shared(f"task_{name}", partial(self.task, kind)))
            for name, kind in self.kinds.items()
        ]
        alternatives += [{"if": {"required": [word]}, "then": self.sugar(word)} for word in SUGAR]
        properties = {"name": self.key(TASK.keys["name"]), "kind": self.kind_names()}
        properties |= {word: {"description": _SUGAR_DOC[word]} for word in SUGAR}
        return {
            "type": "object",
            "properties": properties,
            "anyOf": [{"required": [word]} for word in ("kind", *SUGAR)],
            "allOf": alternatives,
        }

    def kind_names(self) -> Schema:
        """The name of a kind, with what each of them does."""
        names = list(self.kinds)
        return {
            "description": TASK.keys["kind"].doc,
            "enum": names,
            "enumDescriptions": [self.kinds[name].summary for name in names],
        }

    def task(self, kind: Kind) -> Schema:
        """A task of one kind: its own input, its own knobs, and what stands beside `kind` for calls."""
        more = {"kind": {"const": kind.name, "description": kind.summary}, **self.kind_parts(kind)}
        schema = {"description": kind.summary, **self.record(TASK, more)}
        return {**schema, "required": [*schema["required"], *self.kind_needs(kind)]}

    def kind_parts(self, kind: Kind) -> dict[str, Schema]:
        """What a kind says of the keys of its task."""
        parts: dict[str, Schema] = {
            name: self.key(CALL_KEYS[name]) for name in kind.beside if name in CALL_KEYS
        }
        others = [
            *([] if kind.untemplated else [WHOLE_TEMPLATE]),
            *([] if _needs_input(kind) else [{"type": "null"}]),
        ]
        whole = {"anyOf": [self.kind_input(kind), *others]} if others else self.kind_input(kind)
        parts["input"] = {"description": TASK.keys["input"].doc, **whole}
        parts["spec"] = {"description": TASK.keys["spec"].doc, **self.kind_spec(kind)}
        return parts

    def kind_needs(self, kind: Kind) -> list[str]:
        """Which keys of its task a kind cannot do without."""
        return [*CALL_NEEDS.get(kind.name, ()), *(["input"] if _needs_input(kind) else ())]

    def kind_input(self, kind: Kind) -> Schema:
        return self.shared(f"{kind.name}_input", partial(input_schema, kind, self.defs))

    def kind_spec(self, kind: Kind) -> Schema:
        knobs = {kind.name: self.defaults_of(kind), **knob_schemas(kind, self.defs)}
        return self.shared(f"{kind.name}_spec", partial(self.record, TASK_SPEC, knobs))

    def sugar(self, word: str) -> Schema:
        body = {word: {"description": _SUGAR_DOC[word], **self.shape(SUGAR_RECORDS[word])}}
        return self.shared(f"task_{word}", partial(self.record, SUGAR_ITEM, body))

    def rules_of(self, directives: tuple[str, ...]) -> Schema:
        if not directives:
            return self.rules("admit_rule", self.shape(ADMIT_THEN))
        before = "" if directives == DIRECTIVES else "before_"
        return self.rules(f"{before}rule", self.then(f"{before}then", directives))

    def rules(self, name: str, then: Schema) -> Schema:
        """Rules in order; `else` in each of the shapes that mean the same."""
        guarded = {"description": "The guard.", "anyOf": [{"type": "boolean"}, TEMPLATE]}
        inner = _closed({"then": {"description": "What to do then.", **then}})
        otherwise = {"anyOf": [inner, then, _NOTHING]}
        rule = {
            "type": "object",
            "properties": {
                "when": guarded,
                "then": {"description": "What to do when it holds.", **then},
                "else": {"description": "What to do when no rule holds, wherever it stands.", **otherwise},
            },
            "additionalProperties": False,
            "anyOf": _RULE_FORMS,
        }
        return {"type": "array", "items": self.shared(name, lambda: rule)}

    def then(self, name: str, directives: tuple[str, ...]) -> Schema:
        """A directive with its options; those a directive cannot do without are required with it."""
        options = {
            word: key for directive in directives for word, key in DIRECTIVE_OPTIONS[directive].items()
        }
        record = types.Record(name, {**THEN_COMMON, **options})
        loose = {word: self.key(types.Key(key.shape, key.doc)) for word, key in options.items()}
        do = {"do": {"description": THEN_COMMON["do"].doc, "enum": list(directives)}}

        def build() -> Schema:
            schema = self.record(record, loose | do) | {"required": ["do"]}
            return schema | {"allOf": [_options(directive) for directive in directives]}

        return self.shared(name, build)

    def keychain(self) -> Schema:
        alternatives = [
            _when_kind(kind, self.shared(f"keychain_{kind}", partial(self.record, record)))
            for kind, record in KEYCHAIN.items()
        ]
        kind = {"description": "The kind of secret.", "enum": list(KEYCHAIN)}
        entry = {
            "type": "object",
            "properties": {"kind": kind},
            "required": ["name", "kind"],
            "allOf": alternatives,
        }
        return {"type": ["array", "null"], "items": self.shared("keychain_entry", lambda: entry)}

    def layer(self, record: types.Record) -> Schema:
        """The knobs of an executor, step or loop, and under each kind's name the defaults of its tasks."""
        defaults = {
            name: self.defaults_of(kind) for name, kind in self.kinds.items() if name not in record.keys
        }
        return self.shared(self.slug(record), partial(self.record, record, defaults))

    def defaults_of(self, kind: Kind) -> Schema:
        name = f"{kind.name}_defaults"
        shared = self.shared(name, lambda: self.record(KIND_DEFAULTS, knob_schemas(kind, self.defs)))
        return {"description": f"Defaults for {kind.name} tasks.", **shared}


_CLAIM_TASK = {key: entry for key, entry in TASK.keys.items() if key not in NOT_OF_A_CLAIM}


_NAMED_BLOCK = types.Record(
    "a named workbook block",
    {"name": types.Key(types.Identifier("block"), "The block's name.", required=True), **BLOCK.keys},
)

_NOTHING: Schema = {"enum": [None, {}, [], "", False, 0]}

# A rule has a guard; or it is `else` with what to do inside, or beside an empty `else`.
_RULE_FORMS: list[Schema] = [
    {"required": ["when", "then"], "not": {"required": ["else"]}},
    {
        "required": ["else"],
        "properties": {"else": {"type": "object", "minProperties": 1}, "when": False, "then": False},
    },
    {
        "required": ["else", "then"],
        "properties": {"else": _NOTHING, "when": False},
    },
]

_SUGAR_DOC = {
    "while": "Repeat tasks as long as a guard holds.",
    "until": "Repeat tasks until a guard holds.",
    "choose": "Run the tasks of the first branch whose guard holds.",
    "paginate": "Fetch page after page.",
}


def _needs_input(kind: Kind) -> bool:
    return any(field.required for field in kind.inputs.values()) or bool(kind.one_of)


def _name(what: str) -> Schema:
    """A name that templates can read; what already means something there is refused."""
    schema: Schema = {"type": "string", "pattern": _LABEL if what == "task" else _NAME}
    if what in ("block", "keychain entry"):
        schema["pattern"] = _FREE_NAME
    elif what in ("step", "task", "iterator"):
        bound = ITERATION_NAMES if what == "iterator" else ()
        schema["not"] = {"enum": sorted({*RESERVED_NAMES, *bound})}
    return schema


def _number(shape: types.Number) -> Schema:
    schema: Schema = {"type": "integer" if shape.integer else "number"}
    if shape.least is not None:
        schema["minimum"] = shape.least
    if shape.most is not None:
        schema["maximum"] = shape.most
    if shape.above is not None:
        schema["exclusiveMinimum"] = shape.above
    return templated(schema) if shape.template else schema


def _assign(*scopes: str) -> Schema:
    """A `set`: flat targets (`ctx.page`) or nested ones (`ctx: {page: 1}`)."""
    return {"type": _MAPPING, "propertyNames": {"pattern": f"^({'|'.join(scopes)})(\\.|$)"}}


def _closed(properties: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _when_kind(name: str, then: Schema) -> Schema:
    return {"if": {"properties": {"kind": {"const": name}}, "required": ["kind"]}, "then": then}


def _options(directive: str) -> Schema:
    """Which keys a directive takes, and which of them it cannot do without."""
    condition = {"properties": {"do": {"const": directive}}, "required": ["do"]}
    options = DIRECTIVE_OPTIONS[directive]
    required = [name for name, key in options.items() if key.required]
    names = {"enum": [*THEN_COMMON, *options]}
    return {"if": condition, "then": {"propertyNames": names, "required": required}}

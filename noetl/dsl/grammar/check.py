"""Checks a canonical tree against the grammar: keys, types, words, names. All findings at once.

What needs more than one place of the document (arcs to known steps, jumps to known labels) is the rules'.
"""

from collections.abc import Iterator

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.grammar import check_task
from noetl.dsl.grammar.check_claim import check_claim
from noetl.dsl.grammar.check_rules import check_delay, check_rules
from noetl.dsl.grammar.check_set import check_assigns, check_no_iter, check_reduce
from noetl.dsl.grammar.checker import MISSING_KEY, NO_TEMPLATE, WRONG_TYPE, Checker, Handlers
from noetl.dsl.grammar.claim import CLAIM_IN, is_claim
from noetl.dsl.grammar.keychain import ANY_ENTRY, KEYCHAIN
from noetl.dsl.grammar.playbook import BLOCK, COMPILED_LABEL, ROOT, STEP
from noetl.dsl.grammar.task import KIND_DEFAULTS
from noetl.dsl.grammar.types import Assigns, Identifier, Key, Layer, Record, Rules, Tasks
from noetl.dsl.json_schema import SchemaError, SchemaLimit, compile_schema, refuse_large
from noetl.dsl.json_schema.document import Keywords
from noetl.dsl.nearest import nearest
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.one_line import seen, type_name
from noetl.dsl.yaml.tree import Map, Seq, plain
from noetl.json_value import Json

NOT_A_PLAYBOOK = Code("not-a-playbook", "error", "The document is no mapping")
UNKNOWN_SECRET_KIND = Code("unknown-keychain-kind", "error", "A keychain kind that does not exist")
BAD_SCHEMA = Code("bad-json-schema", "error", "A validate entry that is no JSON Schema")
SCHEMA_LIMIT = Code("json-schema-too-large", "error", "A JSON Schema that is too large or too deep")

DIALECTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)
_BLOCK_NAME = Identifier("block")


def check_shape(tree: Json, kinds: Kinds) -> list[Diagnostic]:
    """Everything about the shape of a canonical tree that the grammar does not allow."""
    checker = Checker(kinds, _HANDLERS, {STEP.name: _enter_step, BLOCK.name: _enter_body})
    if not isinstance(tree, Map):
        message = f"a playbook is a mapping, not {type_name(tree)}"
        checker.report(NOT_A_PLAYBOOK, Mark(), message, "start with apiVersion: noetl.io/v2")
        return checker.findings
    checker.compiled = is_compiled(tree)
    checker.record(ROOT, tree, tree.mark)
    return checker.findings


def is_compiled(tree: Map) -> bool:
    """Whether the document says it was printed by the compiler, so that its labels may contain dots."""
    metadata = tree.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Map) else None
    return isinstance(labels, Map) and labels.get(COMPILED_LABEL) == "true"


def _enter_body(checker: Checker, node: Json, _mark: Mark) -> None:
    """What tasks may write depends on the loops around them."""
    checker.iterators = frozenset(_iterators(node))


def _enter_step(checker: Checker, node: Json, mark: Mark) -> None:
    _enter_body(checker, node, mark)
    if isinstance(node, Map) and "loop" in node:
        check_no_iter(checker, node.get("set"))


def _iterators(node: Json) -> Iterator[str]:
    """The iterators of a step's loop and of the loops inside it."""
    loop = node.get("loop") if isinstance(node, Map) else None
    while isinstance(loop, Map):
        if isinstance(loop.get("iterator"), str):
            yield loop["iterator"]
        loop = loop.get("loop")


def _check_workbook(checker: Checker, book: Json, mark: Mark) -> None:
    if book is None:
        return
    if isinstance(book, Seq):
        message = "a workbook written as a list needs a different 'name' in every block"
        checker.report(MISSING_KEY, mark, message, "write workbook: {<name>: {tool: …}}")
        return
    if not isinstance(book, Map):
        checker.wrong_type("workbook", "a mapping of names to blocks", book, mark)
        return
    for name, block in book.items():
        checker.identifier(_BLOCK_NAME, name, book.at_key(name), name)
        checker.record(BLOCK, block, book.at(name))


def _check_keychain(checker: Checker, entries: Json, mark: Mark) -> None:
    if entries is None:
        return
    if not isinstance(entries, Seq):
        checker.wrong_type("keychain", "a list of entries", entries, mark)
        return
    for index, entry in enumerate(entries):
        _check_secret(checker, entry, entries.at(index))


def _check_secret(checker: Checker, entry: Json, mark: Mark) -> None:
    kind = entry.get("kind") if isinstance(entry, Map) else None
    if isinstance(kind, str) and kind in KEYCHAIN:
        checker.record(KEYCHAIN[kind], entry, mark)
    elif isinstance(entry, Map) and isinstance(kind, str):
        guess = nearest(kind, KEYCHAIN)
        kinds = f"known kinds: {', '.join(KEYCHAIN)}"
        hint = f"did you mean '{guess}'? {kinds}" if guess else kinds
        checker.report(UNKNOWN_SECRET_KIND, entry.at("kind"), f"there is no keychain kind '{kind}'", hint)
    else:
        checker.record(ANY_ENTRY, entry, mark)


def _check_layer(checker: Checker, layer: Layer, spec: Json, mark: Mark) -> None:
    """The keys of an executor's, a step's or a loop's spec, and defaults by the name of a kind."""
    shape = layer.record
    if not isinstance(spec, Map):
        checker.record(shape, spec, mark)
        return
    own = check_task.split_kinds(checker, spec, {name for name in checker.kinds if name not in shape.keys})
    checker.record(_with_kinds(shape, checker.kinds), own, mark)


def _with_kinds(shape: Record, kinds: Kinds) -> Record:
    """A spec as its messages describe it: any kind is a key, too."""
    defaults = {name: Key(KIND_DEFAULTS) for name in kinds if name not in shape.keys}
    return Record(shape.name, {**shape.keys, **defaults}, advice=shape.advice)


def _check_collection(checker: Checker, value: Json, mark: Mark) -> None:
    """What a loop goes over."""
    if isinstance(value, str) and not checker.free(value, mark):
        message = f"'in' is the text {seen(value)}, which is no collection"
        checker.report(WRONG_TYPE, mark, message, f'write in: "{{{{ {value} }}}}", or a list')
    elif is_claim(value):
        checker.record(CLAIM_IN, value, mark)
    elif isinstance(value, Map | Seq):
        checker.free(value, mark)
    elif not isinstance(value, str):
        checker.wrong_type("in", "a list, a mapping or a template", value, mark)


def _check_json_schema(checker: Checker, schema: Json, mark: Mark) -> None:
    if not isinstance(schema, Map | bool):
        checker.wrong_type("validate", "a JSON Schema", schema, mark)
        return
    dialect = schema.get("$schema") if isinstance(schema, Map) else None
    # An unknown dialect would be fetched; nothing is fetched to check a playbook.
    if dialect is not None and str(dialect).removesuffix("#") not in DIALECTS:
        message = f"'$schema' is {seen(dialect)}, which is no known JSON Schema dialect"
        checker.report(BAD_SCHEMA, mark, message, f"write $schema: {DIALECTS[0]}, or leave it out")
        return
    if checker.free(schema, mark):
        message = "a JSON Schema holds a template, but it is compiled once and never rendered"
        checker.report(NO_TEMPLATE, mark, message, "write the value itself, or check it in a rule")
        return
    try:
        refuse_large(plain(schema))
        _check_keywords(plain(schema))
        compile_schema(plain(schema))
    except SchemaLimit as limit:
        checker.report(SCHEMA_LIMIT, mark, limit.message, limit.hint)
    except SchemaError as error:
        checker.report(BAD_SCHEMA, mark, error.message, error.hint)


def _check_keywords(schema: Keywords | bool) -> None:
    """Hold a schema against the schema of its dialect."""
    import jsonschema_rs

    try:
        jsonschema_rs.meta.validate(schema)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise SchemaError(f"this is no JSON Schema: {reason}", hint="see json-schema.org") from None


_HANDLERS: Handlers = {
    "branches": check_task.check_branches,
    "request": check_task.check_request,
    "collection": _check_collection,
    "claim": check_claim,
    "delay": check_delay,
    "reduce": check_reduce,
    "json_schema": _check_json_schema,
    "keychain": _check_keychain,
    "workbook": _check_workbook,
    "task_spec": check_task.check_spec,
    Tasks: check_task.check_tasks,
    Rules: check_rules,
    Assigns: check_assigns,
    Layer: _check_layer,
}

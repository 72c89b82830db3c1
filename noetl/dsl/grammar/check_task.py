"""The shape of pipelines: tasks by kind, inputs by the kind's types, and sugar."""

from collections.abc import Container, Iterable

from noetl.dsl.diagnostic import Code, Mark
from noetl.dsl.grammar import task
from noetl.dsl.grammar.checker import (
    CUT_TEXT,
    MISSING_KEY,
    UNKNOWN_KEY,
    WRONG_TYPE,
    WRONG_VALUE,
    Checker,
    is_cut_text,
)
from noetl.dsl.grammar.types import Key, Record, Tasks
from noetl.dsl.nearest import did_you_mean, nearest
from noetl.dsl.tool_kind import Kind
from noetl.dsl.yaml.one_line import described, flow, seen
from noetl.dsl.yaml.tree import Map, Seq
from noetl.json_value import Json

UNKNOWN_KIND = Code("unknown-kind", "error", "A tool kind that is not installed")
UNKNOWN_INPUT = Code("unknown-input", "error", "An input the tool kind does not take")
MISSING_INPUT = Code("missing-input", "error", "An input the tool kind needs is missing")
INPUT_CLASH = Code("conflicting-inputs", "error", "Inputs of which only one may be given")
SUGAR_CLASH = Code("sugar-with-kind", "error", "A task is two things at once")

_ANY_SPEC = Record(task.TASK_SPEC.name, task.TASK_SPEC.keys, open=True)


def check_tasks(checker: Checker, shape: Tasks, tool: Json, mark: Mark) -> None:
    """A pipeline: a list of tasks and sugar items."""
    if not isinstance(tool, Seq):
        _report_no_pipeline(checker, tool, mark)
        return
    if len(tool) < shape.least:
        checker.report(
            WRONG_VALUE, mark, "the pipeline has no task", "add {kind: noop}, or leave the key out"
        )
    for index, item in enumerate(tool):
        check_task(checker, item, tool.at(index))


def _report_no_pipeline(checker: Checker, tool: Json, mark: Mark) -> None:
    """The pipeline of a step may be one task; inside sugar it is always a list."""
    key = mark.path.rpartition("/")[2] or "tool"
    expected = "a task (a mapping) or a list of tasks" if key == "tool" else "a list of tasks"
    hint = f"write {key}: {'{kind: …} or ' if key == 'tool' else ''}[{{name: …, kind: …}}, …]"
    if isinstance(tool, str) and tool in checker.kinds:
        hint = f"write {key}: {{kind: {tool}}}" if key == "tool" else f"write {key}: [{{kind: {tool}}}]"
    checker.report(WRONG_TYPE, mark, f"'{key}' must be {expected}, not {described(tool)}", hint)


def check_task(checker: Checker, node: Json, mark: Mark) -> None:
    """One task or sugar item."""
    if not isinstance(node, Map):
        message = f"a task must be a mapping, not {described(node)}"
        is_kind = isinstance(node, str) and node in checker.kinds
        hint = f"write {{kind: {node}}}" if is_kind else "write {name: …, kind: …}"
        checker.report(WRONG_TYPE, mark, message, hint)
        return
    words = [word for word in task.SUGAR if word in node]
    if words:
        _check_sugar(checker, node, words)
        return
    if "kind" not in node:
        _check_without_kind(checker, node)
        return
    kind = _kind_of(checker, node)
    if kind is None:
        _check_known_keys(checker, node)
    else:
        _check_of_kind(checker, node, kind)


def _kind_of(checker: Checker, node: Map) -> Kind | None:
    name, mark = node["kind"], node.at("kind")
    if not isinstance(name, str):
        checker.wrong_type("kind", "the name of a tool kind", name, mark)
        return None
    if not checker.plain(name, mark, "kind"):
        return None
    kind = checker.kinds.get(name)
    if kind is None:
        guess = nearest(name, checker.kinds)
        kinds = f"installed kinds: {', '.join(sorted(checker.kinds))}"
        hint = f"did you mean '{guess}'? {kinds}" if guess else kinds
        checker.report(UNKNOWN_KIND, mark, f"there is no tool kind '{name}'", hint)
    return kind


def _check_without_kind(checker: Checker, node: Map) -> None:
    _check_known_keys(checker, node)
    for key in node:
        hint = did_you_mean(key, ["kind", *task.SUGAR], None) if key not in task.TASK.keys else None
        if hint is not None:
            checker.report(UNKNOWN_KEY, node.at_key(key), f"unknown key '{key}' in a task", hint)
            return
    message = "a task has no 'kind'"
    checker.report(MISSING_KEY, node.mark, message, f"add kind: …, or one of {', '.join(task.SUGAR)}")


def split_kinds(checker: Checker, spec: Map, kinds: Container[str]) -> Map:
    """Check what a spec holds under the names of kinds; the spec without it."""
    own = Map(mark=spec.mark)
    for key, value in spec.items():
        if key in kinds:
            checker.record(task.KIND_DEFAULTS, value, spec.at(key), checker.kinds[key].knobs)
        else:
            own.put(key, value, key_mark=spec.at_key(key), value_mark=spec.at(key))
    return own


def check_spec(checker: Checker, spec: Json, mark: Mark) -> None:
    """The spec of a task whose kind is not known: its other keys may be knobs of that kind."""
    checker.record(_ANY_SPEC, spec, mark)


def _check_known_keys(checker: Checker, node: Map) -> None:
    """What can be said of a task whose kind is not known: keys beside it may be inputs of that kind."""
    for key, value in node.items():
        if key in task.TASK.keys and key != "kind":
            checker.walk(task.TASK.keys[key].shape, value, node.at(key), key)
        elif key not in task.TASK.keys:
            checker.free(value, node.at(key))


def _check_of_kind(checker: Checker, node: Map, kind: Kind) -> None:
    calls = {key: task.CALL_KEYS[key] for key in kind.beside if key in task.CALL_KEYS}
    unknown = []
    for key, value in node.items():
        mark = node.at(key)
        if key == "input":
            continue
        if key == "spec":
            own = (
                split_kinds(checker, value, {kind.name} - kind.knobs.keys())
                if isinstance(value, Map)
                else value
            )
            checker.record(task.TASK_SPEC, own, mark, kind.knobs)
        elif key in task.TASK.keys:
            checker.walk(task.TASK.keys[key].shape, value, mark, key)
        elif key in calls:
            checker.walk(calls[key].shape, value, mark, key)
        elif key in kind.beside:
            checker.free(value, mark)
        else:
            unknown.append(key)
    missing = [key for key in task.CALL_NEEDS.get(kind.name, ()) if key not in node]
    if unknown:
        _report_unknown(checker, node, kind, unknown, missing)
    values = node.get("input")
    for key in missing:
        inside = isinstance(values, Map) and key in values
        hint = (
            f"move {key} out of input: it stands beside 'kind'" if inside else f"add {key}: … beside 'kind'"
        )
        checker.report(MISSING_KEY, node.mark, f"a task of kind '{kind.name}' has no '{key}'", hint)
    _check_input(checker, node, kind, misspelt=bool(unknown))


def _report_unknown(checker: Checker, node: Map, kind: Kind, unknown: list[str], missing: list[str]) -> None:
    keys: dict[str, object] = {**task.TASK.keys, **dict.fromkeys(kind.beside)}
    for key in list(unknown):
        if key in kind.knobs or key in task.TASK_SPEC.keys:
            message = f"'{key}' stands beside 'kind': it is a knob"
            checker.report(UNKNOWN_KEY, node.at_key(key), message, f"write: spec: {{{key}: …}}")
            unknown.remove(key)
    advice = dict(task.TASK.advice)
    if kind.open_input:
        own = {key: f"write: input: {{{key}: …}}" for key in unknown if key not in advice and key != "do"}
        advice |= own
    shape = Record(f"a task of kind '{kind.name}'", task.TASK.keys, advice=advice)
    checker.unknown(shape, node, unknown, missing, {**keys, **kind.inputs})


def _check_input(checker: Checker, node: Map, kind: Kind, *, misspelt: bool) -> None:
    values = node.get("input")
    if values is None:
        values = Map(mark=node.mark)
    if not isinstance(values, Map):
        _check_whole_input(checker, values, node.at("input"), kind)
        return
    missing = [name for name, field in kind.inputs.items() if field.required and values.get(name) is None]
    unknown = []
    for key, value in values.items():
        field = kind.inputs.get(key)
        mark = values.at(key)
        if field is None:
            unknown.append(key)
            checker.free(value, mark)
        elif key in kind.untemplated:
            checker.literal(field, value, mark, f"input '{key}' of kind '{kind.name}'", kind.name)
        elif value is not None:
            checker.field(field, value, mark, f"input '{key}' of kind '{kind.name}'", kind.name)
    if unknown and not kind.open_input:
        _report_unknown_inputs(checker, values, kind, unknown, missing)
        misspelt = True
    _report_missing_inputs(checker, values, kind, missing, misspelt=misspelt)


def _check_whole_input(checker: Checker, value: Json, mark: Mark, kind: Kind) -> None:
    """An input that is one template; its keys are seen when it has been rendered."""
    if not checker.whole(value, mark):
        checker.wrong_type("input", "a mapping, or one template {{ … }} that gives one", value, mark)
    elif kind.untemplated:
        key = kind.untemplated[0]
        message = f"the input of kind '{kind.name}' cannot be one template: its '{key}' is never a template"
        checker.report(WRONG_TYPE, mark, message, f"write input: {{{key}: …, values: {flow(value)}}}")


def _report_unknown_inputs(
    checker: Checker, values: Map, kind: Kind, unknown: Iterable[str], missing: list[str]
) -> None:
    for key in unknown:
        guess = nearest(key, missing) or nearest(key, [name for name in kind.inputs if name not in values])
        if guess in missing:
            missing.remove(guess)
        inputs = ", ".join(kind.inputs) or "none"
        others = CUT_TEXT if is_cut_text(values, key) else f"inputs of {kind.name}: {inputs}"
        hint = f"did you mean '{guess}'?" if guess else others
        message = f"kind '{kind.name}' takes no input '{key}'"
        checker.report(UNKNOWN_INPUT, values.at_key(key), message, hint)


def _report_missing_inputs(
    checker: Checker, values: Map, kind: Kind, missing: list[str], *, misspelt: bool
) -> None:
    for key in missing:
        message = f"kind '{kind.name}' needs input '{key}'"
        checker.report(MISSING_INPUT, values.mark, message, f"add input: {{{key}: …}}")
    for group in kind.one_of:
        present = [key for key in values if key in group and values[key] is not None]
        names = " or ".join(f"'{key}'" for key in group)
        if len(present) > 1:
            message = f"kind '{kind.name}' takes only one of {names}"
            checker.report(INPUT_CLASH, values.at_key(present[1]), message, f"remove all but one of {names}")
        elif not present and not misspelt:
            # A misspelt key may be the very input that seems to be missing.
            message = f"kind '{kind.name}' needs input {names}"
            checker.report(MISSING_INPUT, values.mark, message, f"add input: {{{group[0]}: …}}")


# ---- sugar ----------------------------------------------------------------------------------------------


def _check_sugar(checker: Checker, node: Map, words: list[str]) -> None:
    word = words[0]
    clash = [key for key in (*words[1:], "kind") if key in node]
    if clash:
        message = f"an item is '{word}' or '{clash[0]}', not both"
        checker.report(SUGAR_CLASH, node.at_key(clash[0]), message, "make two items of it")
        return
    key = Key(task.SUGAR_RECORDS[word])
    shape = Record(f"a '{word}' item", {**task.SUGAR_ITEM.keys, word: key}, advice=task.TASK.advice)
    checker.record(shape, node, node.mark)
    body = node[word]
    if word == "paginate" and isinstance(body, Map) and body.get("by") == "cursor" and "next" not in body:
        message = "'paginate' by cursor needs 'next', which says where the next cursor is"
        checker.report(MISSING_KEY, body.mark, message, 'add next: "{{ output.data.next }}"')


def check_branches(checker: Checker, branches: Json, mark: Mark) -> None:
    """The branches of `choose`, `else` at most once."""
    if not isinstance(branches, Seq) or not branches:
        message = f"'choose' must be a list of branches, not {seen(branches)}"
        checker.report(WRONG_TYPE, mark, message, 'write [{when: "{{ … }}", then: […]}, {else: […]}]')
        return
    first: Mark | None = None
    for index, branch in enumerate(branches):
        otherwise = isinstance(branch, Map) and "else" in branch
        checker.record(task.ELSE_BRANCH if otherwise else task.BRANCH, branch, branches.at(index))
        if otherwise and first is not None:
            message = f"'choose' has another 'else' at line {first.line}: this one is never taken"
            checker.report(WRONG_VALUE, branches.at(index), message, "keep one of the two")
        if otherwise:
            first = first or branches.at(index)


def check_request(checker: Checker, node: Json, mark: Mark) -> None:
    """The request of `paginate`: one task, its name given by the item."""
    if isinstance(node, Map) and isinstance(node.get("input"), str):
        message = "the input of the request of 'paginate' must be a mapping: the page's parameters go into it"
        checker.report(WRONG_TYPE, node.at("input"), message, 'write input: {url: "…", params: {…}}')
        return
    if isinstance(node, Map) and any(word in node for word in task.SUGAR):
        message = "the request of 'paginate' must be one task"
        checker.report(WRONG_VALUE, mark, message, "write {kind: http, input: {…}}")
        return
    check_task(checker, node, mark)

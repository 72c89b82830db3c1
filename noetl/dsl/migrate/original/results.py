"""Results as templates of the original read them: a step's or task's name stood for what it answered.

Today the name is the whole output, and what was answered is its `data`. Comes after tasks have their names
and inputs, before templates are respelt. Where the answer of a request was read, it is put together again.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from noetl.dsl.migrate.original import nats
from noetl.dsl.migrate.original.code import python_of
from noetl.dsl.migrate.original.http import result_of
from noetl.dsl.migrate.original.names import name_errors
from noetl.dsl.migrate.original.sql import SQL, share_database
from noetl.dsl.migrate.original.workload import computed_workload, note_templates
from noetl.dsl.older_spellings.respell import edit_paths, paths_in
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.set_spellings import written
from noetl.dsl.older_spellings.tasks import outer_tasks, tasks_of
from noetl.dsl.older_spellings.templates import edit_scalar
from noetl.dsl.templates.facts import plain_path
from noetl.dsl.templates.reads import Path
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Node, Scalar

ENVELOPE = frozenset({"status", "error", "meta", "http", "pg", "py", "ref", "results", "loop"})
METHODS = frozenset({"get", "items", "keys", "values"})
WRAPPER = frozenset({"data", "body", "status_code", "headers", "url", "status", "elapsed"})
ANSWERED = ("context", "result")  # other names for what a step answered
STATUS = re.compile(r"\b(\w+)(\.status\s*(?:==|!=)\s*)(['\"])(COMPLETED|completed|success|FAILED|failed)\3")
UNQUOTED = re.compile(r":\s|\s#|[{}\[\],]")
TODAY = {"completed": "ok", "success": "ok", "failed": "error"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of what a step or task answers with."""

    kind: str | None
    looped: bool = False
    fields: frozenset[str] | None = None  # of a mapping that python code spells out
    part: str | None = None  # which part of what it answered with is the whole today

    @property
    def is_request(self) -> bool:
        """Whether it is the answer to one request."""
        return self.kind == "http" and not self.looped


@dataclass(slots=True)
class Results:
    """The results of a document, by the names that templates read them under."""

    steps: dict[str, Answer]
    hidden: frozenset[str]  # names that mean something else everywhere
    computed: Mapping[str, str]  # names of the workload that are templates, and what they say


@dataclass(frozen=True, slots=True)
class Reader:
    """One place where templates stand: which results have which name there."""

    rw: Rewriting
    names: Mapping[str, Answer]
    own: str | None = None  # the step whose name means its output here
    output: Answer | None = None  # what `output` is
    computed: Mapping[str, str] = field(default_factory=dict)
    words: frozenset[str] = frozenset()  # texts that the code spells out which is given the value
    edited: list[Scalar] = field(default_factory=list)

    def read(self, node: Node, skip: tuple[str, ...] = ()) -> None:
        """Bring every template under a node to today's reading."""
        if isinstance(node, Scalar):
            if is_template(node.value) and edit_scalar(node, self._today):
                _keep_readable(node)
                self.edited.append(node)
        elif isinstance(node, Collection):
            for entry in node.entries:
                if entry.key not in skip:
                    self.read(entry.value)

    def _today(self, text: str) -> str:
        text = edit_paths(text, lambda path: self._edit(path, text))
        return STATUS.sub(self._status, text) if ".status" in text else text

    def _status(self, match: re.Match[str]) -> str:
        """A status that was the engine's word; code may answer with a status of its own."""
        answer = self.names.get(match[1])
        if answer is None or answer.kind in (None, "python", "workbook", "playbook"):
            return match[0]
        if match[4] == "success" and answer.kind != "nats":
            return match[0]  # others may answer with that word
        return f"{match[1]}{match[2]}{match[3]}{TODAY[match[4].lower()]}{match[3]}"

    def _edit(self, path: Path, text: str) -> tuple[int, str] | None:
        root = path[0]
        if root == "output" and self.output is not None:
            return self._edit_output(path, text, self.output)
        if root == "result" and self.output is not None and root not in self.names:
            return _result(path, self.output)
        at = 1 if root == "workload" and len(path) > 1 else 0
        if path[at] in self.computed:
            return at + 1, self.computed[path[at]]
        answer = self.names.get(root)
        if answer is None or path[1:2] == ("results",):
            return None
        name = "output" if root == self.own else root
        if len(path) == 1:
            return 1, self._whole(name, answer, text, root)
        change = _field(name, path, answer)
        if change is None and name != root:
            count = 2 if path[1] == "data" else 1
            return (1, name) if path[1] in ENVELOPE else (count, f"{name}.data")
        return change

    def _edit_output(self, path: Path, text: str, answer: Answer) -> tuple[int, str] | None:
        if len(path) == 1:
            return 1, self._whole("output", answer, text, "output")
        if not answer.is_request:
            return (2, "output.data") if path[1] == "result" else None
        if path[1:3] in (("data", "data"), ("data", "body")):
            return _maybe_wrapped(path, text)
        is_part = path[1:3] in (("data", "status_code"), ("data", "headers")) or path[1] in _request_places(
            ""
        )
        return _field("output", path, answer) if is_part else None

    def _whole(self, name: str, answer: Answer, text: str, root: str) -> str:
        if re.search(rf"\b{re.escape(root)}\s+is\s+(?:not\s+)?(?:defined|undefined|none)\b", text):
            return f"{name}.data"
        if answer.is_request:
            return result_of(name, self.words)
        if answer.part is not None:
            return nats.answer_of(name, answer.part)
        if answer.looped and "stats" in self.words:
            parts = f"'stats': {name}.loop | default({{}}), 'data': {name}.data | default([])"
            return "{" + parts + f", 'results': {name}.data | default([])" + "}"
        return f"{name}.data"


def _result(path: Path, answer: Answer) -> tuple[int, str] | None:
    """`result`, the older name of what a tool answered; the rows of SQL, a mapping for a request."""
    if answer.looped:
        return None
    if answer.kind in SQL and len(path) == 1:
        return 1, "output.data.rows"
    places = _request_places("output") | {"status": "output.http.status", "data": "output.data"}
    return (2, places[path[1]]) if answer.kind == "http" and path[1:2] and path[1] in places else None


def _request_places(name: str) -> dict[str, str]:
    """Where the parts of the answer to a request are read today."""
    return {"status_code": f"{name}.http.status", "headers": f"{name}.http.headers", "body": f"{name}.data"}


def _keep_readable(node: Scalar) -> None:
    """Quote a plain text that says something else without quotes."""
    if node.style == "plain" and UNQUOTED.search(node.value):
        new = tree.quoted(node.value)
        node.text, node.value, node.style = new.text, new.value, new.style


def _field(name: str, path: Path, answer: Answer) -> tuple[int, str] | None:
    """Where a field of an answer is read today."""
    first, second = path[1], path[2] if len(path) > 2 else None
    if answer.is_request:
        depth, part = (3, second) if first == "data" else (2, first)
        places = _request_places(name)
        if part in places:
            return depth, places[part]
    if answer.part is not None:
        depth, part = (3, second) if first == "data" else (2, first)
        return (depth, f"{name}.data") if part == answer.part else None
    if answer.fields is not None:
        if first == "data" and "data" in answer.fields and second != "data":
            return None if second in answer.fields else (2, f"{name}.data.data")
        if first in ENVELOPE and first in answer.fields:
            return 2, f"{name}.data.{first}"
        if first in ANSWERED and first not in answer.fields:
            return 2, f"{name}.data"
    return (1, f"{name}.data") if first in METHODS else None


def _maybe_wrapped(path: Path, text: str) -> tuple[int, str] | None:
    """`output.data.data` of a request: its parsed body, or the field `data` of it; both are read."""
    others = {each[2] for each in paths_in(text) if each[:2] == ("output", "data") and len(each) > 2}
    if not others <= WRAPPER or f"output.data.{path[2]} | default(output.data)" in text:
        return None
    return 3, f"(output.data.{path[2]} | default(output.data))"


# ---- the document -----------------------------------------------------------------------------------------


def rewrite_results(
    rw: Rewriting, root: Collection, steps: list[Collection], blocks: list[Collection]
) -> None:
    """Bring every reading of a result to today's, in a document that is of the original's spelling."""
    if all(note.look for note in rw.notes):
        return  # nothing else is older: the names mean what they mean today
    results = _results_of(root, steps)
    note_templates(rw, root)
    share_database(rw, steps)
    for step in steps:
        name_errors(rw, step)
    edited: list[Scalar] = []
    for step in steps:
        edited += _rewrite_owner(rw, results, step, step.word("step"))
    for block in blocks:
        edited += _rewrite_owner(rw, results, block, None)
    message = "templates read the data of a result, which its name stood for"
    rw.changed_lines(edited, message, always=True)


def _results_of(root: Collection, steps: list[Collection]) -> Results:
    names = {str(step.word("step")): _answer(step) for step in steps if step.word("step")}
    shared = {name for step in steps for name in _written(step, "ctx")}
    computed = {name: value for name, value in computed_workload(root).items() if name not in shared}
    return Results(names, frozenset({*root.keys_at("workload"), *shared}), computed)


def _answer(owner: Collection) -> Answer:
    looped = owner.map_at("loop") is not None
    last = next((task for task in reversed(outer_tasks(owner)) if task.word("kind") != "noop"), None)
    return _answer_of(last, looped) if last is not None and "output" not in owner else Answer(None, looped)


def _answer_of(task: Collection, looped: bool = False) -> Answer:
    if "output" in task:
        return Answer(None, looped)
    code = python_of(task)
    if task.word("kind") == "nats" and not looped:
        return Answer("nats", part=nats.WHOLE.get(str(task.word("input", "action"))))
    return Answer(task.word("kind"), looped, code.answer_keys if code is not None and not looped else None)


def _written(node: Node, scope: str) -> Iterator[str]:
    for entry in tree.entries(node):
        if entry.key == "set" and isinstance(entry.value, Collection):
            yield from written(entry.value, scope)
        yield from _written(entry.value, scope)


def _iterators(owner: Collection) -> set[str]:
    names, loop = set(), owner.map_at("loop")
    while loop is not None:
        names.add(str(loop.word("iterator")))
        loop = loop.map_at("loop")
    return names


# ---- one step or block ------------------------------------------------------------------------------------


def _rewrite_owner(rw: Rewriting, results: Results, owner: Collection, name: str | None) -> list[Scalar]:
    local = {*owner.keys_at("input"), *_iterators(owner), *_written(owner, "step"), *_written(owner, "iter")}
    hidden = results.hidden | local
    outside = {step: answer for step, answer in results.steps.items() if step not in hidden}
    computed = {key: value for key, value in results.computed.items() if key not in local}
    edited: list[Scalar] = []
    tasks = [*tasks_of(owner)]
    labels = {str(task.word("name")): _answer_of(task) for task in tasks if task.word("name")}
    inside = {**outside, **{label: answer for label, answer in labels.items() if label not in hidden}}
    _tolerate(rw, tasks)
    before: Answer | None = None
    for task in tasks:
        _rewrite_task(Reader(rw, inside, None, before, computed, edited=edited), task, name)
        before = _answer_of(task)
    after = _answer(owner)
    for entry in owner.entries:
        if entry.key != "tool":
            own = name if entry.key in ("set", "output") else None
            output = after if entry.key in ("set", "output", "next") else None
            Reader(rw, outside, own, output, computed, edited=edited).read(entry.value)
    return edited


def _tolerate(rw: Rewriting, tasks: list[Collection]) -> None:
    """A `set` of a task that failed and went on was applied; today it is not, and its name may be missing."""
    missing: set[str] = set()
    for task in tasks:
        for scalar in tree.scalars(task.map_at("input")):
            path = plain_path(scalar.value)
            if path is not None and path[-1] in missing and path[:-1] in ((), ("step",)):
                name = ".".join(path)
                edit_scalar(scalar, partial(_or_none, name))
                rw.changed(scalar.mark, f"'{name}' is null where the task that sets it fails and goes on")
        own = task.map_at("set")
        if own is not None and _goes_on(task):
            missing |= written(own, "step")


def _or_none(name: str, text: str) -> str:
    return text.replace(name, f"{name} | default(none)")


def _goes_on(task: Collection) -> bool:
    """Whether a rule of a task continues after an error."""
    rules = task.maps_at("spec", "policy", "rules")
    return any("error" in str(rule.word("when")) and rule.word("then", "do") == "continue" for rule in rules)


def _rewrite_task(around: Reader, task: Collection, step: str | None) -> None:
    code, inputs = python_of(task), task.map_at("input") or tree.mapping()
    before = replace(around, words=code.words if code is not None else frozenset())
    before.read(inputs, around.rw.verbatim(task))
    own = {key: answer for key, answer in around.names.items() if key not in inputs}
    computed = {key: value for key, value in around.computed.items() if key not in inputs}
    alone = step if task.word("name") in (None, step) else None
    later = replace(before, names=own, own=alone, output=_answer_of(task), computed=computed)
    for entry in task.entries:
        if entry.key in ("set", "spec", "output"):
            later.read(entry.value)
        elif entry.key not in ("input", "name", "kind"):
            before.read(entry.value)

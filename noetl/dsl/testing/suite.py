"""A test file as values: text in, tests and every finding out. The playbook is not known here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from noetl.dsl.diagnostic import Diagnostic, Mark, has_errors, in_order
from noetl.dsl.effective_spec import overlay
from noetl.dsl.grammar.checker import WRONG_TYPE, WRONG_VALUE, Checker
from noetl.dsl.testing.grammar import ANSWER, FILE
from noetl.dsl.yaml.one_line import described
from noetl.dsl.yaml.source import Limits, parse
from noetl.dsl.yaml.tree import Map, Seq, Value

DEFAULT_RUN = ("python", "resolve")  # kinds that need nothing but this machine
SIZE_MAX = 16 * 1024 * 1024  # recorded outputs make a test file longer than any playbook


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool is said to have returned, and for which calls."""

    node: Map
    mark: Mark
    repeat: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One test: what is given and what is expected. `expect` keeps its positions."""

    name: str
    mark: Mark
    node: Map
    workload: Mapping[str, Value] = field(default_factory=dict)
    keychain: Mapping[str, Value] = field(default_factory=dict)
    given: Mapping[str, tuple[Answer, ...]] = field(default_factory=dict)
    children: Mapping[str, Mapping[str, tuple[Answer, ...]]] = field(default_factory=dict)
    signals: tuple[Map, ...] = ()
    run: tuple[str, ...] = DEFAULT_RUN
    expect: Map = field(default_factory=Map)


@dataclass(frozen=True, slots=True)
class Suite:
    """A test file that was read."""

    playbook: str
    tree: Value
    cases: tuple[Case, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether the tests can be run."""
        return not has_errors(self.diagnostics)


def read_suite(text: str | bytes) -> Suite:
    """Read a test file's text."""
    parsed = parse(text, limits=Limits(size=SIZE_MAX))
    tree = parsed.tree
    if tree is None and has_errors(parsed.diagnostics):
        return Suite("", None, (), parsed.diagnostics)
    checker = Checker({}, {"anything": lambda *_: None})
    checker.walk(FILE, tree, tree.mark if isinstance(tree, Map) else Mark(), "")
    if isinstance(tree, Map):
        _check_parts(tree, checker)
    findings = in_order([*parsed.diagnostics, *checker.findings])
    if has_errors(findings):
        return Suite("", tree, (), findings)
    cases = tuple(_case(tree, node) for node in tree["tests"])
    return Suite(tree["playbook"], tree, cases, in_order([*findings, *_repeated_names(cases)]))


def _check_parts(tree: Map, checker: Checker) -> None:
    """The answers, which stand under names that the author chose."""
    tests = tree.get("tests")
    items = [item for item in tests if isinstance(item, Map)] if isinstance(tests, Seq) else []
    for place in (tree, *items):
        _check_given(place.get("given"), checker)
        children: Value = place.get("children")
        for path, given in children.items() if isinstance(children, Map) else ():
            if not isinstance(given, Map):
                checker.wrong_type(path, "a mapping of tasks to answers", given, children.at(path))
            _check_given(given, checker)


def _check_given(given: Value, checker: Checker) -> None:
    for task, answers in given.items() if isinstance(given, Map) else ():
        mark = given.at(task)
        if not isinstance(answers, Map | Seq):
            message = f"'{task}' must be an answer or a list of them, not {described(answers)}"
            checker.report(WRONG_TYPE, mark, message, f"write {task}: {{data: …}}")
            continue
        for node, place in _nodes(answers, mark):
            checker.walk(ANSWER, node, place, task)


def _nodes(answers: Map | Seq, mark: Mark) -> list[tuple[Value, Mark]]:
    if isinstance(answers, Map):
        return [(answers, mark)]
    return [(node, answers.at(index)) for index, node in enumerate(answers)]


def _repeated_names(cases: tuple[Case, ...]) -> list[Diagnostic]:
    first: dict[str, Case] = {}
    findings = []
    for case in cases:
        earlier = first.setdefault(case.name, case)
        if earlier is not case:
            message = f"the test '{case.name}' is there twice; first at line {earlier.mark.line}"
            findings.append(WRONG_VALUE.at(case.mark, message, "give one of them another name"))
    return findings


def _case(tree: Map, node: Map) -> Case:
    """A test with what the whole file gives; what the test gives itself comes first."""
    return Case(
        name=node["name"],
        mark=node.at("name"),
        node=node,
        workload=overlay(tree.get("workload") or {}, node.get("workload") or {}),
        keychain={**(tree.get("keychain") or {}), **(node.get("keychain") or {})},
        given={**_answers(tree.get("given")), **_answers(node.get("given"))},
        children=_children(tree, node),
        signals=tuple(node.get("signals") or ()),
        run=tuple(node.get("run", tree.get("run", DEFAULT_RUN)) or ()),
        expect=node.get("expect") or Map(mark=node.mark),
    )


def _children(tree: Map, node: Map) -> dict[str, dict[str, tuple[Answer, ...]]]:
    shared, own = tree.get("children") or {}, node.get("children") or {}
    paths = dict.fromkeys([*shared, *own])
    return {path: {**_answers(shared.get(path)), **_answers(own.get(path))} for path in paths}


def _answers(given: Value) -> dict[str, tuple[Answer, ...]]:
    """An answer alone is for every call; those of a list are for one call each unless they say otherwise."""
    by_task: dict[str, tuple[Answer, ...]] = {}
    for task, answers in (given or {}).items():
        alone = isinstance(answers, Map)
        nodes = _nodes(answers, given.at(task))
        by_task[task] = tuple(Answer(node, mark, node.get("repeat", alone)) for node, mark in nodes)
    return by_task

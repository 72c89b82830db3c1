"""Whether a test file speaks of what its playbook has: steps, tasks, arcs and tool kinds."""

from collections.abc import Iterator

from noetl.dsl.diagnostic import Diagnostic, Mark, in_order
from noetl.dsl.grammar.checker import WRONG_TYPE, WRONG_VALUE
from noetl.dsl.model import Playbook, Step, Task
from noetl.dsl.nearest import did_you_mean
from noetl.dsl.sugar.labels import is_generated
from noetl.dsl.testing.suite import Suite
from noetl.dsl.yaml.one_line import described
from noetl.dsl.yaml.tree import Map, Seq, Value

ARROW = " -> "
BY_ENGINE = {  # kinds that the engine carries out, and what a test gives instead of an answer
    "noop": "it answers with the value of the task before it",
    "wait": "waits take no time in a test; what a task waits for stands under signals",
    "playbook": "the child really runs; its answers stand under children, by its path",
    "workbook": "the block really runs; answer its tasks, as in step.call/inner",
}


def check_names(suite: Suite, playbook: Playbook) -> tuple[Diagnostic, ...]:
    """Every name of a test file that its playbook does not have."""
    tree = suite.tree
    return in_order(
        finding
        for place in (tree, *tree["tests"])
        for finding in (*_given(place, playbook), *_expected(place.get("expect"), playbook))
    )


def tasks_of(playbook: Playbook) -> dict[str, str]:
    """The kind of every task, by the name that test files use; those of blocks by each call of them."""
    return {
        f"{step.name}.{label}": task.kind
        for step in playbook.steps
        for label, task in step_tasks(playbook, step)
    }


def step_tasks(playbook: Playbook, step: Step) -> Iterator[tuple[str, Task]]:
    """The tasks of a step by their labels as events have them, those of the blocks it calls included."""
    yield from _tasks(playbook, step.all_tasks, "", ())


def _tasks(
    playbook: Playbook, tasks: tuple[Task, ...], prefix: str, around: tuple[str, ...]
) -> Iterator[tuple[str, Task]]:
    for task in tasks:
        yield prefix + task.label, task
        block = playbook.workbook.get(task.block or "")
        if block is not None and block.name not in around:
            yield from _tasks(playbook, block.tasks, f"{prefix}{task.label}/", (*around, block.name))


def _given(place: Map, playbook: Playbook) -> Iterator[Diagnostic]:
    given: Value = place.get("given")
    tasks, steps = tasks_of(playbook), {step.name: step for step in playbook.steps}
    for name in given or ():
        kind = tasks.get(name)
        if kind in BY_ENGINE:
            message = f"'{name}' is of kind {kind}, which the engine carries out"
            yield WRONG_VALUE.at(given.at_key(name), message, BY_ENGINE[kind])
        elif kind is None and name not in steps and not _synthesised(name, steps):
            yield _unknown(given.at_key(name), f"there is no task '{name}'", name, _callable(tasks))


def _callable(tasks: dict[str, str]) -> list[str]:
    return [name for name, kind in tasks.items() if kind not in BY_ENGINE]


def _synthesised(name: str, steps: dict[str, Step]) -> bool:
    """Whether a name may be of a step that is only made while the playbook runs."""
    step = steps.get(name.partition(".")[0])
    return step is not None and step.synthesize is not None


def _expected(expect: Value, playbook: Playbook) -> Iterator[Diagnostic]:
    if not isinstance(expect, Map):
        return
    steps = {step.name: step for step in playbook.steps}
    arcs = [f"{step.name}{ARROW}{arc.step}" for step in playbook.steps for arc in step.next.arcs]
    tasks = [
        f"{step.name}.{label}"
        for step in playbook.steps
        for label, _ in step_tasks(playbook, step)
        if not is_generated(label)
    ]
    for key, noun, names in (("steps", "step", list(steps)), ("arcs", "arc", arcs), ("calls", "task", tasks)):
        for name, mark in _marked(expect.get(key)):
            if name not in names and (noun == "arc" or not _synthesised(name, steps)):
                yield _unknown(mark, f"there is no {noun} '{name}'", name, names)
        yield from _counts(expect.get(key), key)


def _counts(given: Value, key: str) -> Iterator[Diagnostic]:
    for name, value in given.items() if isinstance(given, Map) else ():
        number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        inputs = key == "calls" and isinstance(value, Seq) and all(isinstance(item, Map) for item in value)
        if not number and not inputs:
            expected = "a number of times" + (", or a list of inputs" if key == "calls" else "")
            yield WRONG_TYPE.at(given.at(name), f"'{name}' must be {expected}, not {described(value)}")


def _marked(value: Value) -> list[tuple[str, Mark]]:
    """The names in a mapping or a list, with their places."""
    if isinstance(value, Map):
        return [(name, value.at_key(name)) for name in value]
    return [(name, value.at(index)) for index, name in enumerate(value or ())]


def _unknown(mark: Mark, message: str, name: str, names: list[str]) -> Diagnostic:
    hint = did_you_mean(name, names, f"known: {', '.join(names) or 'none'}")
    return WRONG_VALUE.at(mark, f"{message} in the playbook", hint)

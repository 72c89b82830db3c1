"""Which secrets the tasks of a run may ask for: those that its step names.

A name that is written down counts as it stands, one with a template in it by its written part. A name that is
all template must be one that the playbook or what the execution was given to work with has. Nothing here
knows a secret.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from noetl.core.deciding.draft import in_place
from noetl.core.program.program import Program, StepProgram, TaskProgram
from noetl.core.state import Run, State
from noetl.core.values.payload_demand import Payloads

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_encode = msgspec.json.encode


def names_secret(
    program: Program, state: State, run: Run, name: str, hydrated: Payloads | None = None
) -> bool:
    """Whether the step of a run names a secret."""
    step = program.steps[run.step]
    if name in _written(program, step):
        return True
    for naming in _namings(_tasks(program, step)):
        parts = [part.strip() for part in _TEMPLATE.split(naming)]
        if not any(parts):
            if _is_known(program, state, run, name, hydrated or {}):
                return True
        elif re.fullmatch(".*".join(map(re.escape, parts)), name, re.DOTALL):
            return True
    return False


def _tasks(program: Program, step: StepProgram) -> list[TaskProgram]:
    """The tasks of a step, and those of the blocks that it may call."""
    tasks = list(step.pipeline.tasks)
    if step.loop is not None and step.loop.claim is not None:
        tasks += step.loop.claim.pipeline.tasks
    if any(task.kind == "workbook" for task in tasks):
        tasks += [task for block in program.blocks.values() for task in block.pipeline.tasks]
    return tasks


def _written(program: Program, step: StepProgram) -> set[str]:
    """Names that a step says as they are: as a text of a task, or as a key of `keychain` in a template."""
    names = {text for task in _tasks(program, step) for text in _texts(task) if not _TEMPLATE.search(text)}
    if ("keychain",) in step.mentions.paths:
        names |= {entry.name for entry in program.playbook.keychain}
    return names | step.mentions.below("keychain")


def _texts(task: TaskProgram) -> Iterator[str]:
    auth = None if task.auth is None else task.auth.value
    yield from _leaves([auth, task.input.value, dict(task.literal), task.call.value])


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)


def _namings(tasks: Iterable[TaskProgram]) -> Iterator[str]:
    """Texts with templates that give the name of a secret."""
    for task in tasks:
        if task.kind == "resolve":
            yield "{{ auth_reference }}"  # a reference says itself which secret it needs
        parts = {"auth": None if task.auth is None else task.auth.value, "input": task.input.value}
        keys = {"auth", "name"} if task.kind == "secrets" else {"auth"}
        yield from (text for text in _below(parts, keys) if _TEMPLATE.search(text))


def _below(value: object, keys: set[str]) -> Iterator[str]:
    """Texts under one of some keys, however deep."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in keys and isinstance(item, str):
                yield item
            else:
                yield from _below(item, keys)
    elif isinstance(value, list):
        for item in value:
            yield from _below(item, keys)


def _is_known(program: Program, state: State, run: Run, name: str, hydrated: Payloads) -> bool:
    """Whether the playbook or what the execution was given to work with has a name."""
    if any(name in _written(program, step) for step in program.steps.values()):
        return True
    if any(entry.name == name for entry in program.playbook.keychain):
        return True
    scopes = [state.workload, state.trigger, state.ctx, run.input, run.args, run.collection, run.event]
    if run.loop is not None and run.loop.claims is not None:
        scopes += [batch.rows for batch in run.loop.claims.open]
    quoted = _encode(name)
    return any(quoted in _encode(in_place(value, hydrated)) for value in scopes)

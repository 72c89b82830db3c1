"""Synthesised workflow fragments: their check, their names, and the program that has them.

The same validator as for any playbook; a fragment sees its playbook's keychain, workbook and executor.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec

from noetl.core.program.program import Program, compile_program
from noetl.dsl import model
from noetl.dsl.load import Loaded, load_tree
from noetl.dsl.yaml.tree import plain

Steps = Sequence[dict[str, Any]]


def fragment_problems(
    program: Program, steps: Any, max_steps: int, kinds: tuple[str, ...] | None
) -> list[dict[str, Any]]:
    """Why a fragment may not run, in the validator's words; empty when it may."""
    if not isinstance(steps, list):
        return [{"message": f"a fragment is a list of steps, not {type(steps).__name__}"}]
    if len(steps) > max_steps:
        return [{"message": f"the fragment has {len(steps)} steps; at most {max_steps} are allowed"}]
    loaded = _loaded(program, steps)
    problems = [
        {"code": item.code, "message": item.message, "path": item.path}
        for item in loaded.diagnostics
        if item.severity == "error"
    ]
    made = loaded.playbook.steps if loaded.playbook else ()
    used = {task.kind for step in made for task in step.all_tasks}
    for kind in sorted(used - set(used if kinds is None else kinds)):
        problems.append({"message": f"kind {kind!r} is not among limits.kinds: {', '.join(kinds or ())}"})  # noqa: PERF401
    return problems


def normalised(program: Program, steps: Any) -> list[dict[str, Any]]:
    """A valid fragment in the one spelling that the log keeps."""
    workflow: list[dict[str, Any]] = plain(_loaded(program, steps).tree["workflow"])
    return workflow


def extended(program: Program, origin: str, steps: Steps) -> Program:
    """The program with a fragment's steps, named `<origin>.<step>`; itself when it has them already."""
    if f"{origin}.{steps[0]['step']}" in program.steps:
        return program
    return _extended(_ById(program), origin, msgspec.json.encode(steps))


class _ById:
    """A program as a cache key: the same object is the same program."""

    __slots__ = ("program",)

    def __init__(self, program: Program) -> None:
        self.program = program

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.program is self.program

    def __hash__(self) -> int:
        return id(self.program)


@lru_cache(256)
def _extended(base: _ById, origin: str, steps: bytes) -> Program:
    program = base.program
    loaded = _loaded(program, msgspec.json.decode(steps))
    assert loaded.playbook is not None
    own = {step.name for step in loaded.playbook.steps}
    renamed = tuple(_renamed(step, origin, own) for step in loaded.playbook.steps)
    playbook = replace(program.playbook, steps=(*program.playbook.steps, *renamed))
    return replace(compile_program(playbook, program.kinds, program.hash), entry=program.entry)


def _renamed(step: model.Step, origin: str, own: set[str]) -> model.Step:
    arcs = tuple(
        replace(arc, step=f"{origin}.{arc.step}") if arc.step in own else arc for arc in step.next.arcs
    )
    return replace(step, name=f"{origin}.{step.name}", next=replace(step.next, arcs=arcs))


def _signature(block: dict[str, Any]) -> dict[str, Any]:
    """What a caller sees of a block."""
    return {"input": block.get("input", {}), "tool": {"kind": "noop"}}


def _loaded(program: Program, steps: Any) -> Loaded:
    tree = plain(program.playbook.node)
    tree["workflow"] = steps
    if "workbook" in tree:  # its blocks were checked with the playbook, and have generated labels by now
        tree["workbook"] = {name: _signature(block) for name, block in tree["workbook"].items()}
    executor = tree.get("executor", {})
    for key in ("entry_step", "final_step"):
        executor.get("spec", {}).pop(key, None)
    return load_tree(tree, kinds=program.kinds)

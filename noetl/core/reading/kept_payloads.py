"""Which payloads a retry or rerun depends on: of what it keeps, what a step that may still run can read.

What nobody reads any more may expire: a retry begins without it. What is kept, execution_retry.py says.
"""

import re
from collections.abc import Iterator

import msgspec

from noetl.core.program.program import Program, StepProgram
from noetl.core.shapes import Retained
from noetl.dsl.templates.reads import PathSet

_KEY = re.compile(rb'"([0-9a-f]{32}/[0-9a-f]{32})"')


def payloads_read(kept: Retained, program: Program) -> list[str]:
    """The keys of the payloads that may be read, in order."""
    steps = _ahead(kept, program)
    values = [kept] if steps is None else [kept["tokens"], *_read(kept, steps)]
    return sorted({key.decode() for key in _KEY.findall(msgspec.json.encode(values))})


def _ahead(kept: Retained, program: Program) -> list[StepProgram] | None:
    """The steps that may run; None where that cannot be told, since steps are made while it runs."""
    targets = {token["step"] for token in kept["tokens"]}
    if not targets <= program.steps.keys() or any(step.synthesize for step in program.steps.values()):
        return None
    reachable = program.graph.can_reach
    return [
        step
        for name, step in program.steps.items()
        if any(target == name or reachable(target, name) for target in targets)
    ]


def _read(kept: Retained, steps: list[StepProgram]) -> Iterator[object]:
    """The kept values that templates of some steps name; signals may answer any of their waits."""
    state = kept["state"]
    named = PathSet().union(
        *(part for step in steps for part in (step.mentions, step.arrival, step.boundary))
    )
    names, keys = named.bare(), named.keys("ctx")
    yield from (output for name, output in state.get("results", {}).items() if name in names)
    yield from (value for key, value in state.get("ctx", {}).items() if keys is None or key in keys)
    yield from state.get("signals", [])

"""The toolbox of a test: calls that have an answer get it, chosen kinds run, nothing else is called.

And that of a recording, whose calls are real and written down. Where the worker calls a tool is where they
differ from a worker's own; what is before and behind the call is the same.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import cast

from noetl.core.event import step_of
from noetl.core.message import WorkOrder
from noetl.core.pipeline.effects import RunTool
from noetl.core.pipeline.frame import Frame
from noetl.core.shapes import Output
from noetl.core.values.output import failed, problem
from noetl.dsl.testing.script import Place, Script, output_of
from noetl.json_value import Json
from noetl.ports.call import CallOutput
from noetl.ports.envelope import Envelope, Failed
from noetl.ports.tool import convert
from noetl.worker.toolbox import Toolbox

NOT_GIVEN = "not_given"


@dataclass(frozen=True, slots=True)
class Called:
    """A call that was made, and what it was answered with."""

    execution_id: str
    place: Place
    kind: str
    input: Mapping[str, Json]
    output: Envelope
    answered: bool = True  # False: the test gives no answer, and the kind is not to run


@dataclass(slots=True)
class RehearsedToolbox(Toolbox):
    """Answers calls as a test says."""

    script: Script = field(default_factory=Script)
    main: str = ""  # the execution that is tested; others are its children
    run: frozenset[str] = frozenset()  # kinds that run when there is no answer
    outside: Callable[[], AbstractContextManager[None]] = nullcontext
    calls: list[Called] = field(default_factory=list)

    async def _guarded(self, effect: RunTool, frame: Frame, order: WorkOrder, printed: CallOutput) -> Output:
        place = place_of(effect, frame, order)
        answer = self.script.answer(place, child=order.execution_id != self.main)
        if answer is not None:
            output = await self._answered(
                effect, cast(Output, output_of(answer)), answer.node.get("takes", 0)
            )
        elif effect.task.kind in self.run:
            with self.outside():
                output = await Toolbox._guarded(self, effect, frame, order, printed)
        else:
            output = failed(problem(NOT_GIVEN, f"the test gives no output for {place.words}"))
        known = answer is not None or effect.task.kind in self.run
        self.calls.append(
            Called(order.execution_id, place, effect.task.kind, dict(effect.input), output, known)
        )
        return output

    async def _answered(self, effect: RunTool, output: Envelope, seconds: float) -> Envelope:
        """An answer, unless the kind would have refused the input."""
        try:
            convert(effect.input, self.tool(effect.task.kind))
        except Failed as failure:
            return failure.output
        if seconds:
            await asyncio.sleep(seconds)
        return output


@dataclass(slots=True)
class RecordingToolbox(Toolbox):
    """Calls tools and writes down what they answer, without secrets."""

    calls: list[Called] = field(default_factory=list)

    async def _guarded(self, effect: RunTool, frame: Frame, order: WorkOrder, printed: CallOutput) -> Output:
        output = await Toolbox._guarded(self, effect, frame, order, printed)
        clean = frame.around.redactor.clean
        kept: Output = {**output}
        kept.pop("ref", None)
        if output.get("ref") is not None and output.get("data") is None:
            kept["data"] = await self.payloads(order.execution_id).get(output["ref"])
        place, given = place_of(effect, frame, order), clean(dict(effect.input))
        self.calls.append(Called(order.execution_id, place, effect.task.kind, given, clean(kept)))
        return output


def place_of(effect: RunTool, frame: Frame, order: WorkOrder) -> Place:
    """Where in its execution a call is."""
    return Place(
        playbook=frame.around.program.path,
        step=step_of(order.run),
        task=effect.label,
        run=int(order.run.rpartition(".")[2]),
        iteration=tuple(int(index) for index in re.findall(r"\[(\d+)\]", effect.at)),
        visit=frame.visits[effect.task.label],
        attempt=effect.attempt,
    )

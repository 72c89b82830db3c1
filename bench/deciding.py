"""What a decision costs: the messages of real executions decided again, with no store and no worker.

Processor time of this process, the best of several rounds, so that a busy machine changes little.
"""

import asyncio
import copy
import gc
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

from bench.embedded import HEAD, chain, loop
from bench.figure import Figure

ROUNDS = 15
EVENTS = 8_000  # decided in one round
GUARDED = '{step: c, when: "{{ ctx.n | default(1) == 1 }}", args: {x: "{{ ctx.n | default(1) }}"}}'
ARCS = f"{{step: a}}, {{step: b}}, {GUARDED}, {{step: d, set: {{ctx.n: 1}}}}"
TARGETS = "".join(
    f"  - {{step: {name}, tool: {{kind: noop}}, next: {{arcs: [{{step: end}}]}}}}\n" for name in "abcd"
)
FAN_OUT = (
    HEAD.format(name="fan_out")
    + "  - step: start\n    tool: {kind: noop}\n"
    + f"    next: {{spec: {{mode: inclusive}}, arcs: [{ARCS}]}}\n"
    + TARGETS
    + "  - {step: end, tool: {kind: noop}}\n"
)
Message = tuple[Any, int, Any]  # the message, when it came, and the program


def run() -> list[Figure]:
    """Processor time per decision, and per event of a loop's reports."""
    step_us, _ = _cost(chain(100))
    fan_out_us, _ = _cost(FAN_OUT)
    _, event_us = _cost(loop(1_000, 50))
    return [
        Figure("decide: step of a chain", step_us, "us CPU", 30.0),
        Figure("decide: fan-out of four arcs and its join", fan_out_us, "us CPU", 50.0),
        Figure("decide: event of a parallel loop", event_us, "us CPU", 2.0),
    ]


def _cost(text: str) -> tuple[float, float]:
    """Microseconds per decision and per event."""
    messages = asyncio.run(_recorded(text))
    events = _decided(messages)
    repeats = max(1, EVENTS // events)
    best = float("inf")
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            began = time.process_time()
            for _ in range(repeats):
                _decided(messages)
            best = min(best, (time.process_time() - began) / repeats)
    finally:
        gc.enable()
    return best * 1e6 / len(messages), best * 1e6 / events


async def _recorded(text: str) -> list[Message]:
    """The messages of an execution, as the engine decided on them."""
    from noetl.core.decide import decide
    from noetl.settings import load
    from noetl.wiring.embedded import embedded, new_execution_id

    messages: list[Message] = []

    def listening(state: Any, message: Any, now: int, program: Any, **more: Any) -> Any:
        messages.append((copy.deepcopy(message), now, program))
        return decide(state, message, now, program, **more)

    with tempfile.TemporaryDirectory() as folder, mock.patch("noetl.control.engine.decide", listening):
        async with embedded(load({"store": f"{folder}/noetl.db"}, folder=Path(folder))) as made:
            entry, program = await made.catalog.register(text)
            execution_id = new_execution_id()
            await made.engine.start(execution_id, await made.catalog.request(entry, program, None))
            await made.engine.until_quiet(execution_id)
    return messages


def _decided(messages: list[Message]) -> int:
    """Decide on every message again; how many events that gave."""
    from noetl.core.decide import decide
    from noetl.core.state import State

    state = State("0" * 32)
    for message, now, program in messages:
        decide(state, message, now, program)
    assert state.status == "completed", state.status
    return state.seq

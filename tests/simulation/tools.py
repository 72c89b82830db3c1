"""Tool kinds that act by plan, take virtual time, and remember every call by its idempotency key."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from noetl.dsl.tool_kind import Kinds
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, error, ok
from noetl.ports.tool import Input, Tool, define
from noetl.tools import get

ENGINE_KINDS = ("noop", "wait", "workbook", "playbook")


class Plan(Input):
    """What a call does, in this order: take time, fail or raise, answer."""

    say: Any = None
    slow: float = 0.0  # seconds
    fails: int = 0  # the first attempts that fail
    kind: str = "http"  # the kind of that error
    raises: bool = False
    rows: int = 0  # answer with a list this long


@dataclass(frozen=True, slots=True)
class Called:
    """Which task called, and under which key."""

    execution_id: str
    step: str
    task: str
    attempt: int
    key: str


@dataclass(slots=True)
class Effects:
    """Every call that was made."""

    calls: Counter[Called] = field(default_factory=Counter)

    def keys(self) -> set[str]:
        return {called.key for called in self.calls}

    async def act(self, plan: Plan, call: Call) -> Envelope:
        """Carry out one call."""
        self.calls[Called(call.execution_id, call.step, call.task, call.attempt, call.idempotency_key)] += 1
        if plan.slow:
            await asyncio.sleep(plan.slow)
        if plan.raises:
            raise RuntimeError("the tool broke")
        if call.attempt <= plan.fails:
            return error(plan.kind, f"attempt {call.attempt} fails", retryable=True)
        if plan.rows:
            return ok([{"row": number, "say": plan.say} for number in range(plan.rows)])
        return ok(plan.say)


async def _never_called(plan: Plan, call: Call) -> Envelope:
    raise NotImplementedError


ACT = define("act", "Acts by plan.", Plan, _never_called)
KINDS: Kinds = {"act": ACT.kind, **{name: get(name).kind for name in ENGINE_KINDS}}


def tool_of(effects: Effects) -> Any:
    """The registry of one world."""
    act = Tool(ACT.kind, Plan, None, effects.act)
    return {"act": act, **{name: get(name) for name in ENGINE_KINDS}}.__getitem__

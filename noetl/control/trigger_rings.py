"""Triggers that would start one another for ever: found before they are kept, and bounded while they run.

What is written of triggers shows most rings. The others (over children, or playbooks that are told something)
are bounded by how many executions in a row were started by the end of the one before.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from noetl.errors import NotFound, RequestError
from noetl.ports import notification
from noetl.ports.arrival import KEY_PREFIX
from noetl.ports.schedule import Trigger, TriggerBody
from noetl.ports.store import Store, glob_of

IN_A_ROW = 16  # executions of which each was started by the end of the one before
_FIRING = re.compile(rf"{KEY_PREFIX}[^/]+/firing/(\d+)/")
_WALK = 100  # executions that are asked where they come from


def firing_key(trigger: str, in_a_row: int, firing: str) -> str:
    """The idempotency key of a firing; it says how many executions in a row were started so."""
    return f"{KEY_PREFIX}{trigger}/firing/{in_a_row}/{firing}"


def check_ring(new: TriggerBody, others: Sequence[Trigger]) -> None:
    """Refuse a trigger that would start itself, perhaps over others; raises RequestError."""
    others = [one for one in others if one.name != new.name and one.kind == "playbook" and one.enabled]
    waiting: list[list[TriggerBody]] = [[new]]
    seen: set[str] = set()
    while waiting and new.enabled:
        chain = waiting.pop()
        if follows(new, chain[-1].path):
            steps = "; ".join(f"{one.name} starts {one.path}" for one in chain)
            message = f"the trigger '{new.name}' would fire for ever: {steps}, which it waits for"
            hint = "let it wait for other playbooks; what is to run again and again is a schedule or a loop"
            raise RequestError(message, hint=hint)
        after = [one for one in others if one.name not in seen and follows(one, chain[-1].path)]
        seen |= {one.name for one in after}
        waiting += [[*chain, one] for one in after]


def follows(trigger: TriggerBody, path: str) -> bool:
    """Whether a trigger waits for the end of a playbook."""
    return any(fnmatchcase(path, glob_of(pattern)) for pattern in trigger.after)


async def in_a_row(store: Store, execution_id: str) -> int:
    """How many executions, up to this one, were each started by the end of another."""
    hops, asked = 0, execution_id
    for _ in range(_WALK):
        try:
            summary = await store.summary(asked)
        except NotFound:
            return hops
        key = summary.idempotency_key or ""
        if match := _FIRING.match(key):
            return hops + int(match[1])
        if key.startswith(notification.KEY_PREFIX):  # a playbook that was told of the end of another
            asked, hops = key.removeprefix(notification.KEY_PREFIX).rpartition("-")[0], hops + 1
        elif summary.parent or summary.chain:
            asked = summary.parent or summary.chain or ""
        else:
            return hops
    return hops

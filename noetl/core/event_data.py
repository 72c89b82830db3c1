"""What the data of each event holds, for those who read a log. No code lives here.

An event's name says which of these it carries, so readers are chosen by name and take the type of theirs. All
is optional: logs of older engines lack what came later.
"""

from typing import TypedDict

from noetl.core import shapes
from noetl.core.state import Status
from noetl.json_value import Json, JsonObject


class NoData(TypedDict):
    """An event of which only the name, the time and the place are read."""


class Requested(TypedDict, total=False):
    """`playbook.execution.requested`."""

    path: str
    version: int | None
    payload: Json
    parent: shapes.Parent | None
    idempotency_key: str | None
    retry_of: str | None
    continued_from: shapes.Continuation | None
    until: str | None
    by: str | None
    trigger: shapes.TriggerFacts | None


class Evaluated(TypedDict, total=False):
    """`playbook.request.evaluated`."""

    status: str
    hash: str
    engine: str
    executor_version: str | None
    workload: JsonObject | None
    diagnostics: list[JsonObject]
    error: shapes.ErrorObject


class Restored(shapes.RetainedState, total=False):
    """`execution.restored`; `more`: it goes on with what had no room in the one before."""

    of: str
    tokens: int
    more: bool


class LoopRestored(TypedDict, total=False):
    """`loop.restored`."""

    token: str
    step: str
    total: int
    collection: Json
    batch: shapes.RetainedBatch
    iterations: dict[str, shapes.IterationRecord]


class Controlled(TypedDict, total=False):
    """`execution.paused`, `execution.resumed`, `execution.cancelled`."""

    by: str | None
    why: str | None
    error: shapes.ErrorObject


_As = TypedDict("_As", {"as": str}, total=False)


class Continued(_As, total=False):
    """`execution.continued`."""

    step: str
    input: Json


class Signalled(TypedDict, total=False):
    """`execution.signalled`."""

    signal: str
    payload: Json
    by: str
    claimed_by: str


class Finished(TypedDict, total=False):
    """`workflow.finished`, `playbook.processed`."""

    status: Status
    output: Json
    error: shapes.ErrorObject | None
    counts: dict[str, int]
    duration_ms: int


class GuardSeen(TypedDict):
    """What a guard of an admission rule came to, and the values it saw."""

    value: bool
    seen: shapes.ScopeValues


class TokenMoved(TypedDict, total=False):
    """`token.held`, `token.claimed`, `token.refused`, `token.discarded`."""

    token: str
    step: str
    waits_for: list[str]
    rule: int | str | None
    guards: list[GuardSeen]
    reason: str
    join: str
    would_be: str
    input: Json


_From = TypedDict("_From", {"from": str | None}, total=False)


class Enqueued(_From, total=False):
    """`token.enqueued`."""

    token: str
    step: str
    from_run: str | None
    event: shapes.ArcEvent
    args: JsonObject
    barred: list[str]
    fragment: str | None


class ClaimBounds(TypedDict):
    """How a loop claims its items: rows per claim, when the next one is due, batches at most."""

    batch: int
    prefetch: int
    max_batches: int | None


class Scheduled(_From, total=False):
    """`step.scheduled`; `place` says where the `problem` arose that keeps the run from starting."""

    step: str
    tokens: list[str]
    event: shapes.ArcEvent
    args: JsonObject
    input: JsonObject | None
    collection: Json
    total: int
    kept: bool
    barred: list[str]
    bars: str
    fragment: str | None
    timeout_ms: int
    deadline: int
    pool: str
    lease: str
    share: int
    max_in_flight: int
    claim: ClaimBounds
    problem: shapes.ErrorObject
    place: str


class LeaseMoved(TypedDict, total=False):
    """`lease.granted`, `lease.returned`, `lease.expired`, `lease.closed`; `lo` and `hi`: of a chunk.

    `claim`: the lease is to claim the batch of this number.
    """

    lease: str
    lo: int
    hi: int
    claim: int
    share: int
    epoch: int
    takeovers: int
    why: str


class StepStarted(TypedDict, total=False):
    """`step.started`."""

    worker: str
    lease: str
    epoch: int


class Checkpointed(TypedDict, total=False):
    """`step.checkpointed`."""

    frames: dict[str, shapes.Checkpoint]
    lease: str


class Claimed(TypedDict, total=False):
    """`loop.claimed`, `loop.claim.failed`; `rows` may be a marker."""

    number: int
    key: str
    count: int
    rows: Json
    last: Json
    error: shapes.ErrorObject


class TaskParked(TypedDict, total=False):
    """`task.parked`."""

    until: int | None
    signal: str | None
    approval: str | None
    child: str | None
    call: shapes.ChildCall | None
    key: str | None
    wait: bool
    aside: bool  # the input of the call is a marker
    expires: int | None
    within: int | None


class TaskResumed(TypedDict, total=False):
    """`task.resumed`."""

    output: shapes.Output
    label: str
    consumed: int
    dropped: bool


class ChildWaiting(TypedDict):
    """`child.waiting`."""

    child: str
    waits: bool
    child_seq: int


class TaskDone(TypedDict, total=False):
    """`task.done`."""

    output: shapes.Output
    do: str
    rule: int | str
    before: int | str
    seen: shapes.ScopeValues
    set: shapes.Patch
    delay: float
    to: str
    logs: list[str]


class LoopStarted(TypedDict, total=False):
    """`loop.started`."""

    total: int
    max_in_flight: int
    chunk: int | None


class RunEnded(TypedDict, total=False):
    """`step.done`, `step.failed`, `loop.done`: what the worker says, and what the server adds."""

    output: shapes.Output
    error: shapes.ErrorObject | None
    writes: shapes.Patch
    step: JsonObject
    iter: JsonObject
    results: dict[str, shapes.Output]
    set: shapes.Patch
    left_out: list[str]
    result: bool
    keep: bool
    fragment: str
    was: str
    failed_iterations: int


class Patched(TypedDict, total=False):
    """`ctx.patched`."""

    patch: shapes.Patch
    origin: str
    to: str


class ArcRecord(TypedDict, total=False):
    """What an arc was asked, what it saw, and what it wrote when it was taken."""

    step: str
    matched: bool
    asked: bool
    seen: shapes.ScopeValues
    set: shapes.Patch
    args: JsonObject


class Routed(TypedDict, total=False):
    """`next.evaluated`; `error` and `kind` when the arcs could not be evaluated."""

    event: str
    arcs: list[ArcRecord]
    taken: list[str]
    failure: shapes.Failure
    fails: shapes.ErrorObject
    error: str
    kind: str


class Extended(TypedDict, total=False):
    """`workflow.extended`."""

    step: str
    steps: list[JsonObject]
    origin: shapes.FragmentOrigin


class Rejected(TypedDict, total=False):
    """`event.rejected`."""

    event: str
    at: str
    why: str
    lease: str

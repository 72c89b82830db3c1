"""What goes in and out of the core: messages, commands, and the orders and reports of workers.

Plain data. A message and the state give a decision; the shells move these and never interpret them.
"""

from typing import Literal

import msgspec

from noetl.core import shapes
from noetl.core.event import Event
from noetl.json_value import Json, JsonObject


class Start(msgspec.Struct, tag="start", omit_defaults=True):
    """A request to run a playbook, already resolved; `problem` is why it cannot run."""

    path: str
    hash: str
    engine: str
    version: int | None = None
    payload: Json = None
    workload: JsonObject | None = None
    diagnostics: list[JsonObject] = []
    problem: shapes.ErrorObject | None = None
    parent: shapes.Parent | None = None
    idempotency_key: str | None = None
    retry_of: str | None = None
    kept: shapes.Retained | None = None  # what a retry or rerun keeps of the earlier execution
    keeps: list[str] = []  # the executions whose payloads may be read of that
    continued_from: shapes.Continuation | None = None  # the one whose log had become long
    until: str | None = None
    by: str = "cli"
    trigger: shapes.TriggerFacts | None = None  # None: asked for by hand, or by the parent


class Report(msgspec.Struct, tag="report", omit_defaults=True):
    """What a worker did under a lease since its last report."""

    lease: str
    epoch: int
    worker: str
    batch_id: str
    events: list[Event] = []
    frames: dict[str, shapes.Checkpoint] = {}  # checkpoints of pipelines by address
    returned: bool = False  # the lease is handed back: drain or pause
    final: bool = False  # nothing more comes under this lease


class Control(msgspec.Struct, tag="control", omit_defaults=True):
    """An operator's or the CLI's wish."""

    what: Literal["pause", "resume", "cancel", "signal", "recover"]
    by: str = "cli"
    why: str | None = None
    name: str | None = None
    payload: Json = None
    id: str | None = None  # tells it from another that wishes the same; None: from before that was kept


class Expire(msgspec.Struct, tag="expire", omit_defaults=True):
    """Leases that nobody carries on: their worker fell silent, or the order never came to one."""

    leases: dict[str, int] | list[str]  # epochs by lease; a list, as older logs have it: the current ones
    why: Literal["silent", "lost"] = "silent"  # only silence counts as a takeover


class Tick(msgspec.Struct, tag="tick"):
    """Time has passed; whatever is due by now is done."""


class ChildEnded(msgspec.Struct, tag="child", omit_defaults=True):
    """A child execution is over."""

    execution_id: str
    status: str
    output: Json = None
    error: shapes.ErrorObject | None = None


class ChildWaits(msgspec.Struct, tag="child_waits", omit_defaults=True):
    """A child execution has come to wait itself, or goes on; `seq` tells the newer of two such messages."""

    execution_id: str
    seq: int
    waits: bool = False


Message = Start | Report | Control | Expire | Tick | ChildEnded | ChildWaits


class Dispatch(msgspec.Struct, tag="dispatch"):
    """Hand a lease to a worker of a pool."""

    lease: str
    pool: str


class Recall(msgspec.Struct, tag="recall", omit_defaults=True):
    """Tell a lease's worker to stop: at once, or at the next task boundary if it is to come back."""

    lease: str
    epoch: int
    worker: str | None = None
    give_back: bool = False
    why: str = ""


class Deliver(msgspec.Struct, tag="deliver"):
    """Give a pipeline that waits inside a held lease its answer."""

    lease: str
    address: str
    task: str  # which task of the pipeline it answers, see `waits_as`
    output: shapes.Output


def waits_as(label: str, visit: int, attempt: int) -> str:
    """What a parked task is called, so that an answer meant for an earlier one is not taken for its own."""
    return f"{label}.{visit}.{attempt}"


class StartChild(msgspec.Struct, tag="start_child", omit_defaults=True):
    """Start a child execution under an id that a repeat finds again."""

    execution_id: str
    path: str
    version: int | None = None
    payload: JsonObject | None = None
    parent: shapes.Parent | None = None


class ControlChild(msgspec.Struct, tag="control_child"):
    """Cancel, pause or resume a child execution."""

    execution_id: str
    what: Literal["cancel", "pause", "resume"]
    why: str = ""


class TellParent(msgspec.Struct, tag="tell_parent"):
    """Tell the parent execution that this one is over, or whether it waits."""

    execution_id: str
    message: ChildEnded | ChildWaits


Command = Dispatch | Recall | Deliver | StartChild | ControlChild | TellParent


class Payload(msgspec.Struct):
    """A payload to write to the result store before the events that name it are committed."""

    key: str
    body: bytes


class Answer(msgspec.Struct, omit_defaults=True):
    """What the sender of a message is told."""

    accepted: bool = True
    why: str = ""
    seq: int = 0


class Successor(msgspec.Struct):
    """The execution that goes on where this one ends; it begins in the commit that ends this one."""

    execution_id: str
    start: Start


class Decision(msgspec.Struct):
    """What follows from a message: events to commit, payloads to write before, commands for after."""

    events: list[Event] = []
    commands: list[Command] = []
    payloads: list[Payload] = []
    answer: Answer = msgspec.field(default_factory=Answer)
    successor: Successor | None = None


class LoopOrder(msgspec.Struct, omit_defaults=True):
    """The iterations of an order: items of indexes lo..hi-1, and which of them are finished already."""

    total: int
    lo: int
    hi: int
    share: int
    items: list[Json] = []
    finished: dict[
        str, shapes.IterationRecord
    ] = {}  # index -> outcome of an iteration that need not run again


class ClaimOrder(msgspec.Struct, omit_defaults=True):
    """The claim of an order: which batch, how many rows, what the one before ended with.

    The key stays the same when the claim has to be made again.
    """

    number: int
    batch: int
    key: str
    last: Json = None  # the last row of the batch before


class WorkOrder(msgspec.Struct, omit_defaults=True):
    """Everything a worker needs to run a lease: no secrets, and of what is large where it rests."""

    execution_id: str
    lease: str
    epoch: int
    run: str
    step: str
    program: str  # content hash of the playbook
    pool: str = "default"
    fragments: list[shapes.FragmentSteps] = []
    workload: JsonObject | None = None
    ctx: JsonObject = {}
    input: JsonObject | None = None
    args: JsonObject = {}
    step_scope: JsonObject = {}
    results: dict[str, shapes.Output] = {}  # finished steps that the step's templates mention
    loop: LoopOrder | None = None
    claim: ClaimOrder | None = None  # the order is to claim the next items of the loop
    frames: dict[str, shapes.Checkpoint] = {}
    outcomes: dict[str, shapes.IterationRecord] = {}
    answers: dict[str, shapes.Output] = {}  # answers to parked pipelines by address
    waiting: list[str] = []  # addresses of parked pipelines that have no answer yet
    answered: list[str] = []  # addresses of those that have one and have not taken it
    trigger: JsonObject | None = None  # what started the execution, where the step's templates mention it
    started: bool = False  # a worker has begun the run before
    aside: bool = False  # values of its scopes rest in the result store: markers stand for them
    stores_call_input: bool = False  # the server takes the input of a child from there; older ones do not

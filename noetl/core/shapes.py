"""What the engine itself writes into events, orders and snapshots has these types.

At run time those of structs are mappings and nothing more: msgspec decodes a log by the annotations of its
structs, and is not to look inside, nor to drop what a newer engine has added.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from noetl.json_value import Json, JsonObject


def described(name: str) -> Meta:
    """What a mapping is called in the OpenAPI document, which alone says what is in it."""
    return Meta(extra_json_schema={"$ref": f"#/components/schemas/{name}"})


def one_of(*names: str) -> Meta:
    """The words that a text of an answer can be."""
    return Meta(extra_json_schema={"enum": sorted(names)})


Write: TypeAlias = list[Any]  # [path, value]: no type says of a list what each of its items is
Patch: TypeAlias = list[Write]
PackPlace: TypeAlias = list[Any]  # [key, index]: the pack that an output is in, and where


class LoopCounts(TypedDict):
    """Iterations of a loop that is on its way by state; `total` is null while more may be claimed."""

    total: int | None
    done: int
    failed: int
    running: int
    queued: int
    claimed: NotRequired[int]
    batches: NotRequired[int]


class RunError(TypedDict, total=False):
    """Why something failed, and where."""

    kind: str
    code: str | None
    message: str
    retryable: bool
    details: dict[str, Any]  # as the kind has it, docs/reference/error-kinds.md
    step: str
    task: str
    attempt: int
    iteration: int | list[int]
    shortened: bool


class Locator(TypedDict, total=False):
    """Where in the result store a payload is."""

    store: str
    key: str


class StoredMeta(TypedDict, total=False):
    """What is known of a payload without reading it."""

    content_type: str
    bytes: int
    sha256: str
    ttl: str
    preview: str
    schema_hint: JsonObject


class StoredRef(TypedDict):
    """A reference to a payload of the result store."""

    type: str
    locator: Locator
    auth_reference: str | None
    meta: StoredMeta


class ParentOf(TypedDict, total=False):
    """The run of another execution that called this one."""

    execution_id: str
    run: str
    at: str
    depth: int
    waits: bool
    path: str


if TYPE_CHECKING:
    ScopeValues: TypeAlias = Mapping[str, object]  # what names mean: JSON, envelopes, why a value is gone

    ErrorObject: TypeAlias = RunError
    Reference: TypeAlias = StoredRef
    Parent: TypeAlias = ParentOf

    class UncheckedReference(TypedDict):
        """A reference as anyone may have written it."""

        type: Json
        locator: Json
        auth_reference: Json
        meta: Json

    Marker = TypedDict("Marker", {"$stored": Reference, "$over": NotRequired[Patch]})
    """Stands among kept values for one in the result store; `$over`: what was written below it since."""

    class IterationError(TypedDict):
        """The error of one iteration among those of its loop."""

        index: int
        error: ErrorObject | None

    class LoopTotals(TypedDict, total=False):
        """How the iterations of a loop ended."""

        total: int
        done: int
        failed: int
        skipped: int
        batches: int  # of a loop that claims its items
        errors: list[IterationError]

    _Marks = TypedDict(
        "_Marks", {"$logs": list[str], "$last_lines": list[str], "$answered": bool}, total=False
    )

    class Output(_Marks, total=False):
        """The envelope of what a task, a step or a child produced."""

        status: str
        data: Json
        ref: Reference
        part: PackPlace  # of an iteration
        error: ErrorObject
        meta: JsonObject
        http: JsonObject
        pg: JsonObject
        py: JsonObject
        loop: LoopTotals | None
        results: dict[str, "Output"]

    class ArcEvent(TypedDict, total=False):
        """The event that a token carries, as arcs and the steps behind them read it."""

        name: str
        step: str | None
        data: "ArcEventData"

    class ArcEventData(TypedDict, total=False):
        """What became of the run that the event tells of."""

        output: Output
        error: ErrorObject | None
        loop: LoopTotals | None

    class TriggerFacts(TypedDict, total=False):
        """What started an execution; ticks are moments in UTC."""

        kind: str
        name: str | None
        tick: str | None
        previous_tick: str | None
        payload: Json
        by: str | None

    class Continuation(TypedDict):
        """Where an execution goes on from: the one before it, the first of all, how many events they have."""

        execution_id: str
        first: str
        events: int

    class ChildCall(TypedDict, total=False):
        """The playbook that a task calls."""

        path: str
        version: int | None
        input: JsonObject
        wait: bool

    class Failure(TypedDict, total=False):
        """A failure that an arc took, and whether its guard asked about it."""

        step: str
        error: ErrorObject
        taken_by: str
        answered: bool

    class Signal(TypedDict):
        """A signal that nothing has taken yet."""

        name: str
        payload: Json

    class IterationRecord(TypedDict, total=False):
        """How an iteration ended."""

        output: Output
        writes: Patch
        error: ErrorObject

    class Checkpoint(TypedDict, total=False):
        """A pipeline at a task boundary: enough to go on from there."""

        pc: str | None
        visits: dict[str, int]
        passed: dict[str, int]
        runs: int
        attempt: int
        answered: int
        unsure: bool
        waiting: str | None
        inside: str | None
        call_ends: int | None
        prev: Json
        output: Output | None
        iter: JsonObject
        step: JsonObject
        results: dict[str, Output]
        writes: Patch
        sent: Patch

    class FragmentOrigin(TypedDict, total=False):
        """The run that asked for a fragment, as its arcs will need it."""

        args: JsonObject
        input: JsonObject | None
        step: JsonObject
        iter: JsonObject
        barred: list[str]
        fragment: str | None

    class FragmentEnd(TypedDict):
        """The event that ended the last run of a fragment."""

        name: str
        step: str
        output: Output

    class FragmentSteps(TypedDict):
        """The steps that a run added to the workflow."""

        origin: str
        steps: list[JsonObject]

    class RunCount(TypedDict, total=False):
        """How often a step ran and how its latest run ended."""

        runs: int
        status: str

    class RetainedBatch(TypedDict, total=False):
        """Rows that were claimed: how many, and themselves unless all of them are done; the last of them."""

        count: int
        rows: Json
        last: Json

    class RetainedLoop(TypedDict):
        """The iterations of a loop that need not run again, by index."""

        total: int
        collection: Json
        iterations: dict[str, IterationRecord]
        batches: NotRequired[list["RetainedBatch"]]  # of a loop that claims its items

    _From = TypedDict("_From", {"from": str | None}, total=False)

    class TokenParts(_From, total=False):
        """A token as it is put on its way."""

        step: str
        from_run: str | None
        event: "ArcEvent"
        args: JsonObject
        barred: list[str]
        fragment: str | None
        loop: RetainedLoop

    class Retained(TypedDict):
        """What a retry or rerun begins with."""

        state: "RetainedState"
        tokens: list[TokenParts]

else:
    ScopeValues = Mapping[str, Any]
    ErrorObject = Annotated[dict, described("RunError")]
    Reference = Annotated[dict, described("StoredRef")]
    Parent = Annotated[dict, described("ParentOf")]
    UncheckedReference = Marker = dict
    IterationError = LoopTotals = Output = ArcEvent = ArcEventData = ChildCall = dict
    Failure = Signal = IterationRecord = Checkpoint = FragmentOrigin = FragmentEnd = FragmentSteps = dict
    RunCount = RetainedBatch = RetainedLoop = TokenParts = Retained = Continuation = TriggerFacts = dict


class RetainedState(TypedDict, total=False):
    """What a retry or rerun keeps of the state of the execution before it."""

    ctx: JsonObject
    results: dict[str, Output]
    steps: dict[str, RunCount]
    failures: list[Failure]
    signals: list[Signal]
    output: Json
    failed_iterations: int

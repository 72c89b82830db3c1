"""The one declaration of the language's keys: for each place, what may stand there and what it must be.

Only tables live here: the document, executor, step, loop and router. Older spellings are not listed.
"""

from noetl.dsl.grammar.task import LIMITS, RESULT, SCOPES, TIMEOUT, VALIDATE
from noetl.dsl.grammar.types import (
    PROSE,
    SECONDS,
    Assigns,
    Choice,
    Const,
    Either,
    Flag,
    Free,
    FreeMap,
    Guard,
    Identifier,
    Key,
    Layer,
    ListOf,
    Number,
    Record,
    Rules,
    Span,
    Special,
    Tasks,
    Text,
    reserved,
)

API_VERSION = "noetl.io/v2"
DOCUMENT_KIND = "Playbook"
COMPILED_LABEL = "noetl.io/compiled"

READ_ONLY = ("workload", "keychain", "input", "args", "output", "outcome", "event", "execution_id")
JINJA_NAMES = (
    *("range", "dict", "lipsum", "cycler", "joiner", "namespace", "self"),
    *("true", "false", "none", "True", "False", "None"),
)
RESERVED_NAMES = frozenset({*SCOPES, *READ_ONLY, *JINJA_NAMES})
ITERATION_NAMES = frozenset({"parent", "index", "count"})  # bound by every loop, never written

PROFILES = ("auto", "local", "distributed")
CONTINUE_LEAST, CONTINUE_MOST = 10, 1_000_000  # events: a few begin an execution, a million are long to read
EMITTED = ("step.done", "step.failed", "loop.done")
REDUCERS = ("sum", "min", "max", "append", "union", "merge", "first", "last")

# ---- executor -------------------------------------------------------------------------------------------

EXECUTOR_POLICY = Record(
    "an executor's policy",
    {
        "defaults": Key(
            Record(
                "policy.defaults",
                {
                    "timeouts": Key(TIMEOUT, "The timeout of every task that has none."),
                    "resources": Key(FreeMap(), "Resource hints of every task."),
                },
            ),
            "Defaults for every task.",
        ),
        "results": Key(
            Record(
                "policy.results",
                {"reference_first": Key(Flag(), "Store every payload by reference.")},
            ),
            "How results are kept.",
        ),
        "limits": Key(
            Record("policy.limits", {"max_payload_bytes": LIMITS.keys["max_payload_bytes"]}),
            "Limits for every step.",
        ),
        "sla": Key(
            Record(
                "policy.sla",
                {"expected": Key(Span(), "How long one should take, as in 10m.", required=True)},
            ),
            "When an execution counts as late, for notifications.",
        ),
        "placement": reserved("Where work may run."),
        "cost": reserved("A cost model."),
        "quantum": reserved("Quantum backends."),
    },
)

EXECUTOR_SPEC = Record(
    "executor.spec",
    {
        "entry_step": Key(Text(template=False), "The step the execution starts at."),
        "final_step": Key(Text(template=False), "The step whose data is the execution's output."),
        "on_failure": Key(
            Choice(("stop", "drain")), "Stop at a failure no arc takes, or let branches finish."
        ),
        "pool": Key(Text(), "The worker pool of steps that name none."),
        "trace": Key(Choice(("full", "steps", "errors")), "How much task detail is kept afterwards."),
        "result": Key(RESULT, "Where large payloads go."),
        "timeout": Key(TIMEOUT, "The timeout of every task that has none."),
        "limits": Key(LIMITS, "Bounds of every step."),
        "policy": Key(EXECUTOR_POLICY, "Defaults for the whole execution."),
        "no_next_is_error": reserved("Treat a step without next as an error."),
        "sandbox": reserved("Sandbox settings."),
        "telemetry": reserved("Telemetry defaults."),
    },
    advice={"next_mode": "write: next: {spec: {mode: …}} in every step that needs it"},
)

EXECUTOR = Record(
    "executor",
    {
        "profile": Key(Choice(PROFILES), "Where the execution wants to run."),
        "version": Key(Either((Text(template=False), Number(template=False)), says="a version"), "Recorded."),
        "requires": Key(
            Record(
                "executor.requires", {"tools": Key(ListOf(Text(template=False)), "Kinds that must be there.")}
            ),
            "What must be installed.",
        ),
        "spec": Key(Layer(EXECUTOR_SPEC), "The outermost layer of every spec."),
    },
)

# ---- loop -----------------------------------------------------------------------------------------------

SCHEDULING = ("mode", "max_in_flight")  # keys of loop.spec that may also stand in its policy
LOOP_POLICY = Record(
    "a loop's policy",
    {
        "exec": Key(
            Choice(("local", "distributed")), "One lease for the whole loop, or chunks over the pool."
        ),
        "reduce": Key(Special("reduce"), "How writes of iterations to one path are combined."),
        "ordering": reserved("Ordering hints."),
        "backpressure": reserved("Backpressure."),
        "partitioning": reserved("Partitioning."),
    },
)

LOOP_SPEC = Record(
    "loop.spec",
    {
        "mode": Key(Choice(("sequential", "parallel")), "One at a time in order, or several at once."),
        "max_in_flight": Key(Number(integer=True, least=1), "Iterations at any moment; 10 by default."),
        "chunk": Key(Number(integer=True, least=1), "Iterations per lease when distributed."),
        "timeout": Key(TIMEOUT, "The timeout of every task of an iteration that has none."),
        "limits": Key(LIMITS, "Bounds of every iteration."),
        "result": Key(RESULT, "Where large payloads go."),
        "policy": Key(LOOP_POLICY, "Placement and reducers."),
    },
)

_LOOP_KEYS: dict[str, Key] = {
    "in": Key(
        Special("collection"),
        "The collection: a list, a mapping or a template; or {claim: …, until: empty}.",
        required=True,
    ),
    "iterator": Key(Identifier("iterator"), "The item's name under iter.", required=True),
    "spec": Key(Layer(LOOP_SPEC), "How iterations are scheduled, and defaults for their tasks."),
}
LOOP = Record(
    "loop",
    _LOOP_KEYS,
    advice={
        "collection": "write: in: …",
        "items": "write: in: …",
        "over": "write: in: …",
        "element": "write: iterator: …",
        "as": "write: iterator: …",
        "mode": "write: spec: {mode: …}",
        "max_in_flight": "write: spec: {max_in_flight: …}",
        "chunk": "write: spec: {chunk: …}",
        "policy": "write: spec: {policy: …}",
        "reduce": "write: spec: {policy: {reduce: …}}",
    },
)
_LOOP_KEYS["loop"] = Key(LOOP, "An inner loop; its `in` may use the outer item.")

# ---- step -----------------------------------------------------------------------------------------------

ADMIT_THEN = Record("an admission rule's then", {"allow": Key(Flag(), "Admit the token or refuse it.", True)})

ADMIT = Record(
    "admit",
    {
        "rules": Key(Rules(), "Rules in order; the first whose when holds decides.", required=True),
        "mode": reserved("exclusive or inclusive."),
    },
)

FAILURE = Record(
    "failure",
    {"mode": Key(Choice(("fail_fast", "best_effort")), "What a failed iteration does to the loop.")},
)

STEP_POLICY = Record(
    "a step's policy",
    {
        "admit": Key(ADMIT, "Whether a token may enter."),
        "lifecycle": Key(
            Record(
                "lifecycle",
                {
                    "timeout_s": Key(SECONDS, "Seconds from the first start, over retries and waits."),
                    "deadline_s": Key(SECONDS, "Seconds from the start of the execution."),
                },
            ),
            "How long the step may take.",
        ),
        "failure": Key(FAILURE, "What a failure does."),
        "emit": Key(
            Record(
                "emit",
                {
                    "events": Key(ListOf(Choice(EMITTED), least=1), "What is told.", required=True),
                    "to": Key(ListOf(Text(template=False), least=1), "Which notifications.", required=True),
                },
            ),
            "Who is told how this step ends.",
        ),
        "tracing": reserved("Tracing."),
        "quotas": reserved("Quotas."),
        "compensation": reserved("Compensation."),
    },
)

SYNTHESIZE = Record(
    "synthesize",
    {
        "from": Key(Text(), "Where the workflow fragment is in the output.", required=True),
        "limits": Key(
            Record(
                "synthesize.limits",
                {
                    "max_steps": Key(
                        Number(integer=True, least=1, template=False), "Steps at most; 50 by default."
                    ),
                    "kinds": Key(ListOf(Text(template=False)), "The kinds a fragment may use."),
                },
            ),
            "Bounds of the fragment.",
        ),
    },
)

CONTINUE = Record(
    "continue",
    {
        "after_events": Key(
            Number(integer=True, least=CONTINUE_LEAST, most=CONTINUE_MOST, template=False),
            "Events of the log from which on the execution goes on as another; 50000 by default.",
        ),
        "input": Key(FreeMap(), "What lies over the workload of the one that goes on."),
    },
)

STEP_SPEC = Record(
    "step.spec",
    {
        "join": Key(Choice(("sync", "each", "all", "first")), "How tokens of several arcs meet."),
        "pool": Key(Text(), "The worker pool."),
        "timeout": Key(SECONDS, "Seconds the step may take; the same as policy.lifecycle.timeout_s."),
        "synthesize": Key(SYNTHESIZE, "Extend the workflow with a fragment this step returns."),
        "continue": Key(CONTINUE, "Go on here with a fresh log once this one is long."),
        "limits": Key(LIMITS, "Bounds of this step."),
        "result": Key(RESULT, "Where large payloads go."),
        "validate": Key(VALIDATE, "JSON Schemas of input and output."),
        "policy": Key(STEP_POLICY, "Admission, lifecycle, failure."),
        "lease": reserved("Lease settings."),
    },
)

ARC = Record(
    "an arc",
    {
        "step": Key(Text(template=False), "The target step.", required=True),
        "when": Key(
            Guard(), "Whether the arc is taken, such as {{ event.ok }} or {{ event.failed }}; absent: always."
        ),
        "set": Key(Assigns(("ctx",)), "What is written to ctx when the arc is taken."),
        "args": Key(FreeMap(), "The token's payload in the older spelling."),
        "spec": reserved("Arc settings."),
    },
    advice={
        "to": "write: step: …",
        "target": "write: step: …",
        "condition": "write: when: …",
        "input": "write: set: {ctx.…: …}, and read it in the input of the target step",
        "then": "an arc leads to one step: write {step: …, when: …}",
    },
)

ROUTER_SPEC = Record(
    "next.spec",
    {
        "mode": Key(Choice(("exclusive", "inclusive")), "The first arc that holds, or every one."),
        "policy": reserved("Routing hints."),
    },
)

ROUTER = Record(
    "next",
    {
        "spec": Key(ROUTER_SPEC, "How arcs are chosen."),
        "arcs": Key(ListOf(ARC), "The outgoing arcs in order.", required=True),
    },
    advice={"mode": "write: spec: {mode: …}"},
)

STEP = Record(
    "a step",
    {
        "step": Key(Identifier("step"), "The name: unique in the workflow.", required=True),
        "desc": Key(PROSE, "What this step is for."),
        "input": Key(FreeMap(whole=True), "Rendered when the step is scheduled."),
        "spec": Key(Layer(STEP_SPEC), "Knobs and policy, and defaults for the step's tasks."),
        "loop": Key(LOOP, "Run the pipeline once per item."),
        "tool": Key(Tasks(single=True), "One task, or an ordered list."),
        "output": Key(Free(), "Replaces output.data before the step's set."),
        "set": Key(Assigns(SCOPES), "What is written when the step has ended."),
        "next": Key(ROUTER, "Where tokens go."),
    },
    advice={
        "args": "write: input",
        "name": "write: step",
        "join": "write: spec: {join: …}",
        "timeout": "write: spec: {timeout: …}",
        "retry": "retry is a task's: spec: {policy: {rules: [{when: …, then: {do: retry}}]}}",
        "policy": "write: spec: {policy: …}",
        "kind": "write: tool: {kind: …}",
        "type": "write: tool: {kind: …}",
        "arcs": "write: next: {arcs: […]}",
    },
)

BLOCK = Record(
    "a workbook block",
    {
        "input": Key(FreeMap(), "Defaults that the caller's input overlays."),
        "loop": Key(LOOP, "Run the block's pipeline once per item."),
        "tool": Key(Tasks(single=True), "One task, or an ordered list.", required=True),
        "set": Key(Assigns(("ctx", "step")), "What is written when the block has ended."),
        "output": Key(Free(), "Replaces output.data."),
    },
)

PLAIN = Text(template=False)

# ---- root -----------------------------------------------------------------------------------------------

METADATA = Record(
    "metadata",
    {
        "name": Key(PLAIN, "The playbook's name.", required=True),
        "path": Key(PLAIN, "Its path in the catalog.", required=True),
        "version": Key(Either((PLAIN, Number(template=False)), says="a version"), "Its version."),
        "description": Key(PROSE, "What it does."),
        "labels": Key(FreeMap(template=False), "Labels."),
        "tags": Key(ListOf(PLAIN), "Tags."),
    },
)

ROOT = Record(
    "the playbook",
    {
        "apiVersion": Key(Const(API_VERSION), "The language's version.", required=True),
        "kind": Key(Const(DOCUMENT_KIND), "The document's kind.", required=True),
        "metadata": Key(METADATA, "Name and path.", required=True),
        "keychain": Key(Special("keychain"), "The secrets the playbook needs."),
        "executor": Key(EXECUTOR, "How the execution runs."),
        "workload": Key(FreeMap(template=False), "Defaults that the request is merged over."),
        "workflow": Key(ListOf(STEP, least=1), "The steps.", required=True),
        "workbook": Key(Special("workbook"), "Reusable blocks."),
    },
    advice={
        "steps": "write: workflow",
        "name": "write: metadata: {name: …, path: …}",
        "path": "write: metadata: {name: …, path: …}",
        "input": "write: workload",
    },
)

"""The keys of a test file, written with the words of the language's own grammar."""

from noetl.dsl.grammar.types import (
    PROSE,
    Choice,
    Either,
    Flag,
    FreeMap,
    Guard,
    Key,
    ListOf,
    Number,
    Record,
    Special,
    Text,
)

STATUSES = ("completed", "failed", "cancelled", "paused")
ANYTHING = Special("anything")
OWN_KEYS = FreeMap(template=False)
WORD = Text(template=False)
COUNT = Number(integer=True, least=0, template=False)
FROM_ONE = Number(integer=True, least=1, template=False)

ERROR = Record(
    "error",
    {
        "kind": Key(WORD, "The kind of the error, as in `http`.", required=True),
        "message": Key(PROSE, "The sentence."),
        "code": Key(ANYTHING, "The tool's own code."),
        "retryable": Key(Flag(), "Whether the tool says that another attempt may help."),
        "details": Key(OWN_KEYS, "Whatever else the tool says."),
    },
)

# Which of the calls of a task an answer is for.
WHICH = {
    "run": Key(FROM_ONE, "Only in this run of the step, from 1."),
    "iteration": Key(
        Either((COUNT, ListOf(COUNT, least=1)), "an index, or a list of them for nested loops"),
        "Only in this iteration, from 0.",
    ),
    "visit": Key(FROM_ONE, "Only on this visit of the task, from 1."),
    "attempt": Key(FROM_ONE, "Only for this attempt, from 1."),
}

ANSWER = Record(
    "an answer",
    {
        "data": Key(ANYTHING, "What the tool returns."),
        "error": Key(ERROR, "How the tool fails; without it the call is ok."),
        "http": Key(OWN_KEYS, "The answer as `output.http` has it."),
        "pg": Key(OWN_KEYS, "As `output.pg` has it."),
        "py": Key(OWN_KEYS, "As `output.py` has it."),
        "takes": Key(Number(least=0, template=False), "Seconds that the call takes, on the test's clock."),
        **WHICH,
        "repeat": Key(Flag(), "Whether it answers every call that fits; otherwise one."),
    },
    advice={"output": "write: data: …", "status": "an answer with an error fails, any other is ok"},
)

SIGNAL = Record(
    "a signal",
    {
        "name": Key(WORD, "The name that a task waits for.", required=True),
        "payload": Key(ANYTHING, "What the task is given."),
    },
)

EXPECTED_ERROR = Record(
    "expect.error",
    {name: Key(ANYTHING) for name in ("kind", "message", "code", "step", "task", "iteration", "attempt")},
)

EXPECTED_FAILURE = Record(
    "expect.failures",
    {
        "step": Key(WORD, "The step that failed."),
        "error": Key(EXPECTED_ERROR, "Fields of its error; of a message, a part is enough."),
        "taken_by": Key(WORD, "The step that the arc leads to which took the failure."),
        "answered": Key(Flag(), "Whether the arc's guard asked about the failure."),
    },
)

EXPECT = Record(
    "expect",
    {
        "status": Key(Choice(STATUSES), "How the execution ends; `completed` unless an error is expected."),
        "output": Key(ANYTHING, "What it ends with."),
        "error": Key(EXPECTED_ERROR, "Fields of its error; of a message, a part is enough."),
        "failures": Key(ListOf(EXPECTED_FAILURE), "The failures that arcs took, in order."),
        "ctx": Key(OWN_KEYS, "Keys of ctx at the end, dotted for deeper ones."),
        "steps": Key(
            Either((ListOf(WORD), OWN_KEYS), "a list of steps, or how often each ran"),
            "The steps that ran, in order; or by step, how often.",
        ),
        "calls": Key(OWN_KEYS, "By task: how many tool calls, or the input of each."),
        "arcs": Key(OWN_KEYS, "By arc, as in `start -> load`: how often it was taken."),
        "that": Key(
            ListOf(Guard()),
            "Conditions on output, error, failures, failed_iterations, ctx, workload and steps.",
        ),
    },
)

GIVEN = {
    "workload": Key(OWN_KEYS, "Merged over the playbook's workload."),
    "keychain": Key(OWN_KEYS, "By keychain entry or credential: its fields."),
    "given": Key(OWN_KEYS, "By task, as in `load.fetch`: the answer to its calls, or a list of answers."),
    "children": Key(OWN_KEYS, "By the path of a child playbook: its `given`."),
    "run": Key(ListOf(WORD), "Tool kinds that really run when no answer is given."),
}

TEST = Record(
    "a test",
    {
        "name": Key(PROSE, "What it shows.", required=True),
        "desc": Key(PROSE, "More about it."),
        **GIVEN,
        "signals": Key(ListOf(SIGNAL), "Signals and approvals that are sent to the execution."),
        "expect": Key(EXPECT, "What must come of it."),
    },
)

FILE = Record(
    "a test file",
    {
        "playbook": Key(WORD, "The playbook's file, from this file's folder.", required=True),
        "desc": Key(PROSE, "What the tests are about."),
        **GIVEN,
        "tests": Key(ListOf(TEST, least=1), "The tests.", required=True),
    },
    advice={"kind": "a test file has no kind", "apiVersion": "a test file has no apiVersion"},
)

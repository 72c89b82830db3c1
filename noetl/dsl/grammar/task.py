"""The grammar of a pipeline: tasks, their spec, the rules of a policy, and authoring sugar.

Only tables live here.
"""

from collections.abc import Mapping

from noetl.dsl.grammar.types import (
    PROSE,
    SECONDS,
    Assigns,
    Choice,
    Either,
    Flag,
    Free,
    FreeMap,
    Guard,
    Identifier,
    Key,
    Number,
    Record,
    Rules,
    Shape,
    Special,
    Tasks,
    Text,
    reserved,
)

SCOPES = ("ctx", "step", "iter")  # what `set` may write
DIRECTIVES = ("continue", "skip", "retry", "jump", "break", "fail")
BEFORE_DIRECTIVES = ("continue", "skip", "break", "jump", "fail")
SUGAR = ("while", "until", "choose", "paginate")

# ---- shared by several scopes ---------------------------------------------------------------------------

TIMEOUT = Either(
    (
        SECONDS,
        Record(
            "a timeout",
            {
                "connect": Key(SECONDS, "Seconds to reach the other side."),
                "read": Key(SECONDS, "Seconds to wait for an answer."),
            },
        ),
    ),
    says="a number of seconds or {connect, read}",
)

LIMITS = Record(
    "limits",
    {
        "max_task_runs": Key(
            Number(integer=True, least=1), "Tasks one pipeline may run; 100 000 by default."
        ),
        "max_payload_bytes": Key(
            Number(integer=True, least=1), "A payload above this is stored by reference."
        ),
        "max_takeovers": Key(
            Number(integer=True, least=0), "Takeovers without progress before the step fails."
        ),
        "max_response_bytes": Key(Number(integer=True, least=1), "The largest answer a tool reads."),
        "max_hydrate_bytes": Key(
            Number(integer=True, least=1), "The largest stored payload that a template reads."
        ),
    },
)

TASK_LIMITS = Record(
    "limits",
    {**LIMITS.keys, "max_visits": Key(Number(integer=True, least=0), "Visits of this task that may pass.")},
)

RESULT = Record(
    "result",
    {"store": Key(Either((Text(), FreeMap()), says="a name or a mapping"), "Where large payloads go.")},
)

VALIDATE = Record(
    "validate",
    {
        "input": Key(Special("json_schema"), "JSON Schema that the rendered input must satisfy."),
        "output": Key(Special("json_schema"), "JSON Schema that the output data must satisfy."),
    },
)

# ---- rules ----------------------------------------------------------------------------------------------

RETRY_OPTIONS: Mapping[str, Key] = {
    "attempts": Key(Number(integer=True, least=1), "Attempts in total; 3 by default."),
    "backoff": Key(Choice(("none", "linear", "exponential")), "How the delay grows from attempt to attempt."),
    "delay": Key(Special("delay"), "Seconds, a numeric string or an HTTP date; 1.0 by default."),
    "max_delay": Key(Number(least=0), "The longest delay in seconds; 300 by default."),
    "jitter": Key(Flag(), "Lengthen each delay by up to a quarter, at random."),
}
DIRECTIVE_OPTIONS: Mapping[str, Mapping[str, Key]] = {
    "continue": {},
    "skip": {},
    "retry": RETRY_OPTIONS,
    "jump": {"to": Key(Text(template=False), "The label to go on at.", required=True)},
    "break": {},
    "fail": {"message": Key(Free(), "What the failure says.")},
}
OPTION_OWNER: Mapping[str, str] = {
    option: directive for directive, options in DIRECTIVE_OPTIONS.items() for option in options
}
THEN_COMMON: Mapping[str, Key] = {
    "do": Key(Choice(DIRECTIVES), "The directive.", required=True),
    "set": Key(Assigns(SCOPES), "What is written when the rule matches."),
}
# ---- task -----------------------------------------------------------------------------------------------

TASK_POLICY = Record(
    "a task's policy",
    {
        "rules": Key(Rules(DIRECTIVES), "Rules in order; the first whose when holds decides."),
        "before": Key(Rules(BEFORE_DIRECTIVES), "Rules evaluated before the tool runs, once per visit."),
        "on_unmatched": Key(Choice(("continue", "by_status")), "What happens when no rule matches."),
        "mode": reserved("exclusive."),
        "after": reserved("Hooks after the task."),
        "finally": reserved("Hooks at the end."),
    },
    needs_one=("rules", "before"),
)

# What stands under the name of a kind in a spec, beside the kind's own knobs.
KIND_DEFAULTS = Record(
    "the kind's defaults",
    {
        "timeout": Key(TIMEOUT, "Seconds one attempt may take."),
        "limits": Key(TASK_LIMITS, "Bounds of this task."),
        "result": Key(RESULT, "Where a large payload goes."),
    },
)

TASK_SPEC = Record(
    "a task's spec",
    {
        **KIND_DEFAULTS.keys,
        "validate": Key(VALIDATE, "JSON Schemas of input and output."),
        "policy": Key(TASK_POLICY, "What to do with the output."),
    },
)

TASK = Record(
    "a task",
    {
        "name": Key(Identifier("task"), "The label: unique in the step."),
        "kind": Key(Text(template=False), "The tool kind.", required=True),
        "desc": Key(PROSE, "What this task is for."),
        "input": Key(FreeMap(whole=True), "What the tool receives."),
        "auth": Key(Text(), "A keychain or credential name."),
        "spec": Key(Special("task_spec"), "Knobs and policy."),
        "set": Key(Assigns(SCOPES), "What is written after an ok output."),
        "output": Key(Free(), "Replaces output.data after an ok output."),
    },
    advice={
        "when": 'write: spec: {policy: {before: [{when: "{{ not … }}", then: {do: skip}}]}}',
        "next": "routing belongs to the step; inside a pipeline use do: jump in spec.policy.rules",
        "retry": "write: spec: {policy: {rules: [{when: …, then: {do: retry, attempts: 3}}, …]}}",
        "loop": "a loop belongs to the step, or to a workbook block that this task calls",
        "policy": "write: spec: {policy: …}",
        "expr": 'write: spec: {policy: {before: [{when: "{{ not … }}", then: {do: skip}}]}}',
        "type": "write: kind",
        "label": "write: name",
        "vars": "write: set: {step.…: …}",
        "libs": "write import lines in the code; `noetl migrate FILE` does it",
        "return_step": "leave it out: the answer is the child's output, see executor.spec.final_step",
        "credential": "write: auth",
        "payload": "write: input: {json: …} for a request, input: {…} for a playbook",
        "workload": "write: input: {…}, which is laid over the workload of the playbook that is called",
        "output_select": "leave it out: all of the data can be read",
    },
)

# What stands beside `kind` in a call, for the kinds that say so.
CALL_KEYS: Mapping[str, Key] = {
    "path": Key(Text(), "The playbook to call: a catalog path, or a file."),
    "version": Key(
        Either((Text(), Number(integer=True, least=1)), says="a version"),
        "Its version; the newest by default.",
    ),
    "wait": Key(Flag(), "Wait for its end; true by default."),
    "block": Key(Text(template=False), "The workbook block to call; the task's name by default."),
}
CALL_NEEDS: Mapping[str, tuple[str, ...]] = {"playbook": ("path",)}

# ---- sugar ----------------------------------------------------------------------------------------------

_BODY = Key(Tasks(), "The tasks inside.", required=True)
SUGAR_RECORDS: Mapping[str, Shape] = {
    "while": Record(
        "while",
        {
            "when": Key(Guard(), "Checked before each round.", required=True),
            "do": _BODY,
            "max": Key(Number(integer=True, least=1), "Rounds at most; 1000 by default."),
        },
    ),
    "until": Record(
        "until",
        {
            "when": Key(Guard(), "Checked after each round.", required=True),
            "do": _BODY,
            "delay": Key(Number(least=0), "Seconds between rounds."),
            "max": Key(Number(integer=True, least=1), "Rounds at most; 500 by default."),
        },
    ),
    "choose": Special("branches"),
    "paginate": Record(
        "paginate",
        {
            "by": Key(Choice(("page", "offset", "cursor", "link")), "How pages follow one another."),
            "request": Key(Special("request"), "The task that fetches one page.", required=True),
            "params": Key(
                Record(
                    "paginate.params",
                    {
                        "page": Key(Text(template=False), "The page (or offset) parameter."),
                        "size": Key(Text(template=False), "The page size parameter."),
                        "cursor": Key(Text(template=False), "The cursor parameter."),
                        "offset": Key(Text(template=False), "The offset parameter."),
                    },
                ),
                "Request parameter names.",
            ),
            "start": Key(Free(), "The first page, offset or cursor."),
            "size": Key(Number(integer=True, least=1), "Items per page."),
            "items": Key(Text(), "The items of a page."),
            "more": Key(Guard(), "Whether another page follows."),
            "next": Key(Text(), "The next cursor."),
            "each": Key(Tasks(), "Tasks run once per page."),
            "max_pages": Key(Number(integer=True, least=1), "Pages at most; 10 000 by default."),
            "collect": Key(Flag(), "Make the item's data the list of all items."),
        },
    ),
}
SUGAR_ITEM = Record("a sugar item", {key: TASK.keys[key] for key in ("name", "desc")})
BRANCH = Record(
    "a branch of choose",
    {
        "when": Key(Guard(), "Whether this branch is taken.", required=True),
        "then": Key(Tasks(least=0), "The tasks of the branch.", required=True),
    },
)
ELSE_BRANCH = Record(
    "the else branch of choose", {"else": Key(Tasks(least=0), "The tasks otherwise.", required=True)}
)

"""The effective spec: kind defaults < executor < step < loop < task, and what is never inherited."""

import pytest

from noetl.dsl.effective_spec import LIMITS, effective_spec, limits, overlay, step_limits
from noetl.dsl.model import Loop, Step, Task
from noetl.dsl.yaml.tree import Map
from tests.unit.dsl.documents import HEAD, doc, read
from tests.unit.dsl.kinds import KINDS


def effective(executor: str = "{}", step: str = "{}", loop: str = "{}", task: str = "{}", kind: str = "http"):
    """The effective spec of the one task of a playbook with these specs."""
    text = doc(
        f"""
        - step: start
          spec: {step}
          loop: {{in: [1], iterator: x, spec: {loop}}}
          tool: {{kind: {kind}, input: {{url: 'http://a'}}, spec: {task}}}
        """,
        f"{HEAD}executor: {{spec: {executor}}}\n",
    )
    playbook = read(text).playbook
    assert playbook is not None
    (only,) = playbook.steps
    return effective_spec(playbook.executor, only, only.loop, only.tasks[0], KINDS.get(kind))


DEFAULT = {"timeout": {"connect": 10, "read": 60}}

LAYERS = {
    "the kind's defaults are the innermost layer": ({}, DEFAULT),
    "a task's scalar replaces a map": ({"task": "{timeout: 5}"}, {"timeout": 5}),
    "maps merge deeply": ({"task": "{timeout: {read: 5}}"}, {"timeout": {"connect": 10, "read": 5}}),
    "the executor's timeout is inherited": ({"executor": "{timeout: 7}"}, {"timeout": 7}),
    "the executor's defaults for a kind win over its general ones": (
        {"executor": "{timeout: {connect: 1, read: 2}, http: {timeout: {read: 3}, idempotency: true}}"},
        {"timeout": {"connect": 1, "read": 3}, "idempotency": True},
    ),
    "defaults for another kind do not apply": ({"executor": "{postgres: {pool_size: 3}}"}, DEFAULT),
    "policy.defaults are below everything else of the executor": (
        {"executor": "{policy: {defaults: {timeouts: 3, resources: {cpu: 1}}}}"},
        {"timeout": 3, "resources": {"cpu": 1}},
    ),
    "the executor's own timeout wins over policy.defaults": (
        {"executor": "{timeout: 4, policy: {defaults: {timeouts: 3}}}"},
        {"timeout": 4},
    ),
    "a step says what its tasks of a kind have": (
        {
            "executor": "{http: {timeout: {read: 3}}}",
            "step": "{http: {timeout: {connect: 4}, idempotency: true}}",
        },
        {"timeout": {"connect": 4, "read": 3}, "idempotency": True},
    ),
    "a loop's timeout is that of its tasks": ({"loop": "{timeout: 5}"}, {"timeout": 5}),
    "a loop wins over its step, and a kind over all kinds": (
        {"step": "{http: {timeout: 4}}", "loop": "{timeout: 5, http: {timeout: 6}}"},
        {"timeout": 6},
    ),
    "what a loop says of all kinds wins over what its step says of one": (
        {"step": "{http: {timeout: 4}}", "loop": "{timeout: 5}"},
        {"timeout": 5},
    ),
    "a task may name its kind, too": (
        {"loop": "{http: {timeout: 6}}", "task": "{http: {timeout: 7, idempotency: true}}"},
        {"timeout": 7, "idempotency": True},
    ),
    "what a task says itself wins": ({"task": "{timeout: 8, http: {timeout: 7}}"}, {"timeout": 8}),
    "a loop's limits reach its tasks": (
        {"step": "{limits: {max_task_runs: 5, max_takeovers: 2}}", "loop": "{limits: {max_task_runs: 6}}"},
        {**DEFAULT, "limits": {"max_task_runs": 6, "max_takeovers": 2}},
    ),
    "a step's timeout is not inherited": ({"step": "{timeout: 9}"}, DEFAULT),
    "a step's lifecycle is not inherited": ({"step": "{policy: {lifecycle: {timeout_s: 9}}}"}, DEFAULT),
    "no policy is inherited": (
        {
            "step": "{policy: {failure: {mode: best_effort}, admit: {rules: []}}}",
            "loop": "{policy: {exec: local}}",
        },
        DEFAULT,
    ),
    "a task's policy is not part of its knobs": ({"task": "{policy: {rules: []}}"}, DEFAULT),
    "what says how a step or loop is run is not inherited": (
        {
            "executor": "{entry_step: start, final_step: start, on_failure: drain, pool: p, trace: steps}",
            "step": "{join: each, pool: q, validate: {input: true}, lease: {}}",
            "loop": "{mode: parallel, max_in_flight: 3, chunk: 4}",
        },
        DEFAULT,
    ),
    "limits merge key by key over every scope": (
        {
            "executor": "{limits: {max_task_runs: 1, max_takeovers: 1}, policy: {limits: {max_payload_bytes: 1}}}",
            "step": "{limits: {max_task_runs: 2}}",
            "task": "{limits: {max_visits: 3}}",
        },
        {
            **DEFAULT,
            "limits": {"max_payload_bytes": 1, "max_task_runs": 2, "max_takeovers": 1, "max_visits": 3},
        },
    ),
    "the store of results merges": (
        {"executor": "{result: {store: {kind: s3, bucket: a}}}", "step": "{result: {store: {bucket: b}}}"},
        {**DEFAULT, "result": {"store": {"kind": "s3", "bucket": "b"}}},
    ),
    "templates stay templates": (
        {"task": "{timeout: '{{ workload.t }}'}"},
        {"timeout": "{{ workload.t }}"},
    ),
}


@pytest.mark.parametrize("specs, expected", LAYERS.values(), ids=LAYERS.keys())
def test_layers_overlay_from_the_kind_to_the_task(specs, expected):
    assert effective(**specs) == expected


@pytest.mark.parametrize(
    "outer, inner, expected",
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": 5}, {"a": 5}),
        ({"a": 5}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
    ],
)
def test_overlay_merges_maps_and_replaces_the_rest(outer, inner, expected):
    before = (dict(outer), dict(inner))
    assert overlay(outer, inner) == expected
    assert (outer, inner) == before


def test_the_effective_spec_is_plain_data():
    result = effective(task="{timeout: {read: 5}}")
    assert type(result) is dict
    assert type(result["timeout"]) is dict
    assert not isinstance(result["timeout"], Map)


def test_limits_have_defaults():
    assert limits({}) == LIMITS
    assert limits({"limits": {"max_takeovers": 0}}) == {**LIMITS, "max_takeovers": 0}
    assert limits({"limits": "{{ workload.limits }}"}) == LIMITS


def test_a_step_run_takes_its_limits_from_executor_and_step():
    text = doc(
        "- {step: start, spec: {limits: {max_task_runs: 2}}, tool: {kind: noop}}",
        f"{HEAD}executor: {{spec: {{limits: {{max_takeovers: 7}}}}}}\n",
    )
    playbook = read(text).playbook
    assert playbook is not None
    assert step_limits(playbook.executor, playbook.steps[0]) == {
        **LIMITS,
        "max_task_runs": 2,
        "max_takeovers": 7,
    }
    assert step_limits(playbook.executor, None)["max_task_runs"] == 100_000


def test_every_loop_around_a_task_is_a_layer():
    inner = Loop("{{ x }}", "y", spec={"limits": {"max_visits": 2}})
    outer = Loop([1], "x", inner=inner, spec={"limits": {"max_visits": 1, "max_takeovers": 1}})
    playbook = read(doc("- {step: start, tool: {kind: noop}}")).playbook
    assert playbook is not None
    spec = effective_spec(playbook.executor, Step("s"), outer, Task("t", "noop"), None)
    assert spec == {"limits": {"max_visits": 2, "max_takeovers": 1}}

"""Secrets that a step names, and those it does not."""

import pytest

from noetl.core.deciding.secret_names import names_secret
from noetl.core.state import Run, State
from tests.unit.core.build import ID, compiled

CHAIN = (
    "keychain: [{name: api, kind: bearer, credential: stored}, {name: other, kind: bearer, credential: x}]"
)
BLOCK = "workbook: {b: {tool: [{name: q, kind: http, auth: inside, input: {url: 'http://x'}}]}}"


def asked(task, name, root="keychain: []", **facts):
    program = compiled(
        f"- {{step: start, tool: {task}, next: {{arcs: [{{step: more}}]}}}}\n"
        "- {step: more, tool: {kind: http, auth: elsewhere, input: {url: 'http://x'}}}",
        root=root,
    )
    state = State(ID, workload=facts.pop("workload", {}), ctx=facts.pop("ctx", {}))
    return names_secret(program, state, Run("start.1", "start", **facts), name)


HTTP = "{kind: http, auth: %s, input: {url: 'http://x'}}"


@pytest.mark.parametrize(
    "task, name, may",
    [
        (HTTP % "api", "api", True),
        (HTTP % "api", "other", False),
        (HTTP % "api", "elsewhere", False),
        ("{kind: noop}", "api", False),
        ("{kind: noop, input: {x: '{{ keychain.api.token }}'}}", "api", True),
        ("{kind: noop, input: {x: '{{ keychain.api.token }}'}}", "other", False),
        ("{kind: noop, input: {x: '{{ keychain | length }}'}}", "other", True),
        ("{kind: noop, input: {x: '{{ keychain | length }}'}}", "stored", False),
        ("{kind: secrets, input: {name: api}}", "api", True),
        ("{kind: secrets, input: {name: api}}", "other", False),
        ("{kind: secrets, input: {name: 'db_{{ workload.env }}'}}", "db_prod", True),
        ("{kind: secrets, input: {name: 'db_{{ workload.env }}'}}", "prod", False),
        (HTTP % "'db_{{ workload.env }}'", "db_prod", True),
        (HTTP % "'db_{{ workload.env }}_ro'", "db_prod_rw", False),
        (HTTP % "'{{ workload.auth }}'", "api", True),
        (HTTP % "'{{ workload.auth }}'", "elsewhere", True),
        (HTTP % "'{{ workload.auth }}'", "unheard_of", False),
        ("{kind: resolve, input: {ref: '{{ ctx.ref }}'}}", "elsewhere", True),
        ("{kind: resolve, input: {ref: '{{ ctx.ref }}'}}", "unheard_of", False),
    ],
)  # fmt: skip
def test_a_step_may_ask_for_what_it_names(task, name, may):
    assert asked(task, name, CHAIN) is may


@pytest.mark.parametrize(
    "facts",
    [
        {"workload": {"auth": "given"}},
        {"ctx": {"deep": [{"auth": "given"}]}},
        {"input": {"auth": "given"}},
        {"args": {"auth": "given"}},
        {"collection": ["given"]},
    ],
)
def test_a_name_that_is_all_template_is_one_that_the_execution_was_given(facts):
    assert asked(HTTP % "'{{ auth }}'", "given", **facts)
    assert not asked(HTTP % "'{{ auth }}'", "give", **facts)


def test_a_step_that_calls_blocks_may_ask_for_what_they_name():
    assert asked("{kind: workbook, block: b}", "inside", BLOCK)
    assert not asked("{kind: noop}", "inside", BLOCK)


def test_a_name_in_a_list_of_an_input_counts():
    task = "{kind: noop, input: {x: [{auth: 'db_{{ workload.x }}'}, 1, 'db_{{ workload.y }}']}}"
    assert asked(task, "db_1")
    assert not asked(task, "other")


def test_a_name_deep_in_an_input_counts():
    task = "{kind: transfer, input: {source: {kind: postgres, auth: 'db_{{ workload.x }}', query: q}, target: {kind: file, path: x.csv}}}"
    assert asked(task, "db_1")
    assert not asked(task, "other")

"""A canonical tree becomes the model, and the model a tree that gives the same model again."""

import pytest

from noetl.dsl.build import build
from noetl.dsl.load import load_tree
from noetl.dsl.model import AdmitRule, Assign, Loop, Playbook, Rule, Synthesize
from noetl.dsl.yaml.tree import plain
from noetl.dsl.yaml.tree_edit import adopt
from tests.unit.dsl.documents import HEAD, doc, read
from tests.unit.dsl.kinds import KINDS

WHOLE = doc(
    """
    - step: start
      desc: all of it
      input: {a: "{{ workload.a }}"}
      spec:
        join: each
        pool: big
        synthesize: {from: "{{ output.data }}", limits: {max_steps: 5, kinds: [http]}}
        limits: {max_task_runs: 5}
        validate: {input: {type: object}}
        policy:
          admit: {rules: [{when: "{{ ctx.a }}", then: {allow: true}}, {else: {then: {allow: false}}}]}
          lifecycle: {timeout_s: 30, deadline_s: 60}
      tool:
        - name: fetch
          kind: http
          desc: a page
          input: {url: "http://a"}
          auth: token
          output: "{{ output.data.rows }}"
          set: {ctx.rows.first: "{{ output.data[0] }}", iter.n: 1}
          spec:
            timeout: {connect: 5}
            policy:
              before: [{when: "{{ ctx.stop }}", then: {do: skip}}]
              on_unmatched: by_status
              rules:
                - {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 5, backoff: linear, delay: 2, max_delay: 9, jitter: true, set: {step.n: 1}}}
                - {when: "{{ ctx.again }}", then: {do: jump, to: fetch}}
                - {else: {then: {do: fail, message: no}}}
        - {name: call, kind: playbook, path: a/b, version: 2, wait: false, input: {n: 1}}
      output: null
      set: {ctx.last: "{{ output.status }}"}
      next:
        spec: {mode: inclusive}
        arcs: [{step: rows, when: "{{ ctx.a }}", set: {ctx.b: 1}}, {step: start}]
    - step: rows
      spec: {policy: {failure: {mode: best_effort}}}
      loop:
        in: "{{ start.data }}"
        iterator: row
        spec: {mode: parallel, max_in_flight: 3, chunk: 7, policy: {exec: distributed, reduce: {ctx.n: sum}}}
        loop: {in: "{{ iter.row.cells }}", iterator: cell}
      tool: {kind: workbook, block: double}
    """,
    HEAD
    + """\
workload: {a: 1}
keychain: [{name: token, kind: env, env: TOKEN}]
executor:
  profile: local
  version: "2"
  requires: {tools: [http]}
  spec: {entry_step: start, final_step: rows, on_failure: drain, pool: small, trace: steps, timeout: 9, http: {timeout: 3}}
workbook:
  double: {input: {n: 1}, loop: {in: [1], iterator: x}, tool: {kind: noop}, output: 5, set: {ctx.z: 1}}
""",
)


@pytest.fixture
def whole() -> Playbook:
    loaded = read(WHOLE)
    assert [f for f in loaded.diagnostics if f.severity == "error"] == []
    assert loaded.playbook is not None
    return loaded.playbook


def test_every_part_of_the_document_has_its_place(whole):
    start, rows = whole.steps
    fetch, call = start.tasks
    assert (whole.name, whole.path, whole.entry) == ("case", "cases/case", "start")
    assert (start.join, start.pool, start.timeout_s, start.deadline_s) == ("each", "big", 30, 60)
    assert start.synthesize == Synthesize("{{ output.data }}", 5, ("http",))
    assert start.admit == (AdmitRule("{{ ctx.a }}", True), AdmitRule(None, False))
    assert (start.output, start.has_output, rows.has_output) == (None, True, False)
    assert start.spec == {"limits": {"max_task_runs": 5}}
    assert start.validate == {"input": {"type": "object"}}
    assert fetch.set == (
        Assign("ctx", ("rows", "first"), "{{ output.data[0] }}"),
        Assign("iter", ("n",), 1),
    )
    assert fetch.before == (Rule("{{ ctx.stop }}", "skip"),)
    assert fetch.rules is not None
    assert fetch.rules[0] == Rule(
        "{{ output.status == 'error' }}",
        "retry",
        set=(Assign("step", ("n",), 1),),
        attempts=5,
        backoff="linear",
        delay=2,
        max_delay=9,
        jitter=True,
    )
    assert fetch.rules[1:] == (Rule("{{ ctx.again }}", "jump", to="fetch"), Rule(None, "fail", message="no"))
    assert (fetch.on_unmatched, fetch.spec, fetch.auth) == ("by_status", {"timeout": {"connect": 5}}, "token")
    assert (call.call, call.input, call.rules) == (
        {"path": "a/b", "version": 2, "wait": False},
        {"n": 1},
        None,
    )
    assert [(arc.step, arc.when, arc.set) for arc in start.next.arcs] == [
        ("rows", "{{ ctx.a }}", (Assign("ctx", ("b",), 1),)),
        ("start", None, ()),
    ]
    assert start.next.mode == "inclusive"
    assert rows.failure_mode == "best_effort"
    assert rows.loop == Loop(
        "{{ start.data }}",
        "row",
        mode="parallel",
        max_in_flight=3,
        chunk=7,
        placement="distributed",
        reduce={"ctx.n": "sum"},
        inner=Loop("{{ iter.row.cells }}", "cell"),
    )
    assert (whole.executor.profile, whole.executor.version, whole.executor.timeout) == ("local", "2", 9)
    assert whole.executor.requires_tools == ("http",)
    assert whole.executor.spec == {"http": {"timeout": 3}}
    assert [(entry.name, entry.kind, entry.source) for entry in whole.keychain] == [
        ("token", "env", {"env": "TOKEN"})
    ]
    assert list(whole.workbook) == ["double"]
    assert whole.workbook["double"].has_output


def test_the_tree_of_a_model_gives_the_model_again(whole):
    tree = plain(whole.node)
    assert build(adopt(tree)) == whole
    assert load_tree(tree, kinds=KINDS).playbook == whole


def test_objects_remember_the_node_they_were_built_from(whole):
    step = whole.steps[0]
    assert WHOLE.splitlines()[step.node.at_key("step").line - 1] == "  - step: start"
    assert step.tasks[0].node.at("kind").line == step.tasks[0].node.at("name").line + 1


@pytest.mark.parametrize(
    "tree",
    [
        None,
        5,
        [],
        {},
        {"metadata": 5, "workflow": 5, "keychain": 5, "executor": 5, "workbook": 5, "workload": 5},
        {"workflow": [5, {}, {"step": 5, "tool": [5, {}], "next": 5, "set": 5, "loop": 5, "spec": 5}]},
        {"workflow": [{"step": "a", "spec": {"synthesize": 5, "policy": {"admit": {"rules": [5, {}]}}}}]},
        {
            "workflow": [
                {"step": "a", "tool": [{"spec": {"policy": {"rules": [{"else": 5}, {"then": {"do": 5}}]}}}]}
            ]
        },
        {
            "workflow": [
                {"step": "a", "next": {"arcs": [5, {}, {"step": 5}]}, "set": {"a": 1, "ctx": 2, "ctx.": 3}}
            ]
        },
        {"executor": {"spec": {"entry_step": 5}, "requires": {"tools": 5}, "profile": ["x"]}},
        {"workbook": {"a": 5}, "keychain": [5, {}]},
    ],
)
def test_what_the_shape_rejects_is_left_out(tree):
    assert isinstance(build(adopt(tree)), Playbook)


def test_a_rejected_choice_takes_its_default():
    tree = adopt(
        {
            "workflow": [
                {
                    "step": "a",
                    "spec": {"join": "any"},
                    "loop": {"in": [], "iterator": "x", "spec": {"mode": 5}},
                }
            ]
        }
    )
    step = build(tree).steps[0]
    assert step.join == "sync"
    assert step.loop is not None
    assert step.loop.mode == "sequential"

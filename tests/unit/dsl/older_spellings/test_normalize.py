"""Every accepted spelling gives the same playbook; older ones are noted, legacy ones refused with what to write."""

from pathlib import Path

import pytest

from noetl.dsl.load import load
from noetl.dsl.older_spellings.findings import DEPRECATIONS
from noetl.dsl.older_spellings.normalize import normalize
from noetl.dsl.yaml.tree import plain
from noetl.tools import kinds
from tests.unit.dsl.documents import doc, errors, places, read, rooted, split, task
from tests.unit.dsl.kinds import KINDS

RULES = "{kind: noop, spec: {policy: {rules: [%s]}}}"
ADMIT = "- step: start\n  spec: {policy: {admit: {rules: [%s]}}}\n  tool: {kind: noop}"
TWO_STEPS = "\n- {step: finish, tool: {kind: noop}}"
ARCS = "- step: start\n  tool: {kind: noop}\n  next: {arcs: [%s]}" + TWO_STEPS

# name -> (the spelling, the canonical text, the codes it draws)
SPELLINGS = {
    "a single mapping is a list of one task called after the step": (
        task("{kind: noop}"),
        task("[{name: start_task, kind: noop}]"),
        [],
    ),
    "unnamed list items are called by their place": (
        task("[{kind: noop}, {name: b, kind: noop}, {kind: noop}]"),
        task("[{name: task_0, kind: noop}, {name: b, kind: noop}, {name: task_2, kind: noop}]"),
        [],
    ),
    "a label map names its task": (
        task("[fetch: {kind: http, input: {url: 'http://a'}}]"),
        task("[{name: fetch, kind: http, input: {url: 'http://a'}}]"),
        ["deprecated-label-map"],
    ),
    "a label map may be called like sugar": (
        task("[paginate: {kind: noop}]"),
        task("[{name: paginate, kind: noop}]"),
        ["deprecated-label-map"],
    ),
    "under a label, name is an input": (
        task("[get: {kind: secrets, name: token}]"),
        task("[{name: get, kind: secrets, input: {name: token}}]"),
        ["deprecated-label-map"],
    ),
    "inputs beside kind are folded": (
        task("{kind: http, url: 'http://a', method: GET}"),
        task("{kind: http, input: {url: 'http://a', method: GET}}"),
        ["deprecated-input-beside-kind"],
    ),
    "input wins over what stands beside kind": (
        task("{kind: http, url: 'http://a', input: {url: 'http://b'}}"),
        task("{kind: http, input: {url: 'http://b'}}"),
        ["deprecated-input-beside-kind"],
    ),
    "args of a task are input": (
        task("{kind: python, args: {n: 1}, input: {code: 'result = n'}}"),
        task("{kind: python, input: {code: 'result = n', n: 1}}"),
        ["deprecated-args"],
    ),
    "input wins over args": (
        task("{kind: python, args: {n: 1}, input: {code: 'result = n', n: 2}}"),
        task("{kind: python, input: {code: 'result = n', n: 2}}"),
        ["deprecated-args"],
    ),
    "args of a call are what the callee receives": (
        task("{kind: playbook, path: a/b, args: {n: 1}}"),
        task("{kind: playbook, path: a/b, input: {n: 1}}"),
        ["deprecated-args"],
    ),
    "what a call calls stays beside kind": (
        task("{name: call, kind: playbook, path: a/b, version: 2, wait: false}"),
        task("[{name: call, kind: playbook, path: a/b, version: 2, wait: false}]"),
        [],
    ),
    "else holds its directive directly": (
        task(RULES % "{else: {do: fail}}"),
        task(RULES % "{else: {then: {do: fail}}}"),
        [],
    ),
    "else stands beside then": (
        task(RULES % "{else: , then: {do: fail}}"),
        task(RULES % "{else: {then: {do: fail}}}"),
        [],
    ),
    "an admission's else holds allow directly": (
        doc(ADMIT % "{else: {allow: false}}"),
        doc(ADMIT % "{else: {then: {allow: false}}}"),
        [],
    ),
    "an admission's else stands beside then": (
        doc(ADMIT % "{else: {}, then: {allow: false}}"),
        doc(ADMIT % "{else: {then: {allow: false}}}"),
        [],
    ),
    "set_ctx and set_iter in a rule": (
        task(RULES % "{else: {then: {do: continue, set_ctx: {a: 1}, set_iter: {b: 2}}}}"),
        task(RULES % "{else: {then: {do: continue, set: {ctx.a: 1, iter.b: 2}}}}"),
        ["deprecated-set-scope", "deprecated-set-scope"],
    ),
    "set_ctx of a task and of a step": (
        doc("- step: start\n  tool: {kind: noop, set_ctx: {a: 1}}\n  set_ctx: {b: 2}"),
        doc("- step: start\n  tool: {kind: noop, set: {ctx.a: 1}}\n  set: {ctx.b: 2}"),
        ["deprecated-set-scope", "deprecated-set-scope"],
    ),
    "set_ctx beside set": (
        task("{kind: noop, set: {ctx.a: 1}, set_ctx: {b: 2}}"),
        task("{kind: noop, set: {ctx.a: 1, ctx.b: 2}}"),
        ["deprecated-set-scope"],
    ),
    "nested set": (
        task("{kind: noop, set: {ctx: {a: 1, b: {c: 2}}, step: {d: 3}}}"),
        task("{kind: noop, set: {ctx.a: 1, ctx.b: {c: 2}, step.d: 3}}"),
        [],
    ),
    "nested set on an arc": (
        doc(ARCS % "{step: finish, set: {ctx: {a: 1}}}"),
        doc(ARCS % "{step: finish, set: {ctx.a: 1}}"),
        [],
    ),
    "a bare set key means step": (
        task("{kind: noop, set: {page: 1}}"),
        task("{kind: noop, set: {step.page: 1}}"),
        ["bare-set-target"],
    ),
    "backoff fixed is none": (
        task(
            RULES % "{when: true, then: {do: retry, attempts: 2, backoff: fixed}}, {else: {then: {do: fail}}}"
        ),
        task(RULES % "{when: true, then: {do: retry, attempts: 2}}, {else: {then: {do: fail}}}"),
        ["deprecated-backoff-fixed"],
    ),
    "outcome in a template": (
        task("{kind: noop, set: {ctx.a: '{{ outcome.result.data.n }}', ctx.b: '{{ outcome.status }}'}}"),
        task("{kind: noop, set: {ctx.a: '{{ output.data.n }}', ctx.b: '{{ output.status }}'}}"),
        ["deprecated-outcome", "deprecated-outcome"],
    ),
    "older event names": (
        doc(ARCS % """{step: finish, when: "{{ event.name == 'call.error' }}"}"""),
        doc(ARCS % """{step: finish, when: "{{ event.name == 'step.failed' }}"}"""),
        [],
    ),
    "executor.kind is profile": (
        rooted("executor: {kind: distributed}"),
        rooted("executor: {profile: distributed}"),
        ["deprecated-executor-kind"],
    ),
    "workbook.tasks is workbook": (
        rooted("workbook: {tasks: {double: {tool: {kind: noop}}}}"),
        rooted("workbook: {double: {tool: {kind: noop}}}"),
        ["deprecated-workbook-tasks"],
    ),
    "a workbook block may be called tasks": (
        rooted("workbook: {tasks: {tool: {kind: noop}}}"),
        rooted("workbook: {tasks: {tool: [{name: tasks_task, kind: noop}]}}"),
        [],
    ),
    "a workbook is a list of named blocks": (
        rooted("workbook: [{name: double, tool: {kind: noop}}, {name: half, tool: {kind: noop}}]"),
        rooted("workbook: {double: {tool: {kind: noop}}, half: {tool: {kind: noop}}}"),
        [],
    ),
    "a loop's mode stands in its policy": (
        doc(
            "- step: start\n  loop: {in: [1], iterator: x, spec: {policy: {mode: parallel, max_in_flight: 3}}}"
            "\n  tool: {kind: noop}"
        ),
        doc(
            "- step: start\n  loop: {in: [1], iterator: x, spec: {mode: parallel, max_in_flight: 3}}"
            "\n  tool: {kind: noop}"
        ),
        [],
    ),
    "a loop's spec wins over its policy": (
        doc(
            "- step: start\n  loop: {in: [1], iterator: x, spec: {mode: parallel, policy: {mode: sequential}}}"
            "\n  tool: {kind: noop}"
        ),
        doc("- step: start\n  loop: {in: [1], iterator: x, spec: {mode: parallel}}\n  tool: {kind: noop}"),
        [],
    ),
    "an inner loop's mode stands in its policy": (
        doc(
            "- step: start\n  loop: {in: [1], iterator: x, loop: {in: [2], iterator: y, spec: {policy: {mode: parallel}}}}"
            "\n  tool: {kind: noop}"
        ),
        doc(
            "- step: start\n  loop: {in: [1], iterator: x, loop: {in: [2], iterator: y, spec: {mode: parallel}}}"
            "\n  tool: {kind: noop}"
        ),
        [],
    ),
    "a step's timeout is its lifecycle's": (
        doc("- step: start\n  spec: {timeout: 30}\n  tool: {kind: noop}"),
        doc("- step: start\n  spec: {policy: {lifecycle: {timeout_s: 30}}}\n  tool: {kind: noop}"),
        [],
    ),
    "nothing under a section is an empty section": (
        rooted("workload:\nkeychain:\nexecutor:\nworkbook:"),
        doc("- {step: start, tool: {kind: noop}}"),
        [],
    ),
    "older spellings inside sugar": (
        task("[{name: w, while: {when: '{{ step.n < 3 }}', do: [inc: {kind: noop, set_ctx: {n: 1}}]}}]"),
        task(
            "[{name: w, while: {when: '{{ step.n < 3 }}', do: [{name: inc, kind: noop, set: {ctx.n: 1}}]}}]"
        ),
        ["deprecated-label-map", "deprecated-set-scope"],
    ),
    "unnamed tasks of all branches are counted together": (
        task("[{name: c, choose: [{when: true, then: [{kind: noop}]}, {else: [{kind: noop}]}]}]"),
        task(
            "[{name: c, choose: [{when: true, then: [{name: task_0, kind: noop}]},"
            " {else: [{name: task_1, kind: noop}]}]}]"
        ),
        [],
    ),
    "else of choose holds then, or stands beside it": (
        task("[{name: c, choose: [{when: true, then: [{kind: noop}]}, {else: {then: [{kind: noop}]}}]}]"),
        task("[{name: c, choose: [{when: true, then: [{kind: noop}]}, {else: , then: [{kind: noop}]}]}]"),
        [],
    ),
}


@pytest.mark.parametrize("spelling, canonical, codes", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_every_spelling_gives_the_same_playbook(spelling, canonical, codes):
    old, new = read(spelling), read(canonical)
    assert [f for f in new.diagnostics if f.severity == "error" or f.code in DEPRECATIONS] == []
    assert old.playbook == new.playbook
    assert [f.code for f in old.diagnostics if f.code in DEPRECATIONS] == codes
    assert [f for f in old.diagnostics if f.severity == "error"] == []


@pytest.mark.parametrize("spelling, canonical, codes", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_normalising_twice_changes_nothing_more(spelling, canonical, codes):
    once = normalize(read(spelling).tree, KINDS)
    assert once.tree == normalize(once.tree, KINDS).tree
    assert [f for f in once.diagnostics if f.severity == "error"] == []


@pytest.mark.parametrize(
    "spelling, codes", [(old, codes) for old, _, codes in SPELLINGS.values() if codes], ids=lambda value: ""
)
def test_strict_refuses_every_deprecated_spelling(spelling, codes):
    found = [f for f in read(spelling, strict=True).diagnostics if f.code in DEPRECATIONS]
    assert {f.severity for f in found} == {"error"}
    assert [f.code for f in found] == codes


def test_every_deprecation_says_what_to_write():
    for old, _, codes in SPELLINGS.values():
        hints = [f.hint for f in read(old).diagnostics if f.code in codes]
        assert all(hint and hint.startswith("write: ") for hint in hints)


# name -> (text with the mark where the finding must stand, code, words of message and hint)
LEGACY = {
    "root vars": (rooted("«vars: {a: 1}"), "legacy-vars", ["vars", "workload: {a: 1}"]),
    "vars of a step": (
        doc("- step: start\n  «vars: {a: 1}\n  tool: {kind: noop}"),
        "legacy-vars",
        ["set: {step.a: 1}"],
    ),
    "step.when": (
        doc('- step: start\n  «when: "{{ ctx.a }}"\n  tool: {kind: noop}'),
        "legacy-step-when",
        ["spec.policy.admit", '{when: "{{ ctx.a }}", then: {allow: true}}', "{else: {then: {allow: false}}}"],
    ),
    "next as a list": (
        doc("- step: start\n  tool: {kind: noop}\n  «next: [{step: finish}]" + TWO_STEPS),
        "next-not-router",
        ["arcs", "next: {arcs: [{step: finish}]}"],
    ),
    "next as a list of names": (
        doc("- step: start\n  tool: {kind: noop}\n  «next: [finish]" + TWO_STEPS),
        "next-not-router",
        ["next: {arcs: [{step: finish}]}"],
    ),
    "next as a name": (
        doc("- step: start\n  tool: {kind: noop}\n  «next: finish" + TWO_STEPS),
        "next-not-router",
        ["next: {arcs: [{step: finish}]}"],
    ),
    "next as one arc": (
        doc("- step: start\n  tool: {kind: noop}\n  «next: {step: finish}" + TWO_STEPS),
        "next-not-router",
        ["next: {arcs: [{step: finish}]}"],
    ),
    "spec.next_mode": (
        doc(
            "- step: start\n  spec: {«next_mode: inclusive}\n  tool: {kind: noop}\n  next: {arcs: [{step: finish}]}"
            + TWO_STEPS
        ),
        "legacy-next-mode",
        ["next: {spec: {mode: inclusive}"],
    ),
    "eval": (
        task("{kind: noop, «eval: [{expr: '{{ ctx.a }}', do: fail}, {else: {do: continue}}]}"),
        "legacy-eval",
        ["spec.policy.rules", '{when: "{{ ctx.a }}", then: {do: fail}}', "{else: {then: {do: continue}}}"],
    ),
    "eval without else": (
        task("{kind: noop, «eval: [{expr: '{{ ctx.a }}', do: fail}]}"),
        "legacy-eval",
        ["on_unmatched: by_status"],
    ),
    "eval with then, and without a condition": (
        task("{kind: noop, «eval: [{when: '{{ ctx.a }}', then: {do: skip}}, {do: retry, backoff: fixed}]}"),
        "legacy-eval",
        ['{when: "{{ ctx.a }}", then: {do: skip}}', "{else: {then: {do: retry, backoff: none}}}"],
    ),
    "eval beside a policy": (
        task("{kind: noop, «eval: [], spec: {policy: {rules: [{else: {then: {do: fail}}}]}}}"),
        "legacy-eval",
        ["rules"],
    ),
    "the older set family inside eval": (
        task("{kind: noop, «eval: [{else: {do: continue, set_vars: {a: 1}, set_prev: 5}}]}"),
        "legacy-eval",
        ["set: {step.a: 1}"],
    ),
    "step.when beside an admission": (
        doc(
            "- step: start\n  «when: true\n  spec: {policy: {admit: {rules: [{else: {then: {allow: true}}}]}}}\n  tool: {kind: noop}"
        ),
        "legacy-step-when",
        ["admit"],
    ),
    "spec.next_mode without next": (
        doc("- step: start\n  spec: {«next_mode: inclusive}\n  tool: {kind: noop}"),
        "legacy-next-mode",
        ["mode: inclusive"],
    ),
    "spec.next_mode beside a mode": (
        doc(
            "- step: start\n  spec: {«next_mode: inclusive}\n  tool: {kind: noop}"
            "\n  next: {spec: {mode: exclusive}, arcs: [{step: finish}]}" + TWO_STEPS
        ),
        "legacy-next-mode",
        ["mode: inclusive"],
    ),
    "pipe beside tool": (
        doc("- step: start\n  tool: {kind: noop}\n  «pipe: []"),
        "legacy-pipe",
        ["tool: ["],
    ),
    "eval on a step": (
        doc("- step: start\n  «eval: [{else: {do: continue}}]\n  tool: {kind: noop}"),
        "legacy-eval",
        ["rules"],
    ),
    "expr in a rule": (
        task(RULES % "{«expr: '{{ ctx.a }}', then: {do: fail}}, {else: {do: continue}}"),
        "legacy-expr",
        ['when: "{{ ctx.a }}"'],
    ),
    "expr on an arc": (
        doc(ARCS % "{step: finish, «expr: '{{ ctx.a }}'}"),
        "legacy-expr",
        ['when: "{{ ctx.a }}"'],
    ),
    "set_vars": (
        task(RULES % "{else: {then: {do: continue, «set_vars: {a: 1}}}}"),
        "legacy-set",
        ["set: {step.a: 1}"],
    ),
    "set_shared": (
        task(RULES % "{else: {then: {do: continue, «set_shared: {a: 1}}}}"),
        "legacy-set",
        ["set: {ctx.a: 1}"],
    ),
    "set_prev": (
        task(RULES % "{else: {then: {do: continue, «set_prev: 5}}}"),
        "legacy-set",
        ["{kind: noop, output: 5}"],
    ),
    "pipe": (doc("- step: start\n  «pipe: [{kind: noop}]"), "legacy-pipe", ["tool: ["]),
    "case": (doc("- step: start\n  tool: {kind: noop}\n  «case: []"), "legacy-case", ["next: {arcs:"]),
}


@pytest.mark.parametrize("text, code, words", LEGACY.values(), ids=LEGACY.keys())
def test_every_legacy_form_is_refused_once_with_its_replacement(text, code, words):
    text, line, column = split(text)
    found = errors(text)
    assert places(found) == [(code, line, column)]
    said = f"{found[0].message} {found[0].hint}"
    assert "noetl migrate" in said
    for word in words:
        assert word in said


@pytest.mark.parametrize("text, code, words", LEGACY.values(), ids=LEGACY.keys())
def test_a_legacy_form_leaves_a_canonical_tree(text, code, words):
    once = read(split(text)[0]).tree
    again = normalize(once, KINDS)
    assert again.diagnostics == ()
    assert again.tree == once


# name -> a text in an older spelling with the mark where the finding about something else in it must stand
PLACES = {
    "an input under a label": (
        task("[fetch: {kind: http, args: {url: 'http://a', «bad: 1}}]"),
        "unknown-input",
    ),
    "an input beside kind": (task("{kind: http, url: 'http://a', method: «5}"), "wrong-type"),
    "a directive of an eval": (
        task("{kind: noop, eval: [{expr: '{{ ctx.a }}', do: «nonsense}]}"),
        "wrong-value",
    ),
    "a target of set_ctx": (task("{kind: noop, set_ctx: {«a b: 1}}"), "bad-set-target"),
    "an arc of a list": (
        doc("- step: start\n  tool: {kind: noop}\n  next: [{step: finish, «nonsense: 1}]" + TWO_STEPS),
        "unknown-key",
    ),
    "an arc of a name": (doc("- step: start\n  tool: {kind: noop}\n  next: «nowhere"), "unknown-step"),
    "a block of workbook.tasks": (
        rooted("workbook: {tasks: {double: {tool: {kind: «nonsense}}}}"),
        "unknown-kind",
    ),
    "a template under outcome": (
        task("{kind: noop, set: {ctx.a: '{{ outcome.result }}', ctx.b: «'{{ nowhere.x }}'}}"),
        "undefined-name",
    ),
}


@pytest.mark.parametrize("text, code", PLACES.values(), ids=PLACES.keys())
def test_findings_about_a_rewritten_document_stand_where_its_author_wrote(text, code):
    text, line, column = split(text)
    assert (code, line, column) in places(list(read(text).diagnostics))


EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_canonical_document_never_meets_the_rewrites(path, monkeypatch):
    monkeypatch.setattr("noetl.dsl.older_spellings.loading.rewrite_tree", None)
    assert load(path.read_text(), kinds=kinds()).ok


def test_one_set_may_not_write_a_target_twice():
    found = read(task("{kind: noop, set: {ctx.a: 1, ctx: {a: 2}}}")).diagnostics
    assert places(list(found)) == [("duplicate-set-target", 6, 46)]


def test_python_code_is_never_read_as_a_template():
    text = task("""{kind: python, code: "result = '{{ outcome.result }}'"}""")
    loaded = read(text)
    assert loaded.playbook is not None
    assert loaded.playbook.steps[0].tasks[0].input["code"] == "result = '{{ outcome.result }}'"
    assert "deprecated-outcome" not in {f.code for f in loaded.diagnostics}


def test_args_stay_on_an_arc_and_are_noted():
    loaded = read(doc(ARCS % "{step: finish, args: {got: 1}}"))
    assert loaded.playbook is not None
    assert loaded.playbook.steps[0].next.arcs[0].args == {"got": 1}
    assert [f.code for f in loaded.diagnostics if f.code in DEPRECATIONS] == ["deprecated-args"]


def test_a_template_that_reads_args_is_noted():
    text = doc(
        ARCS % "{step: finish, args: {got: 1}}"
        + "\n- {step: last, input: {a: '{{ args.got }}'}, tool: {kind: noop}}"
    )
    found = [f for f in read(text).diagnostics if f.code == "deprecated-args"]
    assert [f.line for f in found] == [7, 9]


@pytest.mark.parametrize(
    "tree", [None, 5, "text", [], [1], True, {}, {"workflow": 5}, {"workflow": [5, None]}]
)
def test_what_cannot_be_read_is_left_alone(tree):
    assert plain(normalize(tree, KINDS).tree) == tree


@pytest.mark.parametrize(
    "workflow",
    [
        "- step: start\n  tool: {kind: noop, eval: 5}",
        "- step: start\n  tool: {kind: noop, set_ctx: 5}",
        "- step: start\n  tool: [get: {kind: secrets, name: a, input: 5}]",
        "- step: start\n  tool: {kind: noop, set: {ctx.a: '{{ args.b + }}'}}",
        "- step: start\n  tool: {kind: noop, set: 5, set_ctx: {a: 1}}",
        "- step: start\n  tool: {kind: noop, spec: 5, eval: [5, {else: 5}]}",
        "- step: start\n  tool: {kind: http, url: 5, input: 5}",
        "- step: start\n  tool: {kind: noop, args: 5}",
        "- step: start\n  when: true\n  spec: 5",
        "- step: start\n  when: true\n  spec: {policy: 5}",
        "- step: start\n  next: {arcs: 5}",
        "- step: start\n  next: {arcs: [5]}",
        "- step: start\n  loop: 5\n  tool: 5",
        "- step: [5]\n  tool: {while: 5}",
        "- step: start\n  tool: [{choose: [5, {else: 5}]}, {paginate: {request: 5, each: 5}}]",
    ],
)
def test_malformed_parts_are_reported_never_raised(workflow):
    assert read(doc(workflow)).diagnostics

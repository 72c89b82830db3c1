"""A test file: what it says, and every finding at its place."""

import textwrap

import jsonschema_rs
import pytest

from noetl.dsl.load import load
from noetl.dsl.testing.names import check_names
from noetl.dsl.testing.schema import suite_schema
from noetl.dsl.testing.suite import read_suite
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import plain
from noetl.tools import kinds

GOOD = """\
playbook: orders.yaml
desc: what it is about
workload: {goal: 1, deep: {a: 1, b: 2}}
keychain: {api: {token: x}}
given:
  start.read: {data: shared}
  start.other: {data: shared}
children: {a/b: {start.get: {data: 1}}}
run: [python, sqlite]
tests:
  - name: first
    workload: {goal: 2, deep: {b: 3}}
    given: {start.read: [{data: own}, {iteration: [1, 0], error: {kind: http, retryable: true}}]}
    children: {a/b: {start.put: {data: 2}}, c/d: {}}
    signals: [{name: go, payload: 1}]
    run: []
    expect:
      status: failed
      error: {kind: http, message: busy}
      output: {any: [thing, "{{ not a template }}"]}
      ctx: {a.b: 1}
      steps: {start: 1}
      calls: {start.read: [{path: x}]}
      arcs: {start -> end: 0}
      that: ["{{ ctx.a }}", true]
  - name: second
"""

WRONG = {
    "an empty file": ("", 1, 1, None),
    "no YAML": ("playbook: [", 1, 12, None),
    "a list": ("[]", 1, 1, "must be a mapping"),
    "no tests": ("playbook: x.yaml", 1, 1, "a test file has no 'tests'"),
    "no playbook": ("tests: [{name: a}]", 1, 1, "a test file has no 'playbook'"),
    "no test": ("playbook: x.yaml\ntests: []", 2, 8, "'tests' is empty"),
    "a test without a name": ("playbook: x\ntests: [{given: {}}]", 2, 9, "a test has no 'name'"),
    "an unknown key": ("playbook: x\ntests: [{name: a, expects: {}}]", 2, 19, "unknown key 'expects'"),
    "an unknown expectation": ("playbook: x\ntests: [{name: a, expect: {outputs: 1}}]", 2, 28, "unknown key 'outputs'"),
    "a status that is none": ("playbook: x\ntests: [{name: a, expect: {status: done}}]", 2, 36, "'status' is 'done'"),
    "an answer that is none": ("playbook: x\ngiven: {a: 1}\ntests: [{name: a}]", 2, 12, "must be an answer"),
    "an answer with a status": ("playbook: x\ngiven: {a: {status: ok}}\ntests: [{name: a}]", 2, 13, "unknown key 'status'"),
    "an error without a kind": ("playbook: x\ngiven: {a: [{error: {}}]}\ntests: [{name: a}]", 2, 21, "error has no 'kind'"),
    "an attempt before the first": ("playbook: x\ngiven: {a: [{attempt: 0}]}\ntests: [{name: a}]", 2, 23, "'attempt' is 0"),
    "a child that is no mapping": ("playbook: x\nchildren: {c: 1}\ntests: [{name: a}]", 2, 15, "'c' must be a mapping"),
    "an answer of a child": ("playbook: x\nchildren: {c: {t: {dat: 1}}}\ntests: [{name: a}]", 2, 20, "unknown key 'dat'"),
    "two tests of one name": ("playbook: x\ntests: [{name: a}, {name: a}]", 2, 27, "'a' is there twice; first at line 2"),
    "a condition without a template": ("playbook: x\ntests: [{name: a, expect: {that: [ctx.a]}}]", 2, 35, "'that' is 'ctx.a'"),
    "a condition that does not compile": ("playbook: x\ntests: [{name: a, expect: {that: ['{{ ( }}']}}]", 2, 35, None),
    "a kind": ("kind: PlaybookTest\nplaybook: x\ntests: [{name: a}]", 1, 1, "unknown key 'kind'"),
}  # fmt: skip


def test_a_test_has_what_it_gives_itself_over_what_its_file_gives():
    suite = read_suite(GOOD)
    assert suite.ok, suite.diagnostics
    first, second = suite.cases
    assert plain(first.workload) == {"goal": 2, "deep": {"a": 1, "b": 3}}
    assert plain(first.given["start.read"][0].node) == {"data": "own"}
    assert [answer.repeat for answer in first.given["start.read"]] == [False, False]
    assert [answer.repeat for answer in first.given["start.other"]] == [True]
    assert {path: sorted(given) for path, given in first.children.items()} == {
        "a/b": ["start.get", "start.put"],
        "c/d": [],
    }
    assert (first.run, second.run) == ((), ("python", "sqlite"))
    assert plain(second.workload) == {"goal": 1, "deep": {"a": 1, "b": 2}}
    assert second.expect == {}


@pytest.mark.parametrize("text, line, column, words", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_at_its_place(text, line, column, words):
    suite = read_suite(text)
    assert not suite.ok
    found = {(one.line, one.column): one.message for one in suite.diagnostics}
    assert (line, column) in found, found
    assert words is None or words in found[line, column]


@pytest.mark.parametrize(
    "text", [b"\xff\xfe", "a: &a [*a]", "{" * 200, "- " * 100, "\x00", "playbook: !!x y"]
)
def test_no_text_makes_reading_fail(text):
    assert not read_suite(text).ok


PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: a/b}
workflow:
  - step: start
    tool:
      - {name: read, kind: http, input: {url: "http://x"}}
      - {name: rest, kind: wait, input: {seconds: 1}}
      - {name: call, kind: workbook, block: doing}
      - name: pages
        while: {when: "{{ iter.n | default(0) < 2 }}", max: 3, do: [{name: end, kind: python, input: {code: x}}]}
    next: {arcs: [{step: end}]}
  - step: end
    spec: {synthesize: {from: "{{ output.data }}"}}
    tool: {kind: python, input: {code: "result = []"}}
workbook:
  doing:
    tool:
      - {name: inner, kind: http, input: {url: "http://x"}}
      - {name: again, kind: workbook, block: doing}
"""
NAMES = [
    ("given: {start.read: {data: 1}, start: {data: 1}, start.call/inner: {data: 1}, end.0.x.y: {data: 1}}", None, None),
    ("given: {start.pages._end: {data: 1}, end.end_task: {data: 1}}", None, None),
    ("given: {start.raed: {data: 1}}", "there is no task 'start.raed'", "did you mean 'start.read'?"),
    ("given: {start.rest: {data: 1}}", "kind wait, which the engine carries out", "signals"),
    ("given: {start.call: {data: 1}}", "kind workbook", "step.call/inner"),
    ("expect: {steps: [start, ned]}", "there is no step 'ned'", "did you mean 'end'?"),
    ("expect: {steps: {start: 1, end: many}}", "'end' must be a number of times", None),
    ("expect: {arcs: {start -> end: 1, end -> start: 1}}", "there is no arc 'end -> start'", "start -> end"),
    ("expect: {calls: {start.read: 1, start.rest: 0}}", None, None),
    ("expect: {calls: {start.read: [{url: x}]}}", None, None),
    ("expect: {calls: {start.read: [1]}}", "or a list of inputs", None),
    ("expect: {calls: {start.read: true}}", "must be a number of times", None),
    ("expect: {calls: {start.pages.end: 1}}", "there is no task 'start.pages.end'", None),
]  # fmt: skip


@pytest.mark.parametrize("part, message, hint", NAMES)
def test_names_are_those_of_the_playbook(part, message, hint):
    suite = read_suite(f"playbook: x.yaml\ntests:\n  - name: a\n    {part}\n")
    assert suite.ok, suite.diagnostics
    loaded = load(PLAYBOOK, kinds=kinds())
    assert loaded.playbook is not None
    assert loaded.ok, loaded.diagnostics
    found = check_names(suite, loaded.playbook)
    if message is None:
        assert found == ()
    else:
        assert message in found[0].message
        assert found[0].line == 4
        assert hint is None or hint in (found[0].hint or "")


def test_the_schema_for_editors_takes_what_is_right_and_refuses_what_is_wrong():
    schema = suite_schema()
    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.validator_for(schema)
    assert [error.message for error in validator.iter_errors(plain(parse(GOOD).tree))] == []
    for wrong in (
        "given: {a: {dat: 1}}",
        "given: {a: 1}",
        "expect: {statuses: 1}",
        "children: {c: {t: {x: 1}}}",
    ):
        text = textwrap.dedent(f"playbook: x\ntests:\n  - name: a\n    {wrong}\n")
        assert not validator.is_valid(plain(parse(text).tree)), wrong

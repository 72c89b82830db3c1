"""Migration of rules and of what they write: eval, expr, shapes of else, and the whole set family."""

import pytest

from tests.unit.dsl.documents import doc
from tests.unit.dsl.migrating import looks, rewritten, step

RULES = {
    "expr of a rule": step(
        """\
        - step: a
          tool:
            kind: noop
            spec:
              policy:
                rules:
                  - expr: "{{ ctx.x }}"  # why
                    then: {do: break}
                  - else: {then: {do: continue}}
        """,
        """\
        - step: a
          tool:
            kind: noop
            spec:
              policy:
                rules:
                  - when: "{{ ctx.x }}"  # why
                    then: {do: break}
                  - else: {then: {do: continue}}
        """,
    ),
    "eval without else": step(
        """\
        - step: a
          tool:
            kind: http
            input: {url: "http://x"}
            # what to do with the answer
            eval:
              # slow servers
              - expr: "{{ outcome.http.status == 503 }}"
                do: retry
                attempts: 4
                backoff: fixed
        """,
        """\
        - step: a
          tool:
            kind: http
            input: {url: "http://x"}
            # what to do with the answer
            spec:
              policy:
                on_unmatched: by_status
                rules:
                  # slow servers
                  - when: "{{ output.http.status == 503 }}"
                    then:
                      do: retry
                      attempts: 4
                      backoff: none
        """,
    ),
    "eval beside spec": step(
        """\
        - step: a
          tool:
            kind: http
            spec: {timeout: 5}
            input: {url: "http://x"}
            eval: [{expr: "{{ true }}", do: continue}, {else: {do: fail}}]
        """,
        """\
        - step: a
          tool:
            kind: http
            spec:
              timeout: 5
              policy: {rules: [{when: "{{ true }}", then: {do: continue}}, {else: {then: {do: fail}}}]}
            input: {url: "http://x"}
        """,
    ),
    "an eval rule that always holds": step(
        "- step: a\n  tool: {kind: noop, eval: [{do: break}]}",
        "- step: a\n  tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}",
    ),
    "an empty eval": step("- step: a\n  tool: {kind: noop, eval: []}", "- step: a\n  tool: {kind: noop}"),
    "options of another directive": step(
        '- step: a\n  tool: {kind: noop, eval: [{expr: "{{ ctx.x }}", do: fail, attempts: 3}, {else: {do: continue, to: b}}]}',
        """\
        - step: a
          tool:
            kind: noop
            spec: {policy: {rules: [{when: "{{ ctx.x }}", then: {do: fail}}, {else: {then: {do: continue}}}]}}
        """,
    ),
    "a rule that is no mapping": step(
        "- step: a\n  tool: {kind: noop, eval: [x, {do: break}]}",
        "- step: a\n  tool: {kind: noop, spec: {policy: {rules: [x, {else: {then: {do: break}}}]}}}",
    ),
    "expr beside when": step(
        '- step: a\n  next: {arcs: [{step: a, when: "{{ ctx.x }}", expr: "{{ ctx.y }}"}]}',
        '- step: a\n  next: {arcs: [{step: a, when: "{{ ctx.x }}"}]}',
    ),
    "eval beside an empty spec": step(
        "- step: a\n  tool: {kind: noop, spec: null, eval: [{do: break}]}",
        "- step: a\n  tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}",
    ),
    "an eval rule that hides the others": step(
        "- step: a\n  tool: {kind: noop, eval: [{do: break}, {do: fail}]}",
        """\
        - step: a
          tool: {kind: noop, spec: {policy: {rules: [{when: true, then: {do: break}}, {else: {then: {do: fail}}}]}}}
        """,
    ),
    "a name written twice": step(
        "- step: a\n  tool: {kind: noop, set: {ctx.x: 1}, set_ctx: {x: 2, y: 3}}",
        "- step: a\n  tool: {kind: noop, set: {ctx.x: 1, ctx.y: 3}}",
    ),
    "an empty set": step(
        "- step: a\n  tool: {kind: noop, set_ctx: {}, set_iter: {x: 1}, set: null}",
        "- step: a\n  tool: {kind: noop, set: {iter.x: 1}}",
    ),
    "else beside then": step(
        """\
        - step: a
          tool:
            kind: noop
            spec:
              policy:
                rules:
                  - else:
                    then: {do: continue}
        """,
        """\
        - step: a
          tool:
            kind: noop
            spec:
              policy:
                rules:
                  - else:
                      then: {do: continue}
        """,
    ),
    "else with the directive itself": step(
        "- step: a\n  spec: {policy: {admit: {rules: [{else: {allow: true}}]}}}\n  tool: {kind: noop}",
        "- step: a\n  spec: {policy: {admit: {rules: [{else: {then: {allow: true}}}]}}}\n  tool: {kind: noop}",
    ),
    "a policy that is a list": step(
        "- step: a\n  tool: {kind: noop, spec: {policy: [{else: {then: {do: continue}}}]}}",
        "- step: a\n  tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}",
    ),
    "set_iter and set_ctx in one rule": step(
        """\
        - step: a
          loop: {in: [1], iterator: i}
          tool:
            kind: noop
            spec:
              policy:
                rules:
                  - else:
                      then:
                        do: continue
                        set_iter: {page: 1, "more": true}  # local
                        # shared
                        set_ctx:
                          seen: "{{ iter.i }}"
        """,
        """\
        - step: a
          loop: {in: [1], iterator: i}
          tool:
            kind: noop
            spec:
              policy:
                rules:
                  - else:
                      then:
                        do: continue
                        set:  # local
                          iter.page: 1
                          "iter.more": true
                          # shared
                          ctx.seen: "{{ iter.i }}"
        """,
    ),
    "a set target without a scope": step(
        "- step: a\n  tool: {kind: noop, set: {x: 1, ctx.y: 2, iter: {z: 3}}}\n  set: {w: 4}",
        "- step: a\n  tool: {kind: noop, set: {step.x: 1, ctx.y: 2, iter: {z: 3}}}\n  set: {step.w: 4}",
    ),
    "set_vars and reading vars": step(
        """\
        - step: a
          tool:
            - t: {kind: noop, eval: [{else: {do: continue, set_vars: {n: 1}}}]}
            - u: {kind: noop, set: {ctx.m: "{{ vars.n + vars['k'] }}"}}
        """,
        """\
        - step: a
          tool:
            - {name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set: {step.n: 1}}}}]}}}
            - {name: u, kind: noop, set: {ctx.m: "{{ step.n + step.k }}"}}
        """,
    ),
}


@pytest.mark.parametrize("before, after", RULES.values(), ids=RULES.keys())
def test_an_older_rule_becomes_todays(before: str, after: str) -> None:
    result = rewritten(before)
    assert result.text == after
    assert result.notes


SHARED = {
    "an addition": ("{{ vars.total | default(0) + outcome.result.n }}", "sum", "{{ output.data.n }}"),
    "an addition in brackets": ("{{ (ctx.total | default(0)) + 1 }}", "sum", "{{ 1 }}"),
    "one more item": ("{{ vars.total + [iter.i] }}", "append", "{{ iter.i }}"),
    "a choice is no addition": (
        "{{ vars.total + 1 if ctx.a else 0 }}",
        "last",
        "{{ ctx.total + 1 if ctx.a else 0 }}",
    ),
    "a sum of others": ("{{ vars.other + 1 }}", "last", "{{ step.other + 1 }}"),
    "any other value": ("{{ outcome.result }}", "last", "{{ output.data }}"),
}


@pytest.mark.parametrize("value, reducer, kept", SHARED.values(), ids=SHARED.keys())
def test_set_shared_writes_ctx_with_a_reducer_that_fits(value: str, reducer: str, kept: str) -> None:
    text = doc(
        f"""\
        - step: a
          loop: {{in: [1], iterator: i, spec: {{mode: parallel}}}}
          tool:
            kind: noop
            eval:
              - else:
                  do: continue
                  set_shared: {{total: "{value}"}}
        """
    )
    result = rewritten(text)
    assert f"spec: {{mode: parallel, policy: {{reduce: {{ctx.total: {reducer}}}}}}}" in result.text
    assert f'set: {{ctx.total: "{kept}"}}' in result.text
    assert any(f"'{reducer}'" in message for message in looks(result))


def test_set_shared_with_a_mapping_merges_and_a_declared_reducer_stays() -> None:
    text = doc(
        """\
        - step: a
          loop: {in: [1], iterator: i, spec: {policy: {reduce: {ctx.n: max}}}}
          tool: {kind: noop, eval: [{else: {do: continue, set_shared: {m: {a: 1}, n: 2}}}]}
        """
    )
    assert "reduce: {ctx.n: max, ctx.m: merge}" in rewritten(text).text


@pytest.mark.parametrize(
    "body", ["set_ctx: 1", "set_iter: {a: 1}, set: [1]", "set: &x {ctx.a: 1}, set_vars: *x"]
)
def test_a_set_that_cannot_be_merged_is_left_with_a_note(body: str) -> None:
    text = doc(f"- step: a\n  tool: {{kind: noop, {body}}}")
    result = rewritten(text)
    assert result.text == text
    assert looks(result)


def test_set_shared_outside_a_loop_needs_no_reducer() -> None:
    result = rewritten(
        doc("- step: a\n  tool: {kind: noop, eval: [{else: {do: continue, set_shared: {t: 1}}}]}")
    )
    assert "set: {ctx.t: 1}" in result.text
    assert "reduce" not in result.text

"""Migration: every older spelling becomes canonical text, and nothing else in the text changes."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from noetl.dsl.load import load
from noetl.dsl.migrate import Migrated, migrate
from noetl.dsl.surface import DEPRECATIONS
from noetl.errors import PlaybookError
from noetl.tools import kinds
from tests.unit.dsl.documents import doc

SEEDS = sorted((Path(__file__).parents[2] / "fixtures" / "seeds").glob("*.yaml"))
COMMENT = re.compile(r"(?:^|\s)#.*")


def named(prefix: str) -> pytest.MarkDecorator:
    """One test for each fixture of an age."""
    chosen = [path for path in SEEDS if path.name.startswith(prefix)]
    return pytest.mark.parametrize("path", chosen, ids=lambda path: path.stem)


def rewritten(text: str) -> Migrated:
    """The migrated text, checked to be canonical: migrating it again changes nothing."""
    result = migrate(text, kinds=kinds())
    again = migrate(result.text, kinds=kinds())
    assert (again.text, again.changed) == (result.text, False)
    return result


def step(before: str, after: str) -> tuple[str, str]:
    """A workflow before and after."""
    return doc(before), doc(after)


def looks(result: Migrated) -> list[str]:
    """What the author is asked to look at."""
    return [note.message for note in result.notes if note.look]


# ---- the examples of every age ----------------------------------------------------------------------------


@named("v10_")
def test_a_v10_example_is_accepted_with_deprecation_warnings(path: Path) -> None:
    found = load(path.read_text(), kinds=kinds()).diagnostics
    assert not [finding for finding in found if finding.severity == "error"]
    assert [finding for finding in found if finding.code in DEPRECATIONS]


@named("legacy_")
def test_a_legacy_example_is_refused_with_what_replaces_it(path: Path) -> None:
    errors = [d for d in load(path.read_text(), kinds=kinds()).diagnostics if d.severity == "error"]
    assert errors
    for error in errors:
        assert error.hint is not None
        assert "write: " in error.hint
        assert "noetl migrate" in error.hint


@named("canonical_")
def test_canonical_text_comes_back_byte_for_byte(path: Path) -> None:
    result = migrate(path.read_bytes(), kinds=kinds())
    assert (result.text, result.changed, result.notes) == (path.read_text(), False, ())


@named("")
def test_every_migrated_example_passes_strict(path: Path) -> None:
    result = rewritten(path.read_text())
    found = load(result.text, kinds=kinds(), strict=True).diagnostics
    assert not [finding for finding in found if finding.severity == "error" or finding.code in DEPRECATIONS]


@named("")
def test_every_comment_of_an_example_survives(path: Path) -> None:
    text = path.read_text()
    before = Counter(match.group().strip() for match in map(COMMENT.search, text.splitlines()) if match)
    new = rewritten(text).text
    assert before == Counter(
        match.group().strip() for match in map(COMMENT.search, new.splitlines()) if match
    )


def test_a_guard_that_always_holds_is_all_that_the_long_example_loses() -> None:
    text = next(path for path in SEEDS if path.stem == "legacy_fetch_transform_store").read_text()
    before, after = load(text, kinds=kinds()).playbook, load(rewritten(text).text, kinds=kinds()).playbook
    assert before is not None
    assert after is not None
    assert [rule.when for rule in before.steps[0].admit] == ["{{ true }}", None]
    assert after == replace(before, steps=(replace(before.steps[0], admit=()), *before.steps[1:]))


REWIRED = ("v10_router", "v10_router_args", "v10_next_router", "legacy_step_shape", "legacy_eval_directives",
           "legacy_pipe_and_case", "legacy_fetch_transform_store")  # fmt: skip


@pytest.mark.parametrize("path", [p for p in SEEDS if p.stem not in REWIRED], ids=lambda path: path.stem)
def test_a_migrated_example_means_what_it_meant(path: Path) -> None:
    text = path.read_text()
    assert load(rewritten(text).text, kinds=kinds()).playbook == load(text, kinds=kinds()).playbook


# ---- each older spelling ----------------------------------------------------------------------------------

SPELLINGS = {
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
    "expr without braces": step(
        "- step: a\n  tool: {kind: noop}\n  next: [{step: a, expr: ctx.n > 1}]",
        '- step: a\n  tool: {kind: noop}\n  next: {arcs: [{step: a, when: "{{ ctx.n > 1 }}"}]}',
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
    "tool inputs beside kind": step(
        """\
        - step: a
          tool:
            kind: python

            # how many
            args: {n: 2}   # two
            code: |
              # the answer
              result = n

            spec: {timeout: 5}
        """,
        """\
        - step: a
          tool:
            kind: python

            input:
              # how many
              # two
              n: 2
              code: |
                # the answer
                result = n

            spec: {timeout: 5}
        """,
    ),
    "inputs on both sides": step(
        '- step: a\n  tool: {kind: http, method: GET, url: "http://a", input: {url: "http://b"}}',
        '- step: a\n  tool: {kind: http, input: {url: "http://b", method: GET}}',
    ),
    "what is called stands beside kind": step(
        "- step: a\n  tool: {kind: playbook, path: x/y, args: {n: 1}}",
        "- step: a\n  tool: {kind: playbook, path: x/y, input: {n: 1}}",
    ),
    "a label map in a block": step(
        """\
        - step: a
          tool:
            - first:  # one
                # kind of
                kind: noop

                desc: the first
            # before the second
            - "second": {kind: noop}  # two
        """,
        """\
        - step: a
          tool:
            - name: first  # one
              # kind of
              kind: noop

              desc: the first
            # before the second
            - {name: "second", kind: noop}  # two
        """,
    ),
    "a task labelled like sugar": step(
        "- step: a\n  tool: [{paginate: {kind: noop}}, {while: {kind: noop}}]",
        "- step: a\n  tool: [{name: paginate, kind: noop}, {name: while, kind: noop}]",
    ),
    "a label over an input called name": step(
        "- step: a\n  tool: [{login: {kind: secrets, name: api}}]",
        "- step: a\n  tool: [{name: login, kind: secrets, input: {name: api}}]",
    ),
    "labels as one mapping": step(
        """\
        - step: a
          tool:
            # one
            first: {kind: noop}
            second: {kind: noop}
        """,
        """\
        - step: a
          tool:
            # one
            - {name: first, kind: noop}
            - {name: second, kind: noop}
        """,
    ),
    "one label without a list": step(
        "- step: a\n  tool: {go: {kind: noop}}", "- step: a\n  tool: {name: go, kind: noop}"
    ),
    "step when": step(
        """\
        - step: a
          desc: x
          # only then
          when: "{{ ctx.go }}"  # say so
          tool: {kind: noop}
        """,
        """\
        - step: a
          desc: x
          # only then
          spec:
            policy:
              admit:
                rules:
                  - when: "{{ ctx.go }}"  # say so
                    then: {allow: true}
                  - else: {then: {allow: false}}
          tool: {kind: noop}
        """,
    ),
    "step when in braces": step(
        '- {step: a, when: "{{ ctx.go }}", tool: {kind: noop}}',
        """\
        - step: a
          spec:
            policy: {admit: {rules: [{when: "{{ ctx.go }}", then: {allow: true}}, {else: {then: {allow: false}}}]}}
          tool: {kind: noop}
        """,
    ),
    "step when that always holds": step(
        '- step: a\n  when: "{{ true }}"  # always\n  tool: {kind: noop}',
        "- step: a\n  # always\n  tool: {kind: noop}",
    ),
    "step when beside an admission": step(
        """\
        - step: a
          spec: {policy: {admit: {rules: [{else: {then: {allow: true}}}]}}}
          when: "{{ ctx.go or ctx.run }}"
          tool: {kind: noop}
        """,
        """\
        - step: a
          spec:
            policy:
              admit:
                rules:
                  - {when: "{{ not (ctx.go or ctx.run) }}", then: {allow: false}}
                  - {else: {then: {allow: true}}}
          tool: {kind: noop}
        """,
    ),
    "next as a list": step(
        """\
        - step: a
          tool: {kind: noop}
          next:  # onward
            # first
            - step: b
              when: "{{ event.name == 'call.error' }}"
            - c
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """,
        """\
        - step: a
          tool: {kind: noop}
          next:  # onward
            arcs:
              # first
              - step: b
                when: "{{ event.name == 'step.failed' }}"
              - {step: c}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """,
    ),
    "next as a name": step(
        "- {step: a, tool: {kind: noop}, next: b}\n- {step: b, tool: {kind: noop}}",
        "- {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}\n- {step: b, tool: {kind: noop}}",
    ),
    "next as one arc": step(
        "- step: a\n  next:\n    step: b\n- {step: b, tool: {kind: noop}}",
        "- step: a\n  next:\n    arcs:\n      - step: b\n- {step: b, tool: {kind: noop}}",
    ),
    "next_mode": step(
        "- step: a\n  spec: {next_mode: inclusive, timeout: 3}\n  next: [{step: b}]\n- {step: b, tool: {kind: noop}}",
        "- step: a\n  spec: {timeout: 3}\n  next: {spec: {mode: inclusive}, arcs: [{step: b}]}\n- {step: b, tool: {kind: noop}}",
    ),
    "next_mode of a router": step(
        "- step: a\n  spec: {next_mode: inclusive}\n  next: {arcs: [{step: b}]}\n- {step: b, tool: {kind: noop}}",
        "- step: a\n  next: {spec: {mode: inclusive}, arcs: [{step: b}]}\n- {step: b, tool: {kind: noop}}",
    ),
    "next_mode without next": step(
        "- step: a\n  spec: {next_mode: inclusive}\n  tool: {kind: noop}", "- step: a\n  tool: {kind: noop}"
    ),
    "scheduling in the loop's policy": step(
        "- step: a\n  loop: {in: [1], iterator: i, spec: {policy: {mode: parallel, max_in_flight: 3}}}\n  tool: {kind: noop}",
        "- step: a\n  loop: {in: [1], iterator: i, spec: {mode: parallel, max_in_flight: 3}}\n  tool: {kind: noop}",
    ),
    "pipe": step(
        "- step: a\n  pipe:\n    - {kind: noop}\n    - pipe: [{kind: noop}]",
        "- step: a\n  tool:\n    - {kind: noop}\n    - {kind: noop}",
    ),
    "pipe under tool": step("- step: a\n  tool: {pipe: [{kind: noop}]}", "- step: a\n  tool: [{kind: noop}]"),
    "vars of a step, set before": step(
        "- step: a\n  vars: {n: 1}\n  tool: {kind: python, input: {code: result = 1}}",
        """\
        - step: a
          tool:
            - {name: init_vars, kind: noop, set: {step.n: 1}}
            - {name: a_task, kind: python, input: {code: result = 1}}
        """,
    ),
    "vars of a step, set after": step(
        '- step: a\n  tool: {kind: noop}\n  vars: {n: "{{ outcome.result }}"}',
        '- step: a\n  tool: {kind: noop}\n  set: {step.n: "{{ output.data }}"}',
    ),
    "the word for success": step(
        "- step: a\n  tool: {kind: noop}\n  next: {arcs: [{step: a, when: \"{{ outcome.status == 'success' or 'success' != a.status "
        "or outcome.status in ['success'] or ctx.a.status == 'success' }}\"}]}",
        "- step: a\n  tool: {kind: noop}\n  next: {arcs: [{step: a, when: \"{{ output.status == 'ok' or 'ok' != a.status "
        "or output.status in ['ok'] or ctx.a.status == 'success' }}\"}]}",
    ),
    "result and result_ref": step(
        '- step: a\n  tool: {kind: noop}\n  set: {ctx.n: "{{ result.rows }}", ctx.r_ref: "{{ result_ref }}", ctx.e: "{{ outcome.py.exception }}"}',
        """\
        - step: a
          tool: {kind: noop}
          set:
            ctx.n: "{{ output.data.rows }}"
            ctx.r_ref: "{{ output.ref }}"
            ctx.e: "{{ output.py.exception_type }}"
        """,
    ),
    "a template in every quoting": step(
        """\
        - step: a
          tool:
            kind: postgres
            input:
              query: |
                select {{ outcome.x }}
                -- outcome
              params:
                - 'it''s {{ outcome.result }}'
                - "a\\tb {{ outcome.error.message }}"
                - plain {{ outcome.status }}
        """,
        """\
        - step: a
          tool:
            kind: postgres
            input:
              query: |
                select {{ output.x }}
                -- outcome
              params:
                - 'it''s {{ output.data }}'
                - "a\\tb {{ output.error.message }}"
                - plain {{ output.status }}
        """,
    ),
    "code is no template": step(
        '- step: a\n  tool: {kind: python, input: {code: "x = \'{{ outcome.y }}\'", y: "{{ outcome.y }}"}}',
        '- step: a\n  tool: {kind: python, input: {code: "x = \'{{ outcome.y }}\'", y: "{{ output.y }}"}}',
    ),
    "eval of a step": step(
        """\
        - step: a
          tool: {kind: noop}
          eval: [{else: {do: break}}]
        """,
        """\
        - step: a
          tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}
        """,
    ),
    "a result that was a reference": step(
        '- step: a\n  tool: {kind: noop, set_ctx: {rows_ref: "{{ outcome.result }}", n: "{{ outcome.result }}"}}',
        '- step: a\n  tool: {kind: noop, set: {ctx.rows_ref: "{{ output.ref }}", ctx.n: "{{ output.data }}"}}',
    ),
    "args of a step": step(
        "- step: a\n  args: {n: 1}\n  tool: {kind: noop}", "- step: a\n  input: {n: 1}\n  tool: {kind: noop}"
    ),
    "tasks inside sugar": step(
        """\
        - step: a
          tool:
            - name: c
              choose:
                - expr: "{{ ctx.x }}"
                  then: [{go: {kind: noop, set: {y: 1}}}]
                - else: [{kind: http, url: "http://x"}]
        """,
        """\
        - step: a
          tool:
            - name: c
              choose:
                - when: "{{ ctx.x }}"
                  then: [{name: go, kind: noop, set: {step.y: 1}}]
                - else: [{kind: http, input: {url: "http://x"}}]
        """,
    ),
}


@pytest.mark.parametrize("before, after", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_an_older_spelling_becomes_todays(before: str, after: str) -> None:
    result = rewritten(before)
    assert result.text == after
    assert result.changed
    assert result.notes


# ---- payloads of arcs -------------------------------------------------------------------------------------

PAYLOADS = {
    "a name every token brings is an input": step(
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, args: {n: 1}}]}
        - step: b
          desc: reads it
          tool: {kind: python, input: {m: "{{ args.n }}", k: "{{ n }}", code: "result = m"}}
        """,
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, set: {ctx.b.n: 1}}]}
        - step: b
          desc: reads it
          input: {n: "{{ ctx.b.n }}"}
          tool: {kind: python, input: {m: "{{ input.n }}", k: "{{ n }}", code: "result = m"}}
        """,
    ),
    "a name that may be missing is read where it is kept": step(
        """\
        - step: start
          tool: {kind: noop, set: {ctx.p: "{{ args.page | default(1) }}"}}
          next: {arcs: [{step: start, args: {page: 2}}]}
        """,
        """\
        - step: start
          tool: {kind: noop, set: {ctx.p: "{{ ctx.start.page | default(1) }}"}}
          next: {arcs: [{step: start, set: {ctx.start.page: 2}}]}
        """,
    ),
    "a name travels through steps that do not mention it": step(
        """\
        - step: start
          next: {arcs: [{step: b, args: {n: 1}}]}
        - step: b
          next: {arcs: [{step: c}]}
        - step: c
          tool: {kind: noop, set: {ctx.m: "{{ args.n }}"}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.b.n: 1}}]}
        - step: b
          input: {n: "{{ ctx.b.n }}"}
          next: {arcs: [{step: c, set: {ctx.c.n: "{{ input.n }}"}}]}
        - step: c
          input: {n: "{{ ctx.c.n }}"}
          tool: {kind: noop, set: {ctx.m: "{{ input.n }}"}}
        """,
    ),
    "the step's own input hands it on": step(
        """\
        - step: start
          next: {arcs: [{step: b, args: {n: 1}}]}
        - step: b
          input: {n: "{{ args.n }}", m: "{{ n }}"}
          tool: {kind: noop, set: {ctx.m: "{{ args.n }}"}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.b.n: 1}}]}
        - step: b
          input: {n: "{{ ctx.b.n }}", m: "{{ ctx.b.n }}"}
          tool: {kind: noop, set: {ctx.m: "{{ input.n }}"}}
        """,
    ),
    "a task's own input does not hide it": step(
        """\
        - step: start
          next: {arcs: [{step: b, args: {n: 1}}]}
        - step: b
          tool: {kind: noop, input: {n: 5, m: "{{ args.n }}"}, set: {ctx.m: "{{ args.n }}"}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.b.n: 1}}]}
        - step: b
          input: {n: "{{ ctx.b.n }}"}
          tool: {kind: noop, input: {n: 5, m: "{{ input.n }}"}, set: {ctx.m: "{{ ctx.b.n }}"}}
        """,
    ),
    "a reference is kept under a name that says so": step(
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, args: {rows: "{{ outcome.result_ref }}"}}]}
        - step: b
          tool: {kind: resolve, input: {ref: "{{ args.rows }}"}}
        """,
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, set: {ctx.b.rows_ref: "{{ output.ref }}"}}]}
        - step: b
          input: {rows: "{{ ctx.b.rows_ref }}"}
          tool: {kind: resolve, input: {ref: "{{ input.rows }}"}}
        """,
    ),
    "args that are one template": step(
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, args: "{{ outcome.result }}"}]}
        - step: b
          tool: {kind: noop, set: {ctx.m: "{{ args.n }}"}}
        """,
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, set: {ctx.b: "{{ output.data }}"}}]}
        - step: b
          tool: {kind: noop, set: {ctx.m: "{{ ctx.b.n }}"}}
        """,
    ),
    "args beside set": step(
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.x: 1}, args: {n: 2}}]}
        - {step: b, tool: {kind: noop}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.x: 1, ctx.b.n: 2}}]}
        - {step: b, input: {n: "{{ ctx.b.n }}"}, tool: {kind: noop}}
        """,
    ),
}


@pytest.mark.parametrize("before, after", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_args_of_an_arc_become_set_and_input(before: str, after: str) -> None:
    assert rewritten(before).text == after


def test_a_bare_name_that_may_be_missing_falls_back_to_the_workload() -> None:
    text = doc(
        """\
        - step: start
          tool: {kind: noop, set: {ctx.p: "{{ page + 1 }}"}}
          next: {arcs: [{step: start, args: {page: 2}}]}
        """
    ).replace("workflow:", "workload: {page: 1}\nworkflow:")
    assert 'ctx.p: "{{ (ctx.start.page | default(page)) + 1 }}"' in rewritten(text).text


@pytest.mark.parametrize(
    "spec, asked", [("", False), ("spec: {join: each}, ", True), ("spec: {join: first}, ", True)]
)
def test_a_target_with_several_tokens_in_flight_is_pointed_out(spec: str, asked: bool) -> None:
    text = doc(
        f"""\
        - step: start
          next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}
        - {{step: b, next: {{arcs: [{{step: d, args: {{n: 1}}}}]}}}}
        - {{step: c, next: {{arcs: [{{step: d, args: {{n: 2}}}}]}}}}
        - {{step: d, {spec}tool: {{kind: noop, set: {{ctx.m: "{{{{ args.n }}}}"}}}}}}
        """
    )
    assert any("several tokens" in message for message in looks(rewritten(text))) is asked


def test_tokens_of_a_split_inside_a_cycle_are_pointed_out() -> None:
    text = doc(
        """\
        - step: start
          next: {spec: {mode: inclusive}, arcs: [{step: start}, {step: b, args: {n: 1}}]}
        - {step: b, tool: {kind: noop}}
        """
    )
    assert any("several tokens" in message for message in looks(rewritten(text)))


# ---- set_prev and set_shared ------------------------------------------------------------------------------


def pipeline(*tasks: str) -> str:
    """A step with these tasks, one on each line."""
    return doc("- step: a\n  tool:\n" + "\n".join(f"    - {task}" for task in tasks))


ELSE = "spec: {policy: {rules: [{else: {then: {do: %s}}}]}}"

PREVIOUS = {
    "the value becomes the output of a task that follows": (
        [
            't: {kind: noop, eval: [{else: {do: continue, set_prev: "{{ outcome.result.x }}"}}]}',
            "{name: u, kind: noop}",
        ],
        [
            "{name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}",
            '{name: t_prev, kind: noop, output: "{{ t.data.x }}"}',
            "{name: u, kind: noop}",
        ],
    ),
    "other ways pass it by": (
        [
            't: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: continue}, {else: {do: continue, set_prev: 1}}]}',
            "{name: u, kind: noop}",
        ],
        [
            'name: t\n      kind: noop\n      spec:\n        policy: {rules: [{when: "{{ ctx.a }}", then: {do: jump, to: u}}, {else: {then: {do: continue}}}]}',
            "{name: t_prev, kind: noop, output: 1}",
            "{name: u, kind: noop}",
        ],
    ),
    "at the end of the pipeline other ways end it": (
        ['t: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: continue}, {else: {do: continue, set_prev: 1}}]}'],
        [
            'name: t\n      kind: noop\n      spec: {policy: {rules: [{when: "{{ ctx.a }}", then: {do: break}}, {else: {then: {do: continue}}}]}}',
            "{name: t_prev, kind: noop, output: 1}",
        ],
    ),
    "a jump goes by way of its own task": (
        [
            "t: {kind: noop, eval: [{else: {do: jump, to: u, set_prev: 1}}]}",
            "{name: s, kind: noop}",
            "{name: u, kind: noop}",
        ],
        [
            "{name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: t_prev}}}]}}}",
            "{name: t_prev, kind: noop, output: 1, spec: {policy: {rules: [{else: {then: {do: jump, to: u}}}]}}}",
            "{name: s, kind: noop}",
            "{name: u, kind: noop}",
        ],
    ),
    "a break ends with the value": (
        ["t: {kind: noop, eval: [{else: {do: break, set_prev: 1}}]}", "{name: u, kind: noop}"],
        [
            "{name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: t_prev}}}]}}}",
            "{name: t_prev, kind: noop, output: 1, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}",
            "{name: u, kind: noop}",
        ],
    ),
    "no else: success passes by, an error fails": (
        ['t: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: continue, set_prev: 1}]}', "{kind: noop}"],
        [
            "name: t\n      kind: noop\n      spec:\n        policy:\n          rules:\n"
            '            - {when: "{{ ctx.a }}", then: {do: continue}}\n'
            "            - {when: \"{{ output.status == 'error' }}\", then: {do: fail}}\n"
            "            - {else: {then: {do: jump, to: task_1}}}",
            "{name: t_prev, kind: noop, output: 1}",
            "{name: task_1, kind: noop}",
        ],
    ),
    "a retry that nothing reads": (
        ['t: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: retry, set_prev: 1}, {else: {do: continue}}]}'],
        [
            'name: t\n      kind: noop\n      spec: {policy: {rules: [{when: "{{ ctx.a }}", then: {do: retry}}, {else: {then: {do: continue}}}]}}',
        ],
    ),
}


@pytest.mark.parametrize("before, after", PREVIOUS.values(), ids=PREVIOUS.keys())
def test_set_prev_becomes_a_noop_that_other_ways_pass_by(before: list[str], after: list[str]) -> None:
    assert rewritten(pipeline(*before)).text == pipeline(*after)


def test_set_prev_of_a_single_task_makes_it_a_pipeline() -> None:
    text = doc("- step: a\n  tool: {kind: noop, eval: [{else: {do: continue, set_prev: 1}}]}")
    assert rewritten(text).text == doc(
        """\
        - step: a
          tool:
            - {name: a_task, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}
            - {name: a_task_prev, kind: noop, output: 1}
        """
    )


def test_set_prev_of_several_rules_gets_a_noop_each() -> None:
    text = pipeline(
        't: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: continue, set_prev: 1}, {else: {do: continue, set_prev: 2}}]}',
        "{name: u, kind: noop}",
    )
    rules = '[{when: "{{ ctx.a }}", then: {do: continue}}, {else: {then: {do: jump, to: t_prev_2}}}]'
    assert rewritten(text).text == pipeline(
        f"name: t\n      kind: noop\n      spec:\n        policy: {{rules: {rules}}}",
        "{name: t_prev, kind: noop, output: 1, spec: {policy: {rules: [{else: {then: {do: jump, to: u}}}]}}}",
        "{name: t_prev_2, kind: noop, output: 2}",
        "{name: u, kind: noop}",
    )


def test_a_retry_that_reads_what_it_set_is_left_to_the_author() -> None:
    text = pipeline(
        't: {kind: python, args: {x: "{{ _prev }}"}, code: "", eval: [{else: {do: retry, set_prev: 1}}]}'
    )
    result = rewritten(text)
    assert "set_prev: 1" in result.text
    assert any("set_prev" in message for message in looks(result))


SHARED = {
    "an addition": ("{{ vars.total | default(0) + outcome.result.n }}", "sum", "{{ output.data.n }}"),
    "an addition in brackets": ("{{ (ctx.total | default(0)) + 1 }}", "sum", "{{ 1 }}"),
    "one more item": ("{{ vars.total + [iter.i] }}", "append", "{{ iter.i }}"),
    "a choice is no addition": (
        "{{ vars.total + 1 if ctx.a else 0 }}",
        "last",
        "{{ ctx.total + 1 if ctx.a else 0 }}",
    ),
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


def test_set_shared_outside_a_loop_needs_no_reducer() -> None:
    result = rewritten(
        doc("- step: a\n  tool: {kind: noop, eval: [{else: {do: continue, set_shared: {t: 1}}}]}")
    )
    assert "set: {ctx.t: 1}" in result.text
    assert "reduce" not in result.text


# ---- case, vars and the root ------------------------------------------------------------------------------

CASES = {
    "routing": step(
        """\
        - step: a
          tool: {kind: noop}
          # where to
          case:
            # the good way
            - when: "{{ event.name == 'call.done' }}"
              then: [{next: b}]
            - else: {next: [{step: c}]}
          next: [{step: d}]
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        - {step: d, tool: {kind: noop}}
        """,
        """\
        - step: a
          tool: {kind: noop}
          # where to
          next:
            arcs:
              # the good way
              - {step: b, when: "{{ event.name in ['step.done', 'loop.done'] }}"}
              - {step: c}
              - {step: d}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        - {step: d, tool: {kind: noop}}
        """,
    ),
    "fan-out of one branch": step(
        '- step: a\n  case: [{when: "{{ ctx.x }}", then: {next: [b, c]}}]\n- {step: b, tool: {kind: noop}}\n- {step: c, tool: {kind: noop}}',
        """\
        - step: a
          next:
            spec: {mode: inclusive}
            arcs:
              - {step: b, when: "{{ ctx.x }}"}
              - {step: c, when: "{{ ctx.x }}"}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """,
    ),
    "choosing tasks": step(
        """\
        - step: a
          tool: {kind: noop}
          case:
            - when: "{{ outcome.result }}"
              then: {pipe: [{x: {kind: noop}}]}
        """,
        """\
        - step: a
          tool:
            - {name: a_task, kind: noop}
            - name: case
              choose:
                - when: "{{ output.data }}"
                  then: [{name: x, kind: noop}]
        """,
    ),
}


@pytest.mark.parametrize("before, after", CASES.values(), ids=CASES.keys())
def test_a_case_that_only_routes_or_only_chooses_is_rewritten(before: str, after: str) -> None:
    result = rewritten(before)
    assert " ".join(result.text.split()) == " ".join(after.split())


@pytest.mark.parametrize(
    "case",
    [
        '[{when: "{{ event.name }}", then: {tool: [{kind: noop}]}}]',
        '[{when: "{{ ctx.x }}", then: {next: b, set: {ctx.y: 1}}}]',
        '[{when: "{{ ctx.x }}", then: {next: [b, c]}}, {else: {next: b}}]',
        "{when: true}",
        "[{then: {next: b}}]",
    ],
)
def test_a_case_without_a_mechanical_replacement_is_left_with_a_note(case: str) -> None:
    text = doc(f"- step: a\n  case: {case}")
    result = rewritten(text)
    assert result.text == text
    assert [message for message in looks(result) if "'case' was left" in message]


ROOTS = {
    "vars": (
        "vars:\n  a: 1  # one\nworkload:\n  b: 2\n",
        "workload:\n  b: 2\n  a: 1  # one\n",
    ),
    "vars without workload": ("vars: {a: 1}\n", "workload: {a: 1}\n"),
    "executor.kind": ("executor: {kind: local}\n", "executor: {profile: local}\n"),
    "executor.kind beside profile": (
        "executor: {kind: local, profile: auto}\n",
        "executor: {profile: auto}\n",
    ),
    "workbook.tasks": (
        "workbook:\n  # the blocks\n  tasks:\n    one:\n      tool: {kind: noop}\n",
        "workbook:\n  # the blocks\n  one:\n    tool: {kind: noop}\n",
    ),
    "tasks of the workbook": (
        'workbook:\n  tasks:\n    one:\n      kind: http\n      url: "{{ args.u }}"\n',
        'workbook:\n  one:\n    tool:\n      kind: http\n      input:\n        url: "{{ input.u }}"\n',
    ),
    "a list of blocks": (
        "workbook:\n  - name: one\n    tool: {go: {kind: noop}}\n",
        "workbook:\n  - name: one\n    tool: {name: go, kind: noop}\n",
    ),
}


@pytest.mark.parametrize("before, after", ROOTS.values(), ids=ROOTS.keys())
def test_an_older_root_becomes_todays(before: str, after: str) -> None:
    text = doc("- {step: a, tool: {kind: noop}}")
    assert rewritten(text.replace("workflow:", f"{before}workflow:")).text == text.replace(
        "workflow:", f"{after}workflow:"
    )


def test_an_executor_kind_that_is_no_profile_is_pointed_out() -> None:
    text = doc("- {step: a, tool: {kind: noop}}").replace("workflow:", "executor: {kind: moon}\nworkflow:")
    assert "the profile must be one of auto, local, distributed" in looks(rewritten(text))


def test_readers_of_root_vars_read_the_workload() -> None:
    text = doc('- {step: a, tool: {kind: noop, set: {ctx.x: "{{ vars.a + vars.b }}"}}}')
    new = rewritten(text.replace("workflow:", "vars: {a: 1}\nworkflow:")).text
    assert "{{ workload.a + step.b }}" in new


# ---- what is left alone -----------------------------------------------------------------------------------

LEFT = {
    "a name of one's own": doc(
        '- step: a\n  input: {result: 1, vars: {x: 2}}\n  tool: {kind: noop, set: {ctx.x: "{{ result + vars.x }}"}}'
    ),
    "a workload value called outcome in text": doc(
        "- step: a\n  desc: the outcome of eval\n  tool: {kind: noop}"
    ),
    "words inside literals": doc(
        '- step: a\n  tool: {kind: noop, set: {ctx.x: "{{ \'outcome.result\' ~ \\"args.x\\" }}"}}'
    ),
    "an eval beside a policy": doc(
        "- step: a\n  tool: {kind: noop, spec: {policy: {rules: []}}, eval: [{do: fail}]}"
    ),
    "an eval that is no list": doc("- step: a\n  tool: {kind: noop, eval: x}"),
    "args that are no mapping": doc('- step: a\n  tool: {kind: noop, args: "{{ x }}"}'),
    "an unknown kind": doc("- step: a\n  tool: {kind: nonsense, url: x}"),
    "an explicit key": doc("- step: a\n  ? tool\n  : {kind: noop, eval: []}"),
    "no mapping": "- a\n- b\n",
    "no workflow": "a: 1\n",
    "steps that are no mappings": "workflow: [1, x, {step: [a]}]\nworkbook: 3\nexecutor: []\nvars: 1\n",
    "shapes out of place": "workflow:\n- step: a\n  spec: 1\n  when: [x]\n  loop: 2\n  tool: 3\n  next: {arcs: 4}\n  set: 5\n  pipe: 6\n  case: 7\n",
}


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT.keys())
def test_what_cannot_be_rewritten_is_left_as_it_is(text: str) -> None:
    result = rewritten(text)
    if "- step: a\n  spec: 1" not in text:
        assert result.text == text


@pytest.mark.parametrize("text", ["a: [1\n", "a: 1\na: 2\n", "a: !x 1\n", b"\xff\xfe", "", "a: {{ x }}\n"])
def test_a_text_that_is_not_valid_yaml_is_refused_with_its_diagnostics(text: str | bytes) -> None:
    with pytest.raises(PlaybookError) as refused:
        migrate(text, kinds=kinds())
    assert refused.value.diagnostics
    assert all(finding.line for finding in refused.value.diagnostics)


def test_line_endings_and_byte_order_mark_stay() -> None:
    before, after = step("- step: a\n  tool: {go: {kind: noop}}", "- step: a\n  tool: {name: go, kind: noop}")
    windows = "\ufeff" + before.replace("\n", "\r\n")
    assert migrate(windows, kinds=kinds()).text == "\ufeff" + after.replace("\n", "\r\n")
    mixed = after.replace("\n", "\r\n", 3)
    assert migrate(mixed, kinds=kinds()).text == mixed


def test_json_stays_json() -> None:
    text = '{\n    "workflow": [{"step": "a", "tool": [{"go": {"kind": "noop", "args": {"é": [1.5, null]}}}]}]\n}\n'
    result = rewritten(text)
    task = {"name": "go", "kind": "noop", "input": {"é": [1.5, None]}}
    assert json.loads(result.text) == {"workflow": [{"step": "a", "tool": [task]}]}
    assert result.text.startswith('{\n    "workflow": [')
    assert result.text.endswith("\n}\n")


def test_a_list_without_indentation_keeps_its_habit() -> None:
    text = dedent(
        """\
        apiVersion: noetl.io/v2
        workflow:
        - step: a
          tool:
          - go:
              kind: noop
              eval:
              - expr: "{{ x }}"
                do: break
          next:
          - step: a
        """
    )
    expected = dedent(
        """\
        apiVersion: noetl.io/v2
        workflow:
        - step: a
          tool:
          - name: go
            kind: noop
            spec:
              policy:
                on_unmatched: by_status
                rules:
                - when: "{{ x }}"
                  then:
                    do: break
          next:
            arcs:
            - step: a
        """
    )
    assert rewritten(text).text == expected


def test_an_anchored_rule_list_is_rewritten_once() -> None:
    text = doc(
        """\
        - step: a
          tool:
            - {name: x, kind: noop, eval: &retry [{expr: "{{ ctx.a }}", do: retry}]}
            - {name: y, kind: noop, eval: *retry}
        """
    )
    new = rewritten(text).text
    assert 'rules: &retry [{when: "{{ ctx.a }}", then: {do: retry}}]' in new
    assert "{on_unmatched: by_status, rules: *retry}" in new


def test_notes_carry_the_line_of_the_original_text_in_order() -> None:
    text = doc(
        '- step: a\n  when: "{{ ctx.x }}"\n  tool: {kind: noop, eval: []}\n  next: b\n- {step: b, tool: {kind: noop}}'
    )
    notes = rewritten(text).notes
    assert [note.line for note in notes] == [6, 7, 8]
    assert "admit" in notes[0].message

"""Migration of tasks and of the templates in them: labels, inputs, older names."""

import pytest

from tests.unit.dsl.documents import doc
from tests.unit.dsl.migrating import looks, rewritten, step

TASKS = {
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
    "labels that are no names": step(
        """\
        - step: a
          tool:
            - name: fetch-page  # page by page
              kind: noop
            - name: "2nd"
              kind: noop
              set: {ctx.x: "{{ fetch-page.data }}", ctx.y: "{{ 'fetch-page' ~ ctx.x }}"}
              spec: {policy: {rules: [{when: "{{ true }}", then: {do: jump, to: "fetch-page"}}, {else: {then: {do: break}}}]}}
          set: {ctx.z: "{{ a.results['fetch-page'].data }}"}
        """,
        """\
        - step: a
          tool:
            - name: fetch_page  # page by page
              kind: noop
            - name: task_2nd
              kind: noop
              set: {ctx.x: "{{ fetch_page.data }}", ctx.y: "{{ 'fetch-page' ~ ctx.x }}"}
              spec: {policy: {rules: [{when: "{{ true }}", then: {do: jump, to: fetch_page}}, {else: {then: {do: break}}}]}}
          set: {ctx.z: "{{ a.results.fetch_page.data }}"}
        """,
    ),
    "variables beside code": step(
        """\
        - step: a
          tool:
            kind: python
            input: {k: 1}
            total: 2
            code: |
              result = k + total
        """,
        """\
        - step: a
          tool:
            kind: python
            input:
              k: 1
              total: 2
              code: |
                result = k + total
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
    "a label said twice": step(
        "- step: a\n  tool: [{go: {name: go, kind: noop}}]", "- step: a\n  tool: [{name: go, kind: noop}]"
    ),
    "a label over input and name": step(
        "- step: a\n  tool: [{login: {kind: secrets, name: api, input: {}}}]",
        "- step: a\n  tool: [{name: login, kind: secrets, input: {name: api}}]",
    ),
    "empty args": step(
        "- step: a\n  tool: {kind: noop, args: {}, input: {x: 1}}",
        "- step: a\n  tool: {kind: noop, input: {x: 1}}",
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
    "tasks inside sugar": step(
        """\
        - step: a
          tool:
            - name: c
              choose:
                - expr: "{{ ctx.x }}"
                  then: [{go: {kind: noop, set: {y: 1}}}]
                - else: [{kind: http, url: "http://x"}]
            - name: p
              paginate: {request: {kind: http, url: "http://x"}, each: [{go: {kind: noop}}]}
        """,
        """\
        - step: a
          tool:
            - name: c
              choose:
                - when: "{{ ctx.x }}"
                  then: [{name: go, kind: noop, set: {step.y: 1}}]
                - else: [{kind: http, input: {url: "http://x"}}]
            - name: p
              paginate: {request: {kind: http, input: {url: "http://x"}}, each: [{name: go, kind: noop}]}
        """,
    ),
    "the word for success": step(
        "- step: a\n  tool: {kind: noop}\n  next: {arcs: [{step: a, when: \"{{ outcome.status == 'success' or 'success' != a.status "
        "or outcome.status | lower in ['success'] or ctx.a is not defined or ctx.a.status == 'success' }}\"}]}",
        "- step: a\n  tool: {kind: noop}\n  next: {arcs: [{step: a, when: \"{{ output.status == 'ok' or 'ok' != a.status "
        "or output.status | lower in ['ok'] or ctx.a is not defined or ctx.a.status == 'success' }}\"}]}",
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
    "a result that was a reference": step(
        '- step: a\n  tool: {kind: noop, set_ctx: {rows_ref: "{{ outcome.result }}", n: "{{ outcome.result }}"}}',
        '- step: a\n  tool: {kind: noop, set: {ctx.rows_ref: "{{ output.ref }}", ctx.n: "{{ output.data }}"}}',
    ),
}


@pytest.mark.parametrize("before, after", TASKS.values(), ids=TASKS.keys())
def test_an_older_task_becomes_todays(before: str, after: str) -> None:
    result = rewritten(before)
    assert result.text == after
    assert result.notes


@pytest.mark.parametrize(
    "tool, word",
    [
        ("[&t {name: x, kind: noop}, {go: *t}]", "alias"),
        ('{kind: http, url: "http://x", input: "{{ x }}"}', "'input'"),
        ('{kind: noop, args: "{{ x }}"}', "'args'"),
    ],
)
def test_a_task_that_cannot_be_rewritten_is_left_with_a_note(tool: str, word: str) -> None:
    text = doc(f"- step: a\n  tool: {tool}")
    result = rewritten(text)
    assert result.text == text
    assert [message for message in looks(result) if word in message]

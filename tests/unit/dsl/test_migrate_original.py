"""Playbooks of the original NoETL: every spelling of theirs becomes today's, and says so where it may differ."""

from pathlib import Path
from textwrap import dedent, indent

import pytest

from noetl.dsl.load import load
from noetl.dsl.older_spellings.findings import DEPRECATIONS
from noetl.tools import kinds
from tests.unit.dsl.documents import HEAD, doc
from tests.unit.dsl.migrating import looks, rewritten

FOLDER = Path(__file__).parents[2] / "fixtures" / "original"
PLAYBOOKS = sorted(FOLDER.glob("*.yaml"))


def one(task: str) -> str:
    """A step with one task, whose keys stand on their own lines."""
    return doc("- step: a\n  tool:\n" + indent(dedent(task).strip("\n"), "    "))


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_a_playbook_of_the_original_loads_without_errors_and_deprecations(path: Path) -> None:
    found = load(rewritten(path.read_text()).text, kinds=kinds()).diagnostics
    assert [d for d in found if d.severity == "error" or d.code in DEPRECATIONS] == []


TASKS = [
    (
        "a request's payload is JSON",
        'kind: http\nmethod: POST\nurl: "http://x"\npayload: {a: 1}\nverify_ssl: false',
        'kind: http\ninput:\n  method: POST\n  url: "http://x"\n  json: {a: 1}\n  verify: false',
    ),
    (
        "a form by its content type",
        "kind: http\nmethod: POST\nurl: u\nheaders: {Content-Type: application/x-www-form-urlencoded}\ndata: {a: 1}",
        "kind: http\ninput:\n  method: POST\n  url: u\n"
        "  headers: {Content-Type: application/x-www-form-urlencoded}\n  form: {a: 1}",
    ),
    (
        "data without a body to send are parameters",
        "kind: http\nmethod: GET\nendpoint: u\ndata: {page: 1}",
        "kind: http\ninput:\n  method: GET\n  url: u\n  params: {page: 1}",
    ),
    (
        "a timeout beside kind",
        "kind: http\nurl: u\ntimeout: 30  # seconds",
        "kind: http\ninput:\n  url: u\nspec:\n  timeout: 30  # seconds",
    ),
    (
        "the action of nats",
        "kind: nats\noperation: kv_put\nbucket: b\nkey: k\nvalue: 1",
        "kind: nats\ninput:\n  action: kv_put\n  bucket: b\n  key: k\n  value: 1",
    ),
    (
        "a message and its stream",
        "kind: nats\noperation: js_publish\nstream: S\nsubject: a.b\ndata: {n: 1}",
        "kind: nats\ninput:\n  action: publish\n"
        "  # noetl: the stream is the one that keeps the subject, whatever its name\n"
        "  stream: true\n  subject: a.b\n  value: {n: 1}",
    ),
    (
        "a pattern of keys",
        "kind: nats\noperation: kv_keys\nbucket: b\npattern: a.>",
        "kind: nats\ninput:\n  action: kv_keys\n  bucket: b\n  key: a.>",
    ),
    (
        "a credential",
        "kind: postgres\ncredential: pg\nquery: select 1",
        "kind: postgres\nauth: pg\ninput:\n  query: select 1",
    ),
    (
        "a credential in a mapping",
        "kind: postgres\nauth: {source: credential, key: pg}\nquery: select 1",
        "kind: postgres\nauth: pg\ninput:\n  query: select 1",
    ),
    (
        "command lines",
        "kind: shell\ncmds:\n  - echo one\n  - echo two",
        "kind: shell\ninput:\n  command: |-\n    set -e\n    echo one\n    echo two",
    ),
    (
        "statements",
        "kind: duckdb\ncommands: |\n  select 1;\n  select 2",
        "kind: duckdb\ninput:\n  command: |\n    select 1;\n    select 2",
    ),
    (
        "inputs under spec",
        "kind: http\nspec:\n  url: u\n  method: GET\n  timeout: 5",
        "kind: http\ninput:\n  url: u\n  method: GET\nspec:\n  timeout: 5",
    ),
    (
        "what a child is given",
        "kind: playbook\npath: a/b\npayload: {x: 1}",
        "kind: playbook\npath: a/b\ninput: {x: 1}",
    ),
    (
        "a script that is a file",
        "kind: python\nscript:\n  uri: ./a.py\n  source: {type: file}",
        "kind: python\ninput:\n  script: ./a.py",
    ),
    (
        "a retry",
        "kind: http\nurl: u\nretry:\n  max_attempts: 2\n  retry_on: [timeout, connection_error]\n  backoff: 5",
        "kind: http\ninput:\n  url: u\nspec:\n  policy:\n    on_unmatched: by_status\n    rules:\n"
        "      - when: \"{{ output.status == 'error' and (output.error.kind == 'timeout' or "
        "output.error.kind == 'connect') }}\"\n        then: {do: retry, attempts: 2, delay: 5}",
    ),
    (
        "a retry by status",
        "kind: http\nurl: u\nretry: {max_attempts: 3, retry_on_status: [429, 503], backoff_seconds: 2}",
        "kind: http\ninput:\n  url: u\nspec:\n  policy:\n    on_unmatched: by_status\n    rules:\n"
        "      - when: \"{{ output.status == 'error' and (output.http.status in [429, 503]) }}\"\n"
        "        then: {do: retry, attempts: 3, delay: 2}",
    ),
    (
        "modules of libs",
        "kind: python\nlibs: {json: json, pd: pandas, dt: {from: datetime, import: datetime}}\n"
        "code: |\n  result = json.dumps(pd.x(dt.now()))",
        "kind: python\ninput:\n  code: |\n    import json\n    import pandas as pd\n"
        "    from datetime import datetime as dt\n    result = json.dumps(pd.x(dt.now()))",
    ),
    (
        "modules that were there",
        "kind: python\ncode: |\n  result = os.path.join('a', json.dumps(1))",
        "kind: python\ninput:\n  code: |\n    import json\n    import os\n"
        "    result = os.path.join('a', json.dumps(1))",
    ),
    (
        "all inputs of the code",
        'kind: python\ninput: {a: 1, b: 2}\ncode: |\n  result = input_data.get("a")',
        'kind: python\ninput:\n  a: 1\n  b: 2\n  code: |\n    input_data = {"a": a, "b": b}\n'
        '    result = input_data.get("a")',
    ),
    (
        "a return outside of a function",
        "kind: python\ninput: {a: 1}\ncode: |\n  if a:\n      return 1\n  return '''x\n  y'''",
        "kind: python\ninput:\n  a: 1\n  code: |\n    def main(a):\n        if a:\n            return 1\n"
        "        return '''x\n    y'''",
    ),
    (
        "numbers that ids of executions were",
        "kind: sqlite\ncommand: \"select {{ execution_id }}, '{{ execution_id }}'\"",
        "kind: sqlite\ninput:\n  # noetl: the id of an execution is a text here; a number made of it stands for it\n"
        "  command: \"select {{ execution_id[-15:] | int(0, 16) }}, '{{ execution_id }}'\"",
    ),
    (
        "places of a transfer",
        "kind: transfer\nsource: {type: http, url: u}\ntarget: {type: sqlite, table: t, mapping: {a: b}}",
        "kind: transfer\ninput:\n  source: {kind: http, url: u}\n  target: {kind: sqlite, table: t}\n"
        "  mapping: {a: b}",
    ),
    (
        "an error by its name elsewhere",
        "kind: http\nurl: u\nspec:\n  policy:\n    rules:\n"
        "      - {when: \"{{ output.error.kind == 'rate_limit' }}\", then: {do: retry}}\n"
        '      - {when: "{{ output.error.status in [500] }}", then: {do: fail}}',
        "kind: http\ninput:\n  url: u\nspec:\n  policy:\n    rules:\n"
        '      - {when: "{{ output.http.status == 429 }}", then: {do: retry}}\n'
        '      - {when: "{{ output.http.status in [500] }}", then: {do: fail}}',
    ),
]


@pytest.mark.parametrize(("before", "after"), [case[1:] for case in TASKS], ids=[case[0] for case in TASKS])
def test_a_task_of_the_original_becomes_todays(before: str, after: str) -> None:
    assert rewritten(one(before)).text == one(after)


GONE = [
    ("kind: playbook\npath: p\nreturn_step: end", "'return_step' is gone"),
    ("kind: postgres\nquery: select 1\npool: {}", "'pool' is gone"),
    ("kind: playbook\npath: p\ntask: x", "'task' is gone"),
    ("kind: noop\noutput: {store: kv, select: [a]}", "'output' is gone"),
    ("kind: noop\noutput_select: [a]", "'output_select' is gone"),
]


@pytest.mark.parametrize(("before", "message"), GONE)
def test_what_decides_nothing_leaves_a_remark_beside_its_line(before: str, message: str) -> None:
    result = rewritten(one(before))
    assert [look for look in looks(result) if look.startswith(message)]
    assert "# noetl: " in result.text
    assert not [d for d in load(result.text, kinds=kinds()).diagnostics if d.severity == "error"]


UNDECIDED = [
    ("kind: http\nurl: u\npayload: {a: 1}\njson: {b: 2}", "'payload' stands beside another body"),
    ("kind: http\nurl: u\nwhatever: 1", "'whatever' is no input of kind 'http'"),
    ("kind: postgres\nauth: {a: 1, b: 2}\nquery: q", "'auth' is the name of one credential"),
    ("kind: python\nscript: {uri: u, source: {type: gcs}}", "'script' is a file here"),
]


@pytest.mark.parametrize(("before", "message"), UNDECIDED)
def test_what_the_text_does_not_decide_is_left_with_the_choice(before: str, message: str) -> None:
    assert message in looks(rewritten(one(before)))


RESULTS = [
    ('"{{ fetch }}"', "'body': fetch.data"),
    ('"{{ fetch.status_code }}"', '"{{ fetch.http.status }}"'),
    ('"{{ fetch.data.headers }}"', '"{{ fetch.http.headers }}"'),
    ('"{{ fetch.body.x }}"', '"{{ fetch.data.x }}"'),
    ('"{{ fetch.data.rows }}"', '"{{ fetch.data.rows }}"'),
    ('"{{ made }}"', '"{{ made.data }}"'),
    ('"{{ made.count }}"', '"{{ made.count }}"'),
    ('"{{ made.status }}"', '"{{ made.data.status }}"'),
    ('"{{ made.data.rows }}"', '"{{ made.data.data.rows }}"'),
    ('"{{ made.data.count }}"', '"{{ made.data.count }}"'),
    ('"{{ made.context.count }}"', '"{{ made.data.count }}"'),
    ("\"{{ made.get('count') }}\"", "\"{{ made.data.get('count') }}\""),
    ('"{{ made | default({}) }}"', '"{{ made.data | default({}) }}"'),
    ('"{{ rows }}"', '"{{ rows.data }}"'),
    ('"{{ rows.command_0.rows }}"', '"{{ rows.command_0.rows }}"'),
    ('"{{ known }}"', '"{{ known }}"'),
]
STEPS = """\
- {step: fetch, tool: {kind: http, url: u}}
- step: made
  tool:
    kind: python
    code: |
      result = {"status": "x", "data": {"rows": []}, "count": 1}
- {step: rows, tool: {kind: duckdb, query: select 1}}
- {step: known, tool: {kind: noop}}
- step: last
  input: {known: 1}
  tool: {kind: noop, input: {x: VALUE}}
"""


@pytest.mark.parametrize(("before", "after"), RESULTS)
def test_a_name_that_stood_for_an_answer_reads_its_data(before: str, after: str) -> None:
    result = rewritten(doc(STEPS.replace("VALUE", before)))
    line = next(line for line in result.text.splitlines() if "input: {x:" in line or "x: " in line)
    assert after in line


def test_a_playbook_of_today_keeps_what_its_names_mean() -> None:
    text = doc('- {step: a, tool: {kind: noop}}\n- {step: b, tool: {kind: noop, input: {x: "{{ a }}"}}}')
    assert rewritten(text).text == text


def test_result_in_a_set_is_what_its_tool_answers_with() -> None:
    before = """\
    - step: a
      tool: {kind: sqlite, query: select 1}
      set: {ctx.n: "{{ result | length }}", ctx.first: "{{ result[0].x }}"}
    - step: b
      tool: {kind: http, url: u}
      set: {ctx.ok: "{{ result.status == 200 }}", ctx.name: "{{ result.body.name }}"}
    """
    after = rewritten(doc(before)).text
    assert (
        'set: {ctx.n: "{{ output.data.rows | length }}", ctx.first: "{{ output.data.rows[0].x }}"}' in after
    )
    assert 'set: {ctx.ok: "{{ output.http.status == 200 }}", ctx.name: "{{ output.data.name }}"}' in after


def test_what_nats_answered_with_is_read_where_it_is_today() -> None:
    text = rewritten(
        doc(
            """\
            - step: get
              tool: {kind: nats, operation: kv_get, bucket: b, key: k}
              next: [{step: use, when: "{{ get.status == 'success' and get.value.a }}"}]
            - step: list
              tool: {kind: nats, operation: kv_keys, bucket: b}
            - step: use
              tool: {kind: noop, output: ["{{ get.data.value }}", "{{ list.keys }}", "{{ get }}"]}
            """
        )
    )
    assert """when: "{{ get.status == 'ok' and get.data.a }}\"""" in text.text
    assert '- "{{ get.data }}"\n' in text.text
    assert '- "{{ list.data }}"\n' in text.text
    assert "'value': get.data | default(none)}" in text.text
    assert any("'not_found', which fails the step" in message for message in looks(text))


def test_an_action_of_nats_that_is_not_offered_says_what_to_write() -> None:
    result = rewritten(one("kind: nats\noperation: object_put\nbucket: b\nname: n\ndata: x"))
    hints = [note.hint for note in result.notes if "'object_put' is not offered" in note.message]
    assert hints == ["write: kind: object, input: {action: …, store: nats://BUCKET, key: …}"]


def test_vars_that_another_step_reads_are_shared_and_others_stay_the_steps_own() -> None:
    result = rewritten(
        doc(
            """\
            - step: a
              tool: {kind: http, url: u}
              vars: {user: "{{ a.data.id }}", own: "{{ a.data.n }}"}
              next: [{step: b, when: "{{ vars.own and vars.user }}"}]
            - step: b
              vars: {mode: fast}
              tool: {kind: noop, output: "{{ vars.user }} {{ vars.mode }}"}
            """
        )
    )
    assert 'ctx.user: "{{ output.data.id }}"' in result.text
    assert 'step.own: "{{ output.data.n }}"' in result.text
    assert 'when: "{{ step.own and ctx.user }}"' in result.text
    assert "{step.mode: fast}" in result.text
    assert '"{{ ctx.user }} {{ step.mode }}"' in result.text
    assert "'user', which another step reads, is now 'ctx.user'" in [note.message for note in result.notes]


def test_a_steps_own_name_in_its_set_is_its_output() -> None:
    before = '- step: a\n  tool: {kind: noop, timeout: 1}\n  set: {ctx.x: "{{ a.n }}", ctx.y: "{{ a }}"}'
    after = rewritten(doc(before)).text
    assert 'set: {ctx.x: "{{ output.data.n }}", ctx.y: "{{ output.data }}"}' in after


def test_statements_from_a_file_are_read_by_a_task_before() -> None:
    before = one("kind: sqlite\nscript: {uri: a.sql, source: {type: file}}")
    after = """\
    - step: a
      tool:
        - name: a_task_script
          kind: file
          input: {action: read, path: a.sql, format: text}
        - name: a_task
          kind: sqlite
          input:
            command: "{{ a_task_script.data }}"
    """
    assert rewritten(before).text == doc(after)


def test_a_template_of_the_workload_is_computed_where_it_is_read() -> None:
    step = '- {step: a, tool: {kind: noop, timeout: 1, input: {x: "{{ run }}", y: "{{ workload.id }}", z: "{{ w }}"}}}'
    head = HEAD + 'workload:\n  run: "r-{{ execution_id }}"\n  id: "{{ job.uuid }}"\n  w: "{{ now() }}"\n'
    result = rewritten(doc(step, head))
    assert 'x: "{{ (\'r-\' ~ execution_id) }}", y: "{{ execution_id }}", z: "{{ w }}"' in result.text
    assert [look for look in looks(result) if look.startswith("a template here stays a text")]


def test_templates_in_code_become_inputs_that_it_reads() -> None:
    code = 'result = [{{ kb }}, "run {{ execution_id }}", "{{ nobody }}", {1: {}}]'
    before = doc(
        f"- step: a\n  tool:\n    kind: python\n    code: |\n      {code}", HEAD + "workload: {kb: 1}\n"
    )
    today = 'result = [kb, "run <execution_id>".replace("<execution_id>", str(execution_id)), "{{ nobody }}", {1: {}}]'
    after = """\
    - step: a
      tool:
        kind: python
        input:
          kb: "{{ kb }}"
          execution_id: "{{ execution_id }}"
          code: |
            TODAY
    """
    assert rewritten(before).text == doc(after.replace("TODAY", today), HEAD + "workload: {kb: 1}\n")


def test_a_block_that_could_never_run_is_gone() -> None:
    book = "workbook:\n  - name: b\n    tool: {kind: playbook, retry: {max_attempts: 2}}\n"
    result = rewritten(doc("- {step: a, tool: {kind: noop}}", HEAD + book))
    assert result.text == doc("- {step: a, tool: {kind: noop}}")
    assert looks(result) == ["block 'b' is gone: it names no playbook, and nobody calls it"]


def test_duckdb_tasks_of_an_execution_share_their_database() -> None:
    steps = "- {step: a, tool: {kind: duckdb, query: create table t (x int)}}\n- {step: b, tool: {kind: duckdb, query: q}}"
    assert rewritten(doc(steps)).text.count('database: "{{ execution_id }}.duckdb"') == 2


def test_a_name_that_a_failed_task_did_not_set_may_be_missing() -> None:
    before = """\
    - step: a
      tool:
        - name: bad
          kind: python
          code: "1 / 0"
          spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: continue}}]}}
          set: {kept: "{{ output }}"}
        - {name: next, kind: noop, input: {x: "{{ kept }}"}}
    """
    assert 'x: "{{ kept | default(none) }}"' in rewritten(doc(before)).text


def test_a_validator_that_meets_libs_asks_for_imports() -> None:
    found = load(one("kind: python\nlibs: {json: json}\ninput: {code: x}"), kinds=kinds()).diagnostics
    hints = [str(d.hint) for d in found if "'libs'" in d.message]
    assert hints == ["write import lines in the code; `noetl migrate FILE` does it"]


KEYCHAIN = """\
keychain:
  - name: key
    kind: secret_manager
    provider: gcp
    scope: global
    map: {api_key: "{{ secret_path }}"}
  - name: token
    kind: oauth2
    endpoint: https://example.org/token
    method: POST
    data: {grant_type: client_credentials, client_id: me, client_secret: you}
workload: {secret_path: projects/7/secrets/openai/versions/2}
"""


def test_secrets_and_tokens_of_the_keychain_come_over() -> None:
    step = '- {step: a, tool: {kind: http, url: u, headers: {x: "{{ keychain.key.api_key }}"}}}'
    result = rewritten(doc(step, HEAD + KEYCHAIN))
    assert not [d for d in load(result.text, kinds=kinds()).diagnostics if d.severity == "error"]
    assert "secret: openai" in result.text
    assert "keychain.key.value" in result.text
    assert "token_url: https://example.org/token" in result.text


def test_a_step_called_like_a_path_gets_a_name() -> None:
    before = (
        "- {step: a/b-c, tool: {kind: noop}, next: {arcs: [{step: 1st}]}}\n- {step: 1st, tool: {kind: noop}}"
    )
    after = "- {step: a_b_c, tool: {kind: noop}, next: {arcs: [{step: step_1st}]}}\n- {step: step_1st, tool: {kind: noop}}"
    assert rewritten(doc(before)).text == doc(after)


def test_a_null_that_a_block_gives_its_task_today_stays_null() -> None:
    text = doc("- {step: a, tool: {kind: workbook, block: b}}") + (
        "workbook: {b: {tool: {name: t, kind: python, input: {code: result = n, n: null}}}}\n"
    )
    assert rewritten(text).text == text


TODAYS = [
    # What a step is given stays the step's: a task of today names what it takes.
    """
    - step: a
      input: {params: {a: 1}, headers: {x: y}, command: select 1}
      tool:
        - {name: get, kind: http, input: {url: "http://127.0.0.1:1/{{ input.params.a }}"}}
        - {name: rows, kind: sqlite, input: {database: a.db, query: "{{ input.command }}"}}
    """,
    # A value that is called like an option of the original is a value.
    """
    - step: a
      tool: {kind: noop}
      output: {format: csv, scope: "{{ execution_id }}"}
    """,
    """
    - step: a
      tool: {kind: noop}
      output: {store: "{{ execution_id }}"}
    """,
]


@pytest.mark.parametrize("steps", TODAYS)
def test_a_playbook_of_today_stays_as_it_is(steps: str) -> None:
    text = doc(dedent(steps).strip("\n"))
    assert [d for d in load(text, kinds=kinds()).diagnostics if d.severity == "error"] == []
    assert rewritten(text).text == text


def test_main_that_takes_all_inputs_is_given_them_whatever_they_are() -> None:
    code = "code: |\n  def main(input_data):\n      return input_data['n']"
    text = rewritten(one(f"kind: python\nargs:\n  n: [1, 2]\n  t: |\n    a\n    b\n{code}")).text
    assert "input_data:\n          n: [1, 2]\n          t: |\n            a\n            b\n" in text


def test_main_that_takes_all_inputs_beside_others_is_left_to_its_author() -> None:
    code = "code: |\n  def main(input_data, n):\n      return n"
    text = one(f"kind: python\ninput: {{n: 1}}\n{code}")
    assert "input_data:" not in rewritten(text).text
    assert any("'main' takes 'input_data'" in message for message in looks(rewritten(text)))


def test_a_name_that_a_failed_task_leaves_unset_is_said_to_be_null() -> None:
    rules = "spec: {policy: {rules: [{when: \"{{ output.status == 'error' }}\", then: {do: continue}}]}}"
    text = doc(
        "- step: a\n  tool:\n"
        f"  - {{name: x, kind: python, code: 'result = 1', set: {{step.n: '{{{{ output.data }}}}'}}, {rules}}}\n"
        "  - {name: y, kind: python, input: {n: '{{ step.n }}'}, code: 'result = n'}"
    )
    migrated = rewritten(text)
    assert "step.n | default(none)" in migrated.text
    assert any("is null where the task" in note.message for note in migrated.notes)


def test_a_loop_over_a_cursor_claims_its_items() -> None:
    before = (
        "- step: a\n  loop:\n    cursor:\n      kind: postgres\n      auth: pg\n      claim: |\n"
        "        update t set s = 1 where id in (\n"
        "          select id from t where s = 0 limit {{ __frame_max_rows }}) returning id\n"
        "    iterator: row\n    spec: {mode: cursor, max_in_flight: 8, frame: {max_rows: 50, row_concurrency: 4}}\n"
        "  tool: {kind: noop}"
    )
    again = (
        "a claim that is made again after its worker was lost takes other rows, unless the query first takes "
        "back those of {{ claim.key }}"
    )
    after = (
        f"- step: a\n  loop:\n    # noetl: {again}\n    in:\n      claim:\n"
        "        kind: postgres\n        auth: pg\n        input:\n          query: |\n"
        "            update t set s = 1 where id in (\n"
        "              select id from t where s = 0 limit {{ claim.batch }}) returning id\n"
        "        batch: 50\n      until: empty\n"
        "    iterator: row\n    spec: {mode: parallel, max_in_flight: 32, policy: {exec: distributed}}\n"
        "  tool: {kind: noop}"
    )
    result = rewritten(doc(before))
    assert result.text == doc(after)
    assert looks(result) == [
        again,
        "'frame' is gone: a worker holds what it works on by its lease; a claim has 'batch'",
    ]


@pytest.mark.parametrize(
    "cursor", ["{kind: redis, auth: r, claim: lpop jobs}", "{kind: postgres, auth: pg}", "jobs"]
)
def test_a_cursor_that_is_no_query_of_a_kind_here_is_left_with_what_to_write(cursor: str) -> None:
    before = doc(f"- step: a\n  loop: {{cursor: {cursor}, iterator: row}}\n  tool: {{kind: noop}}")
    result = rewritten(before)
    assert result.text == before
    assert looks(result)[0] == "a loop over this cursor is not offered"

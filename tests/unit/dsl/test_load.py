"""The door into the language: all findings at once, in order, one for one cause; strict; never an exception."""

import pytest

from noetl.dsl.diagnostic import Code
from noetl.dsl.finding_codes import catalogue
from noetl.dsl.load import load, load_tree
from noetl.dsl.older_spellings.findings import DEPRECATIONS
from tests.effort import calls
from tests.unit.dsl.documents import HEAD, doc, errors, places, read, rooted, task
from tests.unit.dsl.kinds import KINDS

MINIMAL = doc("- {step: start, tool: {kind: noop}}")

V10 = doc(
    """
    - step: fetch_all
      spec: {policy: {admit: {rules: [{else: {then: {allow: true}}}]}, failure: {mode: best_effort}}}
      loop: {in: "{{ workload.endpoints }}", iterator: endpoint, spec: {mode: parallel, policy: {exec: distributed}}}
      tool:
        - name: init
          kind: noop
          spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {page: 1, has_more: true}}}}]}}
        - fetch_page:
            kind: http
            method: GET
            url: "{{ workload.api_url }}{{ iter.endpoint.path }}"
            spec:
              timeout: {connect: 5, read: 15}
              policy:
                rules:
                  - when: "{{ outcome.status == 'error' and outcome.http.status in [429, 503] }}"
                    then: {do: retry, attempts: 10, backoff: exponential, delay: 2.0}
                  - when: "{{ outcome.status == 'error' }}"
                    then: {do: fail}
                  - else: {then: {do: continue, set_iter: {has_more: "{{ outcome.result.data.more }}"}}}
      next:
        arcs:
          - {step: report, when: "{{ event.name == 'loop.done' }}", args: {got: "{{ outcome.result }}"}}
    - step: report
      tool: {kind: python, args: {got: "{{ args.got }}"}, code: "result = got"}
    """,
    HEAD + "workload: {api_url: 'http://a', endpoints: [{path: /a}]}\n",
)


def test_a_minimal_playbook_is_clean():
    loaded = read(MINIMAL)
    assert loaded.diagnostics == ()
    assert loaded.ok
    assert loaded.playbook is not None
    assert loaded.playbook.entry == "start"


def test_the_older_surface_runs_with_warnings_and_strict_refuses_it():
    loaded, strict = read(V10), read(V10, strict=True)
    assert loaded.ok
    assert {f.severity for f in loaded.diagnostics if f.code in DEPRECATIONS} == {"warning"}
    assert {"deprecated-outcome", "deprecated-set-scope", "deprecated-args"} <= {
        f.code for f in loaded.diagnostics
    }
    assert not strict.ok
    assert {f.severity for f in strict.diagnostics if f.code in DEPRECATIONS} == {"error"}
    assert strict.playbook == loaded.playbook


def test_strict_leaves_every_other_warning_a_warning():
    text = doc("- {step: start}")
    assert [f.severity for f in read(text, strict=True).diagnostics] == ["warning"]


def test_findings_are_ordered_by_position():
    text = doc(
        "- {step: b, tool: {kind: htpp}}\n- {step: b, tool: {knid: noop}}\n- {step: c, set: {x: 1}, nxt: 5}"
    )
    found = read(text).diagnostics
    assert [(f.line, f.column) for f in found] == sorted((f.line, f.column) for f in found)


def test_rules_run_beside_errors_of_the_shape():
    text = doc(
        """
        - {step: a, tool: {kind: noop, inptu: {}}, next: {arcs: [{step: nowhere}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: a}]}}
        - {step: b, tool: {kind: noop}}
        """
    )
    assert [f.code for f in errors(text)] == ["unknown-key", "unknown-step", "duplicate-step"]


# What would vanish with the first error is not reported: one cause, one finding.
ONE_CAUSE = {
    "a step without a name hides arcs to it": doc(
        "- {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}\n- {stpe: b, tool: {kind: noop}}"
    ),
    "a router that cannot be read hides reachability": doc(
        "- {step: a, tool: {kind: noop}, nxet: {arcs: [{step: b}]}}\n- {step: b, tool: {kind: noop}}"
    ),
    "a misspelt label hides jumps to it": task(
        "[{name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: b}}}]}}}, {nmae: b, kind: noop}]"
    ),
    "a misspelt section hides its names": doc(
        "- {step: a, tool: {kind: workbook, block: double}}",
        HEAD + "workbok: {double: {tool: {kind: noop}}}\n",
    ),
    "a block that cannot be read hides calls": doc(
        "- {step: a, tool: {kind: workbook, block: double}}",
        HEAD + "workbook: [{nme: double, tool: {kind: noop}}]\n",
    ),
    "an entry that cannot be read hides its uses": doc(
        "- {step: a, tool: {kind: http, auth: key, input: {url: 'http://a'}}}",
        HEAD + "keychain: [{nmae: key, kind: env, env: KEY}]\n",
    ),
    "a rule that cannot be read hides what it would have caught": task(
        "{kind: http, input: {url: 'http://a'}, spec: {policy: {rules: [{else: {then: {od: fail}}}]}}}"
    ),
    "a set that cannot be read hides what it writes": doc(
        "- {step: a, tool: {kind: noop}, sett: {ctx.x: 1}, next: {arcs: [{step: b}]}}"
        "\n- {step: b, input: {x: '{{ ctx.x }}'}, tool: {kind: noop}}"
    ),
    "no workflow at all": HEAD,
    "a workflow that is no list": HEAD + "workflow: 5\n",
}


@pytest.mark.parametrize("text", ONE_CAUSE.values(), ids=ONE_CAUSE.keys())
def test_one_cause_gives_one_finding(text):
    assert len(read(text).diagnostics) == 1


def test_a_playbook_that_is_data_is_read_with_pointers():
    loaded = load_tree(
        {"apiVersion": "noetl.io/v2", "workflow": [{"step": "a", "tool": {"kind": "htpp"}}]}, kinds=KINDS
    )
    assert [(f.code, f.line, f.path) for f in loaded.diagnostics if f.code == "unknown-kind"] == [
        ("unknown-kind", 1, "/workflow/0/tool/kind")
    ]


def test_data_nested_beyond_use_is_one_finding():
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    assert [f.code for f in load_tree({"workload": deep}, kinds=KINDS).diagnostics] == ["too-deep"]


@pytest.mark.parametrize(
    "text", ["", "   ", "# only a comment\n", "null", "5", "[]", "a: [", "\x00", b"\xff\xfe\x00"]
)
def test_no_text_is_accepted_as_a_playbook_without_a_finding(text):
    loaded = load(text, kinds=KINDS)
    assert not loaded.ok
    assert loaded.diagnostics
    assert all(f.line >= 1 and f.column >= 1 for f in loaded.diagnostics)


def test_sugar_is_kept_in_the_tree_and_gone_in_the_expansion():
    text = task("[{name: w, while: {when: '{{ step.n < 3 }}', do: [{name: a, kind: noop}]}}]")
    loaded = read(text)
    assert loaded.playbook is not None
    assert "while" in loaded.tree["workflow"][0]["tool"][0]
    assert [task.label for task in loaded.playbook.steps[0].tasks] == ["w.test", "w.a", "w.next", "w.end"]
    assert loaded.debug_map


MALFORMED_SUGAR = [
    "{while: 5}",
    "{while: {}}",
    "{while: {when: true, do: 5}}",
    "{until: {when: 5, do: [5]}}",
    "{choose: 5}",
    "{choose: [5, {else: 5}]}",
    "{choose: [{when: true, then: 5}]}",
    "{paginate: 5}",
    "{paginate: {request: 5}}",
    "{paginate: {request: {kind: noop}, by: 5, each: 5}}",
    "{name: 5, while: {when: true, do: [{kind: noop}]}}",
]


@pytest.mark.parametrize("item", MALFORMED_SUGAR)
def test_malformed_sugar_is_reported_never_raised(item):
    assert errors(task(f"[{item}]"))


def test_the_catalogue_knows_every_code_once():
    codes = catalogue()
    assert all(name == code.name for name, code in codes.items())
    assert codes.keys() >= DEPRECATIONS | {"unknown-key", "legacy-eval", "bad-set-target", "too-deep"}
    assert list(codes) == sorted(codes)


def test_a_code_is_declared_in_one_place():
    # Two modules may share the constant, but not declare it with different words.
    from importlib import import_module
    from pkgutil import walk_packages

    import noetl.dsl as room

    said: dict[str, set[Code]] = {}
    for module in walk_packages(room.__path__, "noetl.dsl."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, Code):
                said.setdefault(value.name, set()).add(value)
    assert {name: codes for name, codes in said.items() if len(codes) > 1} == {}


def big(steps: int) -> str:
    """A chain of steps with tasks, rules and templates."""
    body = "\n".join(
        f"""
- step: s{index}
  tool:
    - name: fetch
      kind: http
      input: {{url: "{{{{ workload.api }}}}/items", params: {{page: "{{{{ ctx.page }}}}"}}}}
      spec: {{policy: {{rules: [{{when: "{{{{ output.status == 'error' }}}}", then: {{do: fail}}}}, {{else: {{then: {{do: continue}}}}}}]}}}}
  set: {{ctx.page: "{{{{ output.data.page }}}}"}}
  next: {{arcs: [{{step: s{index + 1}}}]}}"""
        for index in range(steps)
    )
    return doc(f"{body}\n- {{step: s{steps}, tool: {{kind: noop}}}}")


def test_work_grows_with_the_number_of_steps_not_faster():
    few, many = big(200), big(800)
    assert read(few).ok
    assert read(many).ok
    assert calls(lambda: read(many)) < calls(lambda: read(few)) * 4 * 1.2


def test_places_of_a_section_before_the_workflow():
    assert places(errors(rooted("executor: {profil: local}"))) == [("unknown-key", 4, 12)]


def test_a_misspelt_key_does_not_hide_an_arc_that_leads_nowhere():
    text = doc("- {step: start, tooll: {kind: noop}, next: {arcs: [{step: nowhere}]}}")
    assert [found.code for found in errors(text)] == ["unknown-key", "unknown-step"]
    text = doc("- {step: start, next: {arcs: [{step: other}]}}\n- {stepp: other, tool: {kind: noop}}")
    assert "unknown-step" not in [found.code for found in errors(text)]


def test_a_mapping_with_templates_is_checked_as_far_as_it_is_known():
    def codes(given):
        return [found.code for found in errors(task(f"{{kind: http, input: {{{given}}}}}"))]

    assert codes("url: {a: '{{ workload.x }}'}") == ["wrong-type"]
    assert codes("url: ['{{ workload.x }}']") == ["wrong-type"]
    assert codes("url: a, headers: {a: '{{ workload.x }}'}") == []
    assert codes("url: a, headers: {a: ['{{ workload.x }}']}") == ["wrong-type"]
    assert codes("url: a, headers: {a: '{{ workload.x }}', b: [1]}") == ["wrong-type"]


@pytest.mark.parametrize(
    "text",
    [
        "workflow: [{step: a, pipe: [1]}]",
        "workflow: [{step: a, pipe: [[]]}]",
        "workflow: [{step: a, pipe: [{}]}]",
        "workflow: [{step: a, tool: [{name: {b: c}, kind: noop}, {while: {when: true, do: [{kind: noop}]}}]}]",
        "executor: {spec: x}\nworkflow: [{step: a, tool: {kind: noop}}, {step: 1, tool: {kind: noop}}]",
    ],
)
def test_what_is_no_task_or_no_step_is_a_finding_and_never_a_fault(text: str) -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: p, path: p}\n"
    found = load(f"{head}{text}\n", kinds=KINDS)
    assert not found.ok

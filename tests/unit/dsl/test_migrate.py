"""Migration: examples of every age become canonical text, and nothing else in a text changes."""

import json
import re
from collections import Counter
from pathlib import Path
from textwrap import dedent

import pytest

from noetl.dsl.load import load
from noetl.dsl.migrate import migrate
from noetl.dsl.older_spellings.findings import DEPRECATIONS
from noetl.errors import InvariantViolation, PlaybookError
from noetl.tools import kinds
from tests.unit.dsl.documents import doc
from tests.unit.dsl.migrating import rewritten, step

SEEDS = sorted((Path(__file__).parents[2] / "fixtures" / "seeds").glob("*.yaml"))


COMMENT = re.compile(r"(?:^|\s)#.*")


def named(prefix: str) -> pytest.MarkDecorator:
    """One test for each fixture of an age."""
    chosen = [path for path in SEEDS if path.name.startswith(prefix)]
    return pytest.mark.parametrize("path", chosen, ids=lambda path: path.stem)


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


# What travels with a token, and what load refuses without a translation of its own: case, vars, set_prev.
REWIRED = ("v10_router", "v10_router_args", "v10_next_router", "legacy_step_shape", "legacy_eval_directives",
           "legacy_pipe_and_case")  # fmt: skip


@pytest.mark.parametrize("path", [p for p in SEEDS if p.stem not in REWIRED], ids=lambda path: path.stem)
def test_a_migrated_example_means_what_it_meant(path: Path) -> None:
    text = path.read_text()
    assert load(rewritten(text).text, kinds=kinds()).playbook == load(text, kinds=kinds()).playbook


@pytest.mark.parametrize("label", ["case", "pipe", "paginate", "choose"])
def test_a_task_may_be_labelled_like_a_word_of_the_language(label: str) -> None:
    before, after = step(
        f"- step: a\n  tool:\n    - {label}: {{kind: noop}}",
        f"- step: a\n  tool:\n    - {{name: {label}, kind: noop}}",
    )
    loaded = load(before, kinds=kinds())
    assert [finding.code for finding in loaded.diagnostics] == ["deprecated-label-map"]
    assert rewritten(before).text == after
    assert load(after, kinds=kinds()).playbook == loaded.playbook


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


CLASHES = {
    "a loop's spec that holds nothing": doc(
        "- step: a\n  loop: {in: [1], iterator: x, spec: 5}\n  tool: {kind: noop, set_shared: {n: 1}}"
    ),
    "a router's spec that holds no mode": doc(
        "- step: a\n  spec: {next_mode: inclusive}\n  tool: {kind: noop}\n  next: {spec: 5, arcs: []}"
    ),
    "a target with and without its scope": doc("- step: a\n  tool: {kind: noop, set: {step.n: 1, n: 2}}"),
    "an input called name twice": doc("- step: a\n  tool: [get: {kind: http, name: a, input: {name: b}}]"),
    "a name under a label whose input is no mapping": doc(
        "- step: a\n  tool: [get: {kind: http, name: a, input: 5}]"
    ),
    "an arc to a step whose name needs quotes": doc(
        "- step: a\n  tool: {kind: noop}\n  next: [{step: 'b: c', args: {n: 1}}]\n"
        "- step: 'b: c'\n  tool: {kind: noop, output: '{{ args.n }}'}"
    ),
    "a path that needs quotes": "metadata: {path: '{{ x }}'}\nworkflow: [{step: a, tool: {go: {kind: noop}}}]\n",
}


@pytest.mark.parametrize("text", CLASHES.values(), ids=CLASHES.keys())
def test_what_is_written_is_valid_whatever_stood_there(text: str) -> None:
    assert rewritten(text).changed


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


@pytest.mark.parametrize("written, error", [("a: 1\n", None), ("a: [", InvariantViolation)])
def test_a_writer_that_went_wrong_never_reaches_the_file(
    monkeypatch, written: str, error: type[Exception] | None
) -> None:
    text = doc("- step: a\n  tool: {go: {kind: noop}}")
    texts = iter([written] if error is None else [text, written])
    monkeypatch.setattr("noetl.dsl.yaml.write_editable.write", lambda document: next(texts))
    if error is not None:
        with pytest.raises(error):
            migrate(text, kinds=kinds())
        return
    result = migrate(text, kinds=kinds())
    assert (result.text, result.changed) == (text, False)
    assert result.notes[0].look


@pytest.mark.parametrize("entry", ["set_prev: start", "tool: [{name: a, kind: noop, case: b}]"])
def test_what_cannot_be_rewritten_is_left_with_a_note(entry: str) -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: p, path: p}\n"
    migrated = migrate(f"{head}workflow:\n- step: start\n  {entry}\n", kinds=kinds())
    assert [(note.line, note.look) for note in migrated.notes] == [(6, True)]
    assert "not part of the language" in migrated.notes[0].message


def test_a_step_that_keeps_no_key_is_still_written() -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: p, path: p}\n"
    migrated = migrate(f"{head}workflow:\n- description: load\nworkload: {{}}\n", kinds=kinds())
    assert migrate(migrated.text, kinds=kinds()).text == migrated.text
    assert any(note.look for note in migrated.notes)


def test_a_workbook_without_tasks_is_migrated_once() -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: p, path: p}\n"
    migrated = migrate(f"{head}workflow: [{{step: a}}]\nworkbook: {{tasks: []}}\n", kinds=kinds())
    assert migrate(migrated.text, kinds=kinds()).text == migrated.text

"""What is wrong and has but one cure is put right with one click."""

import pytest

from tests.lsp.books import BOOK, in_characters
from tests.lsp.client import Editor


def test_a_word_that_was_meant_is_one_click_away(editor: Editor) -> None:
    book = editor.open(BOOK.replace("    desc: Reads", "    descc: Reads"), "file:///fix.yaml")
    (finding,) = [one for one in book.findings() if one["code"] == "unknown-key"]
    action, *_ = editor.ask(
        "textDocument/codeAction",
        {"textDocument": {"uri": book.uri}, "range": finding["range"], "context": {"diagnostics": [finding]}},
    )
    assert book.edited(action["edit"]["changes"][book.uri]) == BOOK


def test_a_word_that_an_input_takes_is_one_click_away(editor: Editor) -> None:
    good = BOOK.replace("{kind: noop, ", "{kind: file, input: {action: delete, path: x}, ")
    book = editor.open(good.replace("action: delete", "action: delte"), "file:///word.yaml")
    (finding,) = [one for one in book.findings() if one["code"] == "wrong-type"]
    action, *_ = editor.ask(
        "textDocument/codeAction",
        {"textDocument": {"uri": book.uri}, "range": finding["range"], "context": {"diagnostics": [finding]}},
    )
    assert book.edited(action["edit"]["changes"][book.uri]) == good


@pytest.mark.parametrize(
    "right, wrong, code",
    [
        ('when: "{{ event.ok }}"', "when: event.ok", "guard-without-template"),
        ('"{{ ctx.rows }} of {{ fetch.data }} 🍵 {{ fetch.data }}"', None, "unquoted-template"),
        ('{url: "{{ workload.api_url }}/orders"}', '{url: "{{ api_url }}/orders"}', "prefer-full-name"),
        ('when: "{{ event.ok }}"', "when: 'event.ok'", "guard-without-template"),
        (', when: "{{ event.ok }}"}', "}", "failure-not-asked"),
        ("apiVersion: noetl.io/v2", "apiVersion: noetl.io/v1", "wrong-api-version"),
        ("kind: Playbook", "kind: playbook", "wrong-value"),
        ("ctx.rows: ", "cttx.rows: ", "bad-set-target"),
        ('{{ fetch.data }}"}', '{{ fetch.rows }}"}', "fall-through-field"),
    ],
)
def test_what_a_hint_says_to_write_is_one_click_away(
    editor: Editor, right: str, wrong: str | None, code: str
) -> None:
    good = BOOK if wrong else BOOK.replace(right, '"{{ ctx.rows }}"')
    bad = good.replace(right, wrong) if wrong else good.replace('"{{ ctx.rows }}"', "{{ ctx.rows }}")
    book = editor.open(bad, f"file:///{code}.yaml")
    (finding,) = [one for one in book.findings() if one["code"] == code]
    action, *_ = editor.ask(
        "textDocument/codeAction",
        {"textDocument": {"uri": book.uri}, "range": finding["range"], "context": {"diagnostics": [finding]}},
    )
    edits = in_characters(action["edit"]["changes"][book.uri], bad)
    assert book.edited(edits) == good.replace('fetch.data }}"}', FIXED.get(code, 'fetch.data }}"}'))


FIXED = {"fall-through-field": 'fetch.data.rows }}"}'}


def test_an_arc_in_lines_gets_its_guard_below_and_other_guards_are_kept(editor: Editor) -> None:
    begun = BOOK.partition("    next:")
    for arc, mended in (
        ("        - step: report\n", '        - step: report\n          when: "{{ event.ok }}"\n'),
        (
            "        - step: report\n          when: '{{ ctx.rows or 1 }}'\n",
            '        - step: report\n          when: "{{ event.ok and (ctx.rows or 1) }}"\n',
        ),
    ):
        rest = begun[2].partition("\n")[2]
        book = editor.open(f"{begun[0]}    next:\n      arcs:\n{arc}{rest}", f"file:///arc-{len(arc)}.yaml")
        (finding,) = [one for one in book.findings() if one["code"] == "failure-not-asked"]
        where = {"textDocument": {"uri": book.uri}, "range": finding["range"], "context": {"diagnostics": []}}
        action, *_ = editor.ask("textDocument/codeAction", where)
        assert book.edited(action["edit"]["changes"][book.uri]) == book.text.replace(arc, mended)
        where["context"]["only"] = ["source.fixAll"]
        assert editor.ask("textDocument/codeAction", where) == []


def test_what_the_language_refuses_is_rewritten_with_one_click(editor: Editor) -> None:
    older = BOOK.replace("next: {arcs: [{step: report", "next: [{step: report").replace('}"}]}', '}"}]')
    book = editor.open(older, "file:///refused.yaml")
    (finding,) = [one for one in book.findings() if one["code"] == "next-not-router"]
    where = {"textDocument": {"uri": book.uri}, "range": finding["range"], "context": {"diagnostics": []}}
    actions = editor.ask("textDocument/codeAction", where)
    (rewritten,) = [one for one in actions if one["title"].startswith("Rewrite")]
    book.type(rewritten["edit"]["changes"][book.uri][0]["newText"])
    assert book.findings() == []


def test_older_spellings_are_rewritten_with_one_click(editor: Editor) -> None:
    older = BOOK.replace(
        'input: {rows: "{{ orders.data }}", code: "result = len(rows)"}',
        'input: {rows: "{{ orders.data }}"}\n        code: "result = len(rows)"',
    )
    book = editor.open(older, "file:///older.yaml")
    (finding,) = [one for one in book.findings() if one["code"].startswith("deprecated")]
    action, *_ = editor.ask(
        "textDocument/codeAction",
        {"textDocument": {"uri": book.uri}, "range": finding["range"], "context": {"diagnostics": [finding]}},
    )
    book.type(action["edit"]["changes"][book.uri][0]["newText"])
    assert book.findings() == []

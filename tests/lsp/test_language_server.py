"""An editor sees what is wrong while it is typed, is offered what may stand there, and can go to and rename names."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.running import audit_all
from tests.lsp.books import BOOK, in_characters
from tests.lsp.client import Editor


def test_findings_come_as_one_types_and_go_when_they_are_mended(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///typed.yaml")
    assert book.findings() == []
    book.type(BOOK.replace("{step: report, when", "{step: raport, when"))
    (finding,) = [one for one in book.findings() if one["code"] == "unknown-step"]
    line = BOOK.splitlines().index('    next: {arcs: [{step: report, when: "{{ event.ok }}"}]}')
    assert finding["range"]["start"]["line"] == line
    assert finding["severity"] == 1
    book.type(BOOK)
    assert book.findings() == []


def test_other_yaml_is_left_alone(editor: Editor) -> None:
    compose = editor.open("services:\n  web:\n    image: nginx\n    ports: [80]\n", "file:///compose.yaml")
    assert compose.findings() == []
    assert compose.proposals("    image|: nginx") == {}
    assert compose.hover("    ima|ge: nginx") == ""
    document = {"textDocument": {"uri": compose.uri}}
    assert editor.ask("textDocument/documentSymbol", document) == []
    assert editor.ask("textDocument/foldingRange", document) == []


def test_a_text_that_has_hardly_begun_is_helped(editor: Editor) -> None:
    book = editor.open("api", "file:///new.yaml")
    assert "apiVersion" in book.proposals("api|")


def test_what_is_asked_about_a_text_that_is_not_there_has_an_answer(editor: Editor) -> None:
    for uri in ("file:///nowhere.yaml", "untitled:Untitled-1", Path(__file__).with_suffix(".none").as_uri()):
        where = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 3}}
        assert editor.ask("textDocument/hover", where) is None
        assert editor.ask("textDocument/definition", where) is None
        assert editor.ask("workspace/executeCommand", {"command": "noetl.graph", "arguments": [uri]}) is None
    unsaved = editor.open(BOOK, "untitled:Untitled-1")
    assert unsaved.findings() == []
    assert "step **report**" in unsaved.hover("{step: rep|ort")


def test_what_the_editor_takes_back_needs_no_answer(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///taken-back.yaml")
    for number in range(1000, 1020):
        asked = book.at("- step: rep|ort")
        editor.send({"id": number, "method": "textDocument/hover", "params": asked})
        editor.tell("$/cancelRequest", {"id": number})
    assert book.hover("{step: rep|ort")


def test_an_empty_last_line_is_a_place_of_its_own(editor: Editor) -> None:
    book = editor.open("apiVersion: noetl.io/v2\nkind: Playbook\n", "file:///last.yaml")
    where = {"textDocument": {"uri": book.uri}, "position": {"line": 2, "character": 0}}
    offered = {item["label"] for item in editor.ask("textDocument/completion", where)}
    assert {"metadata", "workflow"} <= offered
    assert "kind" not in offered


def test_a_text_that_is_no_yaml_yet_has_a_finding_and_ends_nothing(editor: Editor) -> None:
    book = editor.open("kind: Playbook\nworkflow:\n  - step: {\n", "file:///broken.yaml")
    assert next(one["code"] for one in book.findings()).startswith("yaml-")
    assert book.proposals("- step: {|") == {}


@pytest.mark.parametrize(
    "old, new, cursor, wanted",
    [
        ("workload: {", "e\nworkload: {", "e|\nworkload", {"executor", "workbook"}),
        ("    desc: Reads", "    s\n    desc: Reads", "    s|\n", {"spec", "loop", "output"}),
        ("kind: http", "kind: ht", "kind: ht|", {"http", "postgres", "python", "wait"}),
        ("input: {url:", "input: {m, url:", "input: {m|", {"method", "headers", "params"}),
        (
            "        input: {url",
            "        input:\n          u\n        output: {url",
            "          u|\n",
            {"url", "method"},
        ),
        ("{step: report, when", "{step: r, when", "{step: r|", {"fetch", "report"}),
        ("to: orders", "to: or", "to: or|", {"orders", "keep"}),
        ("{do: jump", "{do: j", "{do: j|", {"jump", "retry", "continue", "fail", "break"}),
        ("        kind: python", "        auth: w\n        kind: python", "auth: w|", {"warehouse"}),
    ],
)
def test_keys_kinds_inputs_steps_and_labels_are_offered(
    editor: Editor, old: str, new: str, cursor: str, wanted: set[str]
) -> None:
    book = editor.open(BOOK.replace(old, new, 1), f"file:///{wanted}.yaml")
    assert wanted <= book.proposals(cursor).keys()


def test_what_is_there_already_is_not_offered_again_and_a_kind_has_its_own_inputs(editor: Editor) -> None:
    book = editor.open(
        BOOK.replace("        kind: python\n", "        kind: python\n        s\n"), "file:///again.yaml"
    )
    offered = book.proposals("        s|\n")
    assert {"spec", "set", "output"} - offered.keys() == {"set"}
    assert not {"name", "kind", "input"} & offered.keys()


def test_names_inside_a_template_are_offered(editor: Editor) -> None:
    book = editor.open(
        BOOK.replace(
            "{{ ctx.rows }} of", "{{ x }} {{ ctx. }} {{ workload.shop. }} {{ fetch. }} {{ y | d }} of"
        ),
        "file:///t.yaml",
    )
    assert {"fetch", "report", "workload", "ctx", "trigger"} <= book.proposals("{{ x|").keys()
    assert set(book.proposals("{{ ctx.|")) == {"rows"}
    assert set(book.proposals("{{ workload.shop.|")) == {"city"}
    assert {"data", "status", "error"} <= book.proposals("{{ fetch.|").keys()
    assert {"default", "length", "tojson"} <= book.proposals("{{ y | d|").keys()


WIDE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: wide, path: tests/wide}
keychain:
  - {name: key, kind: env, env: WIDE_KEY}
workbook:
  price:
    tool:
      - {name: net, kind: noop, output: 1}
      - {name: gross, kind: noop, output: "{{ net.data }}"}
workflow:
  - step: load
    input: {day: "2026-01-31"}
    tool:
      - {name: rows, kind: noop, output: 1}
      - name: keep
        kind: noop
        output: "{{ HERE }}"
        set: {step.kept: "{{ output.data }}"}
      - {name: price, kind: workbook, block: price}
    next: {arcs: [{step: total, when: "{{ event.ok and load.data }}"}]}
  - step: total
    tool:
      - {name: rows, kind: noop, output: 1}
      - name: text
        kind: noop
        output: |
          {% for row in load.data %}
            {{ row }} and {{
               load.status }} of load.data in {{ dict(load=1) }} {{ rows.data }}
          {% endfor %}
"""


@pytest.mark.parametrize(
    "typed, wanted",
    [
        ("", {"rows", "load", "total", "input"}),
        ("rows.", {"data", "status", "error"}),
        ("input.", {"day"}),
        ("keychain.", {"key"}),
        ("keychain.key.", {"value"}),
        ("output.error.", {"kind", "message", "retryable"}),
        ("step.", {"kept"}),
        ("rows.error.", {"kind", "message", "retryable"}),
        ("output.http.", {"status", "headers"}),
        ("output.loop.", {"total", "failed"}),
        ("ra", {"range"}),
    ],
)
def test_labels_and_fields_are_offered_where_they_can_be_read(
    editor: Editor, typed: str, wanted: set[str]
) -> None:
    book = editor.open(WIDE.replace("HERE", typed), f"file:///wide{typed}.yaml")
    offered = book.proposals(f'kind: noop\n        output: "{{{{ {typed}|')
    assert wanted <= offered.keys()
    assert not {"keep", "net", "_task"} & offered.keys()  # not finished yet, of a block, of the engine


LOOPS = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: loops, path: tests/loops}
keychain:
  - {name: queue, kind: bearer, token: "{{ keychain.queue }}"}
workbook:
  price: {tool: {kind: noop}}
workload: {orders: [{id: 1, shop: {city: Oslo}}]}
workflow:
  - step: take
    loop:
      in: {claim: {kind: http, auth: queue, input: {method: GET, url: "https://q/{{ claim.key }}"}}, until: empty}
      iterator: row
    tool:
      - name: rounds
        until:
          when: "{{ poll.data }}"
          do:
            - {name: poll, kind: noop, output: "{{ iter.seen }}", set: {iter.seen: true, ctx.last: 1}}
      - {name: price, kind: workbook, block: price}
  - step: ship
    loop: {in: "{{ workload.orders }}", iterator: order}
    tool: {kind: noop, output: "{{ iter.order.shop.city }} {{ ctx.last }} {{ workload.orders }}"}
"""


@pytest.mark.parametrize(
    "text, cursor, wanted",
    [
        ("claim.key", "q/{{ |", {"claim", "workload"}),
        ("claim.key", "q/{{ claim.|", {"key", "batch", "last"}),
        ("GET", "{method: |", {"GET", "POST"}),
        ("iter.seen }}", "{{ iter.|", {"seen", "row", "index"}),
        ("iter.order.shop.city", "{{ iter.order.|", {"id", "shop"}),
        ("iter.order.shop.city", "{{ iter.order.shop.|", {"city"}),
    ],
)
def test_what_a_loop_brings_is_offered(editor: Editor, text: str, cursor: str, wanted: set[str]) -> None:
    typed = cursor.removesuffix("|").rpartition("{{ ")[2].rpartition("method: ")[2]
    end = " }}" if text.endswith("}}") else ""
    book = editor.open(LOOPS.replace(text, f"{typed}{end}", 1), f"file:///loops-{len(text)}-{cursor}.yaml")
    assert wanted <= book.proposals(cursor).keys()


@pytest.mark.parametrize(
    "cursor, declared",
    [
        ("auth: que|ue", "|queue, kind"),
        ("block: pri|ce", "|price: {tool"),
        ("{{ ctx.la|st }}", "|ctx.last: 1"),
        ("}} {{ workload.ord|ers", "|orders: ["),
        ("{{ keychain.que|ue", "|queue, kind"),
        ("{{ iter.se|en", "|iter.seen: true"),
        ("kind: no|op", None),
    ],
)
def test_one_can_go_to_what_is_declared(editor: Editor, cursor: str, declared: str | None) -> None:
    book = editor.open(LOOPS, f"file:///declared-{cursor}.yaml")
    place = editor.ask("textDocument/definition", book.at(cursor))
    assert (place and place["range"]["start"]) == (declared and book.at(declared)["position"])


def test_a_label_inside_of_another_task_is_renamed(editor: Editor) -> None:
    book = editor.open(LOOPS, "file:///inner.yaml")
    edit = editor.ask("textDocument/rename", {**book.at("{name: po|ll"), "newName": "asked"})
    expected = LOOPS.replace("name: poll", "name: asked").replace("{{ poll.", "{{ asked.")
    assert book.edited(edit["changes"][book.uri]) == expected


def test_arcs_of_older_playbooks_are_renamed_with_their_step(editor: Editor) -> None:
    older = BOOK.replace("next: {arcs: [{step: report", "next: [{step: report").replace('}"}]}', '}"}]')
    book = editor.open(older, "file:///older-arcs.yaml")
    edit = editor.ask("textDocument/rename", {**book.at("- step: rep|ort"), "newName": "tell"})
    assert book.edited(edit["changes"][book.uri]) == older.replace("step: report", "step: tell")


def test_references_are_told_with_or_without_the_definition(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///references.yaml")
    for wanted, lines in ((True, [7, 24, 25]), (False, [24])):
        asked = {**book.at("- step: rep|ort"), "context": {"includeDeclaration": wanted}}
        found = [place["range"]["start"]["line"] for place in editor.ask("textDocument/references", asked)]
        assert found == lines[1:] if wanted else lines


def test_a_template_over_several_lines_is_one(editor: Editor) -> None:
    book = editor.open(WIDE.replace("HERE", "1"), "file:///lines.yaml")
    assert {"data", "status"} <= book.proposals("               load.|status").keys()
    assert "step **load**" in book.hover("for row in lo|ad.data")
    assert book.proposals("            {{ row }} an|d {{") == {}


def renamed(editor: Editor, place: str, name: str) -> str:
    book = editor.open(WIDE.replace("HERE", "rows.data"), f"file:///{name}-of-{len(place)}.yaml")
    edit = editor.ask("textDocument/rename", {**book.at(place), "newName": name})
    return book.edited(edit["changes"][book.uri])


def test_renaming_a_step_reaches_templates_over_several_lines_and_no_other_words(editor: Editor) -> None:
    expected = WIDE.replace("HERE", "rows.data").replace("step: load", "step: fetch")
    for old, new in (
        ("ok and load.", "ok and fetch."),
        ("in load.data %}", "in fetch.data %}"),
        ("load.status", "fetch.status"),
    ):
        expected = expected.replace(old, new)
    assert renamed(editor, "- step: lo|ad", "fetch") == expected
    assert renamed(editor, "ok and lo|ad", "fetch") == expected


def test_labels_are_renamed_in_their_step_or_block_alone(editor: Editor) -> None:
    text = WIDE.replace("HERE", "rows.data")
    first, second = text.split("  - step: total")
    assert renamed(editor, "- {name: ro|ws", "lines") == (
        first.replace("name: rows", "name: lines").replace("{{ rows.", "{{ lines.")
        + "  - step: total"
        + second
    )
    assert renamed(editor, "- {name: n|et", "base") == (
        text.replace("name: net", "name: base").replace("{{ net.", "{{ base.")
    )


@pytest.mark.parametrize(
    "place, name, why",
    [
        ("- step: lo|ad", "total", "another step 'total'"),
        ("- {name: ro|ws", "keep", "another label 'keep'"),
        ("- step: lo|ad", "workload", "means something else"),
    ],
)
def test_a_name_that_is_taken_is_refused(editor: Editor, place: str, name: str, why: str) -> None:
    with pytest.raises(RuntimeError, match=why):
        renamed(editor, place, name)


def test_keys_kinds_and_names_say_what_they_mean(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///hover.yaml")
    assert "ordered list" in book.hover("    to|ol:\n")
    assert "`url`" in book.hover("kind: ht|tp")
    assert "Reads the orders." in book.hover("of {{ fe|tch.data }}")


TEMPLATES = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: said, path: lsp/said}
workload: {orders: [{n: 1}], city: Oslo}
workflow:
  - step: add_up
    loop:
      in: "{{ workload.orders }}"
      iterator: order
      spec: {policy: {reduce: {ctx.sum: sum}}}
    tool:
      kind: noop
      output: "{{ [iter.order.n, iter.index] | tojson }}"
      set: {ctx.sum: "{{ iter.order.n | default(0) }}", iter.mine: "{{ output.data }}"}
    next: {arcs: [{step: take, when: "{{ ctx.sum is not none and iter.mine is defined and ctx.output }}"}]}
  - step: take
    loop:
      in:
        claim:
          kind: sqlite
          input: {query: "select :key", params: {key: "{{ claim.key }}", city: "{{ workload.city | nosuch }}"}}
      iterator: row
    tool: {kind: noop, output: "{{ iter.row }} {{
      iter.row | tojson }} {{ output.error.kind }}"}
"""


def test_filters_tests_and_names_of_scopes_say_what_they_mean(editor: Editor) -> None:
    book = editor.open(TEMPLATES, "file:///said.yaml")
    assert "filter **tojson**: the value as JSON text" in book.hover("iter.index] | to|json")
    assert "| tojson` gives" in book.hover("iter.row | to|json")
    assert "filter **default**" in book.hover("n | de|fault(0)")
    assert "test **none**: null" in book.hover("is not no|ne and")
    assert "test **defined**" in book.hover("mine is de|fined")
    assert "out of `{{ workload.orders }}`" in book.hover("[iter.or|der.n")
    assert "which one, from 0" in book.hover("iter.in|dex")
    assert "`add_up` sets it: `{{ output.data }}`" in book.hover("iter.mi|ne is")
    total = book.hover("ctx.su|m is")
    assert "lives as long as the execution" in total
    assert "`add_up` merges into it: `sum`" in total
    assert "`add_up` sets it: `{{ iter.order.n | default(0) }}`" in total
    assert "names this claim" in book.hover("claim.k|ey")
    assert "the row that this iteration has claimed" in book.hover('"{{ iter.r|ow }}')
    assert "what went wrong" in book.hover("output.error.ki|nd")
    assert "'Oslo'" in book.hover("workload.ci|ty")
    assert book.hover("ctx.out|put }}") == "", "it is no output of a task"
    assert book.hover("no|such") == ""


def test_one_can_go_to_a_step_and_a_label(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///go.yaml")
    step = editor.ask("textDocument/definition", book.at("{step: rep|ort"))
    assert step["range"]["start"] == book.at("- step: |report\n")["position"]
    label = editor.ask("textDocument/definition", book.at("to: or|ders"))
    assert label["range"]["start"] == book.at("- name: |orders")["position"]


def test_renaming_a_step_renames_it_everywhere(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///rename.yaml")
    edit = editor.ask("textDocument/rename", {**book.at("- step: fe|tch"), "newName": "read_orders"})
    text = book.edited(in_characters(edit["changes"][book.uri], BOOK))
    assert text == BOOK.replace("step: fetch", "step: read_orders").replace(
        "{{ fetch.data", "{{ read_orders.data"
    )
    book.type(text)
    assert book.findings() == []


def test_renaming_a_label_stays_in_its_step(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///label.yaml")
    edit = editor.ask("textDocument/rename", {**book.at("- name: or|ders"), "newName": "page"})
    assert book.edited(edit["changes"][book.uri]) == (
        BOOK.replace("name: orders", "name: page")
        .replace("to: orders", "to: page")
        .replace("{{ orders.data", "{{ page.data")
    )


def test_a_name_that_no_template_could_read_is_refused(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///bad.yaml")
    with pytest.raises(RuntimeError, match="is no name"):
        editor.ask("textDocument/rename", {**book.at("- step: fe|tch"), "newName": "two words"})


def test_steps_are_the_outline_and_fold(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///outline.yaml")
    document = {"textDocument": {"uri": book.uri}}
    outline = editor.ask("textDocument/documentSymbol", document)
    assert [(step["name"], [task["name"] for task in step["children"]]) for step in outline] == [
        ("fetch", ["orders", "keep"]),
        ("report", ["noop"]),
    ]
    folds = editor.ask("textDocument/foldingRange", document)
    assert [(fold["startLine"], fold["endLine"]) for fold in folds] == [(7, 24), (25, 26)]


def test_the_graph_of_an_open_playbook_can_be_drawn(editor: Editor) -> None:
    book = editor.open(BOOK, "file:///graph.yaml")
    drawn = editor.ask("workspace/executeCommand", {"command": "noetl.graph", "arguments": [book.uri]})
    assert [step["step"] for step in drawn["steps"]] == ["fetch", "report"]
    picture = editor.ask("workspace/executeCommand", {"command": "noetl.picture", "arguments": [book.uri]})
    assert picture.startswith("<svg")
    assert "<title>report</title>" in picture
    book.type(BOOK.replace("step: report,", "step: rep,"))  # as one types the name of a step
    picture = editor.ask("workspace/executeCommand", {"command": "noetl.picture", "arguments": [book.uri]})
    assert "<title>report</title>" in picture
    book.type("kind: Playbook\n")
    assert (
        editor.ask("workspace/executeCommand", {"command": "noetl.picture", "arguments": [book.uri]}) is None
    )


def test_a_long_playbook_is_checked_within_moments(editor: Editor) -> None:
    """The measured figure is in the documentation; here only that it is no matter of seconds."""
    steps = "".join(
        f'  - step: s{n}\n    tool: {{kind: noop}}\n    next: {{arcs: [{{step: s{n + 1}, when: "{{{{ event.ok }}}}"}}]}}\n\n'
        for n in range(250)
    )
    text = f"{BOOK.partition('workflow:')[0]}workflow:\n{steps}  - step: s250\n    tool: {{kind: noop}}\n"
    book = editor.open(text, "file:///long.yaml")
    book.findings()
    began = time.monotonic()
    book.type(text.replace("step: s250\n", "step: s25x\n"))
    assert {one["code"] for one in book.findings()} >= {"unknown-step"}
    assert time.monotonic() - began < 20


RUN = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: seen, path: tests/seen}
keychain:
  - {name: key, kind: env, env: SEEN_KEY}
workload: {city: Oslo}
workflow:
  - step: load
    tool:
      kind: python
      input: {key: "{{ keychain.key.value }}", code: "result = {'rows': [{'n': n} for n in range(500)], 'said': key}"}
    set: {ctx.count: "{{ output.data.rows | length }}"}
    next: {arcs: [{step: use, when: "{{ load.data.rows[3].n == 3 }}"}]}
  - step: use
    tool: {kind: noop, output: "{{ ctx.count }} of {{ load.data.said }} in {{ workload.city }} {{ input.x | default(1) }}"}
  - step: never
    tool: {kind: noop, output: "{{ load.data.missing | default(1) }}"}
"""


def test_hover_shows_what_the_newest_run_had(tmp_path: Path) -> None:
    """Bounded in size, without secrets, and nothing where there is nothing."""
    editor = Editor(tmp_path)
    book = editor.open(RUN, "file:///seen.yaml")
    places = [
        "- step: lo|ad",
        "ctx.cou|nt }} of",
        "load.data.sai|d",
        "workload.ci|ty",
        "load.data.rows[3].|n",
    ]
    assert not any("newest run" in book.hover(place) for place in places)  # nothing was run
    assert not (tmp_path / ".noetl").exists()
    for city in ("Oslo", "Bergen"):
        (tmp_path / "seen.yaml").write_text(RUN.replace("city: Oslo", f"city: {city}"))
        noetl = [sys.executable, "-m", "noetl", "run", "seen.yaml"]
        environment = {**os.environ, "SEEN_KEY": "a-secret-nobody-sees"}
        subprocess.run(noetl, cwd=tmp_path, check=True, capture_output=True, env=environment)
    step, count, said, city, item = (book.hover(place) for place in places)
    assert "step **load**: python" in step
    assert '"rows": [' in step
    assert "characters more" in step
    assert len(step) < 1_500
    assert "```json\n500\n```" in count
    assert '"Bergen"' in city
    book.type(RUN.replace("ctx.count }} of", "load.data. }} of"))
    assert set(book.proposals("{{ load.data.|")) == {"rows", "said"}
    book.type(RUN)
    assert "completed" in city
    assert "```json\n3\n```" in item
    assert "newest run" in said
    assert "a-secret-nobody-sees" not in step + said
    for nothing in ("- step: nev|er", "load.data.miss|ing", "inpu|t.x", 'kind: no|op, output: "{{ ctx'):
        assert "newest run" not in book.hover(nothing)
    assert editor.close() == 0
    audit_all(tmp_path)


OWN_TOOL = """
import noetl

@noetl.tool
def weigh(what: str) -> float:
    \"\"\"Weighs a thing.\"\"\"
    return 1.0
"""
WEIGHS = (
    BOOK.partition("workflow:")[0]
    + "workflow:\n  - step: start\n    tool: {kind: weigh, input: {what: it}}\n"
)


def test_tools_of_the_folder_that_is_open_are_known_wherever_the_server_was_started(tmp_path: Path) -> None:
    elsewhere, project = tmp_path / "elsewhere", tmp_path / "project"
    elsewhere.mkdir()
    (project / "tools").mkdir(parents=True)
    (project / "noetl.toml").write_text('tools = ["tools/weigh.py"]')
    (project / "tools" / "weigh.py").write_text(OWN_TOOL)
    editor = Editor(elsewhere, project)
    book = editor.open(WEIGHS, (project / "book.yaml").as_uri())
    assert "unknown-kind" not in [one["code"] for one in book.findings()]
    assert "Weighs a thing" in book.hover("kind: we|igh")
    assert editor.close() == 0


def test_a_tool_that_cannot_be_loaded_is_told_in_the_editor(tmp_path: Path) -> None:
    (tmp_path / "noetl.toml").write_text('tools = ["weigh.py"]')
    (tmp_path / "weigh.py").write_text("import no_such_library")
    editor = Editor(tmp_path)
    book = editor.open(WEIGHS)
    said = editor.shown()
    assert book.findings() == []
    book.type(f"{WEIGHS}\n")  # is not told again with each letter
    assert book.findings() == []
    assert book.hover("kind: we|igh") == ""
    assert book.proposals("kind: we|igh") == {}
    assert editor.told("window/showMessage") == []
    assert "cannot load the tools of 'weigh.py'" in said
    assert "no_such_library" in said
    assert editor.close() == 0

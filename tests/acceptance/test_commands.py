"""The other commands of the language as a user meets them."""

import json
from xml.etree import ElementTree

import pytest

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: case, path: tests/case}\n"
BAD = HEAD + "workflow:\n  - {step: a, tool: {kind: nop}}\n"
SUGAR = (
    HEAD
    + """\
workflow:
  - step: start
    tool:
      - {name: init, kind: noop, set: {step.i: 0}}
      - name: count
        while:
          when: "{{ step.i < 5 }}"
          do:
            - {name: inc, kind: noop, set: {step.i: "{{ step.i + 1 }}"}}
      - name: pick
        choose:
          - when: "{{ step.i == 5 }}"
            then: [{name: five, kind: python, input: {code: "result = 'five'"}}]
          - else: [{name: other, kind: python, input: {code: "result = 'other'"}}]
    next: {arcs: [{step: finish}]}
  - {step: finish, tool: {kind: noop}}
"""
)


# ---- compile --------------------------------------------------------------------------------------------


def test_what_compile_prints_is_a_valid_playbook_that_compiles_to_itself(noetl, write) -> None:
    first = noetl("compile", write("sugar.yaml", SUGAR))
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("# Compiled by noetl ")
    assert "while:" not in first.stdout
    assert "jump" in first.stdout
    checked = noetl("validate", "-", "--json", stdin=first.stdout)
    assert checked.returncode == 0, checked.stdout
    second = noetl("compile", "-", stdin=first.stdout)
    assert second.stdout.splitlines()[1:] == first.stdout.splitlines()[1:]


def test_compile_marks_its_output(noetl, write) -> None:
    playbook = json.loads(noetl("compile", write("sugar.yaml", SUGAR), "--json").stdout)
    assert playbook["metadata"]["labels"] == {"noetl.io/compiled": "true"}
    assert [task["name"] for task in playbook["workflow"][0]["tool"]][:3] == [
        "init",
        "count.test",
        "count.inc",
    ]


def test_compile_prints_one_step(noetl, write) -> None:
    done = noetl("compile", write("sugar.yaml", SUGAR), "--step", "finish", "--json")
    assert json.loads(done.stdout)["step"] == "finish"


def test_a_debug_map_without_tasks_says_so_and_one_of_no_step_is_refused(noetl, write) -> None:
    name = write("plain.yaml", BAD.replace("nop", "noop"))
    empty = noetl("compile", name, "--debug-map")
    assert (empty.returncode, empty.stdout, empty.stderr) == (0, "", "no task is generated here\n")
    wrong = noetl("compile", name, "--debug-map", "--step", "b")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "the playbook has no step 'b'" in wrong.stderr


def test_compile_names_the_nearest_step(noetl, write) -> None:
    done = noetl("compile", write("sugar.yaml", SUGAR), "--step", "finnish")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'finish'?" in done.stderr


def test_the_debug_map_leads_from_generated_tasks_to_the_authors_lines(noetl, write) -> None:
    name = write("sugar.yaml", SUGAR)
    places = json.loads(noetl("compile", name, "--debug-map", "--json").stdout)
    by_label = {place["task"]: place for place in places}
    assert by_label["count.inc"]["line"] == 12
    assert by_label["pick.five"]["line"] == 16
    assert all(place["step"] == "start" for place in places)
    assert "sugar.yaml:12:" in noetl("compile", name, "--debug-map").stdout
    assert json.loads(noetl("compile", name, "--debug-map", "--json", "--step", "finish").stdout) == []


@pytest.mark.parametrize("arguments", [["compile"], ["graph"]])
def test_a_playbook_with_errors_is_not_used_and_its_errors_are_told(
    arguments: list[str], noetl, write
) -> None:
    done = noetl(*arguments, write("bad.yaml", BAD))
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[unknown-kind]" in done.stderr
    assert "did you mean 'noop'?" in done.stderr


# ---- graph ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form, begins",
    [("mermaid", "---\ntitle:"), ("dot", "digraph"), ("svg", "<svg "), ("json", "{"), ("pnml", "<?xml")],
)
def test_each_format_is_drawn(form: str, begins: str, noetl, write) -> None:
    done = noetl("graph", write("sugar.yaml", SUGAR), "--format", form)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(begins)
    assert "finish" in done.stdout


def test_the_output_file_decides_the_format(noetl, write, tmp_path) -> None:
    done = noetl("graph", write("sugar.yaml", SUGAR), "-o", "picture.svg")
    assert (done.stdout, done.stderr) == ("", "wrote picture.svg\n")
    ElementTree.parse(tmp_path / "picture.svg")


def test_a_place_that_cannot_be_written_is_told(noetl, write) -> None:
    done = noetl("graph", write("sugar.yaml", SUGAR), "-o", "nowhere/picture.svg")
    assert done.returncode == 2
    assert "cannot write 'nowhere/picture.svg': No such file or directory" in done.stderr


def test_json_has_the_lines_of_steps_and_arcs(noetl, write) -> None:
    graph = json.loads(noetl("graph", write("sugar.yaml", SUGAR), "--json").stdout)
    assert [(step["step"], step["line"]) for step in graph["steps"]] == [("start", 5), ("finish", 19)]
    assert [(arc["from"], arc["to"], arc["line"]) for arc in graph["arcs"]] == [("start", "finish", 18)]


# ---- schema and tools -----------------------------------------------------------------------------------


def test_the_schema_is_json_and_knows_every_kind(noetl) -> None:
    schema = json.loads(noetl("schema").stdout)
    assert schema["title"] == "NoETL playbook"
    kinds = [tool["kind"] for tool in json.loads(noetl("tools", "--json").stdout)]
    assert {"http", "noop", "python", "shell"} <= set(kinds)
    for kind in kinds:
        assert f'"{kind}"' in json.dumps(schema)


@pytest.mark.parametrize("command", ["schema", "tools"])
def test_an_unknown_kind_is_told_with_the_nearest(command: str, noetl) -> None:
    done = noetl(command, "htpp")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'http'?" in done.stderr


def test_a_kind_is_explained_with_inputs_and_example(noetl) -> None:
    page = noetl("tools", "http").stdout
    for part in (
        "http",
        "\ninput\n",
        "  url ",
        "\nspec\n",
        "\noutput.data\n",
        "\nExample\n",
        "kind: Playbook",
    ):
        assert part in page


def test_the_example_of_every_kind_is_free_of_findings(noetl) -> None:
    for tool in json.loads(noetl("tools", "--json").stdout):
        done = noetl("validate", "-", "--strict", "-q", stdin=tool["example"])
        assert (done.returncode, done.stdout) == (0, ""), tool["kind"]


# ---- help -----------------------------------------------------------------------------------------------


def test_noetl_alone_and_help_print_the_same_and_succeed(noetl) -> None:
    alone, asked = noetl(), noetl("--help")
    assert alone.stdout == asked.stdout
    assert (alone.returncode, asked.returncode, alone.stderr) == (0, 0, "")


def test_output_survives_a_terminal_without_unicode(noetl) -> None:
    done = noetl("tools", "http", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr

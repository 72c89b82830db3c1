"""`noetl validate` as a user meets it: files in, findings and an exit code out."""

import json

import pytest

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: case, path: tests/case}\n"
GOOD = HEAD + "workflow:\n  - {step: start, tool: {kind: noop}}\n"
BAD = HEAD + "workflow:\n  - {step: a, tool: {kind: noop}}\n  - {step: a, tool: {kind: noop}}\n"
WARNED = HEAD + "workflow:\n  - {step: start, tool: {kind: shell, args: {command: ls}}}\n"


def findings(done) -> list[dict]:
    return [finding for file in json.loads(done.stdout)["files"] for finding in file["diagnostics"]]


def test_a_clean_playbook_prints_no_data_and_one_line_on_stderr(noetl, write) -> None:
    done = noetl("validate", write("good.yaml", GOOD))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "ok: good.yaml: no findings\n")


def test_a_finding_is_data_and_the_summary_is_not(noetl, write) -> None:
    done = noetl("validate", write("bad.yaml", BAD))
    assert done.returncode == 1
    assert done.stdout.startswith("error[duplicate-step]: ")
    assert " --> bad.yaml:6:" in done.stdout
    assert "6 |   - {step: a, tool: {kind: noop}}" in done.stdout
    assert "= fix: " in done.stdout
    assert done.stderr.startswith("failed: bad.yaml: 1 error")


def test_lint_is_the_same_command(noetl, write) -> None:
    name = write("bad.yaml", BAD)
    assert noetl("lint", name).stdout == noetl("validate", name).stdout


def test_quiet_leaves_only_the_findings(noetl, write) -> None:
    assert noetl("validate", "-q", write("bad.yaml", BAD)).stderr == ""


def test_warnings_pass_and_are_errors_when_strict(noetl, write) -> None:
    name = write("warned.yaml", WARNED)
    assert noetl("validate", name).returncode == 0
    strict = noetl("validate", name, "--strict", "--json")
    assert strict.returncode == 1
    assert {finding["severity"] for finding in findings(strict)} == {"error"}


def test_standard_input_is_checked(noetl) -> None:
    done = noetl("validate", "-", stdin=BAD)
    assert done.returncode == 1
    assert "--> <stdin>:6:" in done.stdout


def test_folders_files_and_patterns_can_be_mixed(noetl, write) -> None:
    write("books/deep/a.yaml", GOOD)
    write("books/values.yaml", "a: 1\n")
    write("more/b.yml", BAD)
    done = noetl("validate", "books", "more/*.yml", "--json")
    report = json.loads(done.stdout)
    assert [file["file"] for file in report["files"]] == ["books/deep/a.yaml", "more/b.yml"]
    assert (done.returncode, report["errors"]) == (1, 1)


def test_all_findings_come_at_once_in_order(noetl, write) -> None:
    head = HEAD.replace("name: case, ", "")
    text = f"{head}workflow:\n  - {{step: a, tool: {{kind: nop}}, next: {{arcs: [{{step: zz}}]}}}}\n"
    found = findings(noetl("validate", write("many.yaml", text), "--json"))
    assert [(f["code"], f["line"]) for f in found] == [
        ("missing-key", 3),
        ("unknown-kind", 5),
        ("unknown-step", 5),
    ]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["zz.yaml"], "no such file or folder: 'zz.yaml'"),
        (["."], "no playbooks in the folder '.'"),
        (["*.yaml"], "no file matches '*.yaml'"),
        ([], "missing argument 'FILE...'"),
        (["--format", "xml", "-"], "'xml' is not one of"),
    ],
)
def test_wrong_usage_exits_with_2_and_prints_no_data(arguments: list[str], words: str, noetl) -> None:
    done = noetl("validate", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "a: [",
        "- 1",
        "null",
        "a: " + "[" * 30_000 + "]" * 30_000,
        "a: &a [x]\nb: &b [*a, *a]\n" + "".join(f"c{i}: &c{i} [{', '.join(['*b'] * 9)}]\n" for i in range(9)),
        HEAD + "workflow: !!python/object:os.system []\n",
        "\x00",
        "\ufeff",
        "a: \udcff",
    ],
    ids=range(11),
)
def test_no_text_makes_it_fail_in_another_way_than_with_findings(text: str, noetl) -> None:
    done = noetl("validate", "-", "--json", stdin=text.encode(errors="surrogateescape"))
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    for finding in findings(done):
        assert finding["code"]
        assert finding["line"] >= 1
        assert finding["column"] >= 1


def test_an_empty_file_is_reported_at_1_1(noetl) -> None:
    first = findings(noetl("validate", "-", "--json", stdin=""))[0]
    assert (first["line"], first["column"]) == (1, 1)


def test_a_legacy_form_names_migrate(noetl, write) -> None:
    text = HEAD + "workflow:\n  - step: start\n    tool: {kind: noop}\n    next: [{step: start}]\n"
    found = findings(noetl("validate", write("old.yaml", text), "--json"))
    assert [f["code"] for f in found if "noetl migrate" in (f["hint"] or "")] == ["next-not-router"]


def test_sarif_and_github_are_printed_alone(noetl, write) -> None:
    name = write("bad.yaml", BAD)
    sarif = noetl("validate", name, "--format", "sarif")
    assert json.loads(sarif.stdout)["runs"][0]["results"][0]["ruleId"] == "duplicate-step"
    github = noetl("validate", name, "--format", "github")
    assert github.stdout.startswith("::error file=bad.yaml,line=6,col=")
    assert sarif.stderr == github.stderr == ""


# ---- the terminal ---------------------------------------------------------------------------------------


def test_colour_only_on_a_terminal_and_never_with_no_color(noetl, write) -> None:
    name = write("bad.yaml", BAD)
    assert "\x1b[" not in noetl("validate", name).stdout
    assert "\x1b[31m" in noetl.on_a_terminal("validate", name)
    assert "\x1b[" not in noetl.on_a_terminal("validate", name, NO_COLOR="1")


def test_progress_is_shown_on_a_terminal_for_many_files_only(noetl, write) -> None:
    for number in range(25):
        write(f"many/{number}.yaml", GOOD)
    write("few/a.yaml", GOOD)
    assert "checking" in noetl.on_a_terminal("validate", "many")
    assert "checking" not in noetl.on_a_terminal("validate", "few")
    assert "checking" not in noetl("validate", "many").stderr


def test_a_reader_that_goes_away_ends_it_quietly(noetl, write) -> None:
    for number in range(60):
        write(f"many/{number}.yaml", BAD)
    done = noetl.shell("noetl validate many many many | head -1; echo ${PIPESTATUS[0]}; noetl tools | true")
    assert done.stdout.splitlines()[0].startswith("error[duplicate-step]")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_a_file_that_cannot_be_read_does_not_hide_the_others(noetl, write, tmp_path) -> None:
    write("many/a.yaml", BAD)
    (tmp_path / "many" / "b.yaml").symlink_to(tmp_path / "many" / "b.yaml")
    done = noetl("validate", "many/a.yaml", "many")
    assert "duplicate-step" in done.stdout

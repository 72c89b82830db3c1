"""`noetl migrate` as a user meets it: what it prints, what it writes, and how it ends."""

import json
import os
import stat
from pathlib import Path

import pytest

OLD = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: case, path: tests/case}
workflow:
  - step: start  # here
    tool:
      - go: {kind: noop}
"""
NEW = OLD.replace("- go: {kind: noop}", "- {name: go, kind: noop}")
ASKING = OLD.replace("    tool:", "    vars: {x: 1}\n    tool:")
BROKEN = "a: [1\n"


def test_without_options_it_prints_a_diff_and_changes_nothing(noetl, write) -> None:
    done = noetl("migrate", write("old.yaml", OLD))
    assert done.returncode == 0
    assert done.stdout.splitlines()[:3] == ["--- old.yaml", "+++ old.yaml", "@@ -4,4 +4,4 @@"]
    assert "-      - go: {kind: noop}\n+      - {name: go, kind: noop}\n" in done.stdout
    assert "old.yaml:7: changed: task 'go' is now named by 'name'" in done.stderr
    assert (noetl.folder / "old.yaml").read_text() == OLD


def test_write_replaces_the_file_and_keeps_its_mode(noetl, write) -> None:
    path = noetl.folder / write("old.yaml", OLD)
    path.chmod(0o640)
    done = noetl("migrate", "--write", "old.yaml")
    assert (done.returncode, done.stdout) == (0, "")
    assert path.read_text() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in noetl.folder.iterdir() if file.name.startswith(".noetl")] == []
    assert noetl("validate", "--strict", "old.yaml").returncode == 0


def test_write_follows_a_link_and_leaves_it_a_link(noetl, write) -> None:
    write("old.yaml", OLD)
    (noetl.folder / "link.yaml").symlink_to("old.yaml")
    assert noetl("migrate", "--write", "link.yaml").returncode == 0
    assert (noetl.folder / "link.yaml").is_symlink()
    assert (noetl.folder / "old.yaml").read_text() == NEW


def test_a_file_that_is_up_to_date_is_not_touched(noetl, write) -> None:
    path = noetl.folder / write("new.yaml", NEW)
    os.utime(path, (1, 1))
    done = noetl("migrate", "--write", "new.yaml")
    assert (done.returncode, done.stdout) == (0, "")
    assert path.stat().st_mtime == 1
    assert "nothing to migrate" in done.stderr


def test_check_exits_1_when_something_would_change(noetl, write) -> None:
    write("old.yaml", OLD)
    write("new.yaml", NEW)
    done = noetl("migrate", "--check", "old.yaml", "new.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "failed: old.yaml: 1 place would be rewritten" in done.stderr
    assert "ok: new.yaml" in done.stderr
    assert noetl("migrate", "--check", "new.yaml").returncode == 0
    assert "@@ -" in noetl("migrate", "--check", "--diff", "old.yaml").stdout
    assert (noetl.folder / "old.yaml").read_text() == OLD


def test_write_and_check_exclude_each_other(noetl, write) -> None:
    done = noetl("migrate", "--check", "--write", write("old.yaml", OLD))
    assert done.returncode == 2
    assert "exclude each other" in done.stderr


def test_a_folder_is_searched_and_every_file_gets_its_diff(noetl, write) -> None:
    write("a/one.yaml", OLD)
    write("a/b/two.yaml", OLD)
    write("a/other.yaml", "just: data\n")
    done = noetl("migrate", "a")
    assert [line for line in done.stdout.splitlines() if line.startswith("+++")] == [
        "+++ a/one.yaml",
        "+++ a/b/two.yaml",
    ]


def test_standard_input_is_rewritten_to_standard_output(noetl) -> None:
    assert noetl("migrate", "-", "--write", stdin=OLD).stdout == NEW
    assert noetl("migrate", "-", "--write", stdin=NEW).stdout == NEW


def test_a_file_that_is_not_yaml_is_refused_and_the_others_are_done(noetl, write) -> None:
    write("broken.yaml", BROKEN)
    write("old.yaml", OLD)
    done = noetl("migrate", "--write", "broken.yaml", "old.yaml")
    assert done.returncode == 1
    assert "error[yaml-syntax]" in done.stderr
    assert "broken.yaml:" in done.stderr
    assert (noetl.folder / "broken.yaml").read_text() == BROKEN
    assert (noetl.folder / "old.yaml").read_text() == NEW


def test_a_file_that_is_not_there_is_a_bad_request(noetl) -> None:
    done = noetl("migrate", "missing.yaml")
    assert done.returncode == 2
    assert "missing.yaml" in done.stderr


def test_what_needs_a_look_is_said_and_quiet_says_nothing(noetl, write) -> None:
    done = noetl("migrate", write("old.yaml", ASKING))
    assert "old.yaml:6: look: 'vars'" in done.stderr
    assert "1 place to look at" in done.stderr
    assert noetl("migrate", "old.yaml", "--quiet").stderr == ""


def test_the_diff_is_coloured_on_a_terminal_only(noetl, write) -> None:
    write("old.yaml", OLD)
    assert "\x1b[" not in noetl("migrate", "old.yaml").stdout
    assert "\x1b[32m\x1b[1m+      - {name: go, kind: noop}" in noetl.on_a_terminal("migrate", "old.yaml")


def test_every_example_of_the_project_is_up_to_date(noetl) -> None:
    examples = Path(__file__).resolve().parents[2] / "examples"
    assert noetl("migrate", "--check", "--quiet", str(examples)).returncode == 0


# ---- what was migrated runs -------------------------------------------------------------------------------

SEEDS = Path(__file__).resolve().parents[1] / "fixtures" / "seeds"
OUTPUTS = {
    "v10_labels": None,
    "v10_next_router": None,
    "v10_root_layout": None,
    "v10_router": 7,
    "legacy_step_shape": [1, 2],
    "legacy_pipe_and_case": None,
}
STATEFUL = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: stateful, path: tests/stateful}
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: i, spec: {mode: parallel}}
    tool:
      - t:
          kind: python
          args: {n: "{{ iter.i }}"}
          code: "result = {'n': n, 'rows': [n, n * 10]}"
          eval:
            - {expr: "{{ outcome.status == 'success' and outcome.result.n == 2 }}", do: continue, set_prev: two}
            - {expr: "{{ outcome.result.n == 3 }}", do: jump, to: last, set_prev: "{{ outcome.result.rows }}"}
            - else: {do: continue, set_shared: {total: "{{ vars.total | default(0) + outcome.result.n }}"}}
      - show: {kind: python, args: {p: "{{ _prev }}"}, code: "result = ['show', p]"}
      - last: {kind: python, args: {p: "{{ _prev }}"}, code: "result = ['last', p]"}
    next:
      - step: between
        args: {all: "{{ outcome.result }}"}
  - {step: between, next: [finish]}
  - step: finish
    tool: {kind: python, args: {x: "{{ args.all }}", t: "{{ ctx.total }}"}, code: "result = [x, t]"}
"""


def output_of(noetl, text: str) -> object:
    (noetl.folder / "run.yaml").write_text(text)
    done = noetl("run", "run.yaml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["output"]


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_migrated_example_runs(noetl, name: str) -> None:
    text = noetl("migrate", "-", "--write", stdin=(SEEDS / f"{name}.yaml").read_text()).stdout
    assert output_of(noetl, text) == OUTPUTS[name]


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name.startswith("v10")])
def test_a_migrated_example_gives_what_the_older_one_gave(noetl, name: str) -> None:
    assert output_of(noetl, (SEEDS / f"{name}.yaml").read_text()) == OUTPUTS[name]


def test_older_state_keeps_its_meaning_when_it_runs(noetl) -> None:
    text = noetl("migrate", "-", "--write", stdin=STATEFUL).stdout
    first = ["last", ["show", {"n": 1, "rows": [1, 10]}]]
    assert output_of(noetl, text) == [[first, ["last", ["show", "two"]], ["last", [3, 30]]], 1]


def test_json_tells_of_every_file_what_changed_and_what_needs_a_look(noetl, write):
    old = write("old.yaml", OLD_TASK)
    bad = write("bad.yaml", "a: [1\n")
    done = noetl("migrate", old, bad, "--json")
    assert (done.returncode, done.stderr) == (1, "")
    shown = json.loads(done.stdout)
    assert (shown["changed"], shown["written"]) == (1, False)
    first, second = shown["files"]
    assert (first["file"], first["changed"]) == ("old.yaml", True)
    assert "set_prev" not in first["text"]
    assert any("set_prev" in note["message"] for note in first["notes"])
    assert second["diagnostics"][0]["line"] >= 1
    assert (noetl.folder / "old.yaml").read_text() == OLD_TASK
    assert noetl("migrate", old, "--json", "--check").returncode == 1
    assert json.loads(noetl("migrate", old, "--json", "--write").stdout)["written"]
    assert (noetl.folder / "old.yaml").read_text() == first["text"]
    assert json.loads(noetl("migrate", old, "--json", "--check").stdout)["changed"] == 0


OLD_TASK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: old, path: tests/old}
workflow:
  - step: a
    tool:
      - {name: t, kind: noop, set_prev: 1}
"""


def test_a_report_counts_files_rewrites_and_what_is_left(noetl, write) -> None:
    write("old.yaml", OLD)
    write("new.yaml", NEW)
    write("asking.yaml", ASKING)
    write("refused.yaml", OLD.replace("{kind: noop}", "{kind: nope}"))
    write("broken.yaml", BROKEN)
    files = ["old.yaml", "new.yaml", "asking.yaml", "refused.yaml", "broken.yaml"]
    done = noetl("migrate", "--report", *files)
    assert done.returncode == 1
    assert done.stdout.splitlines()[:5] == [
        "5 playbooks",
        "      1  need nothing",
        "      1  are rewritten and accepted",
        "      1  are rewritten and accepted, with places to look at",
        "      2  are refused by validate afterwards",
    ]
    assert "      3 in 3    task '…' is now named by '…'" in done.stdout
    assert "      1 in 1    unknown-kind" in done.stdout
    assert (noetl.folder / "old.yaml").read_text() == OLD


def test_a_report_for_programs(noetl, write) -> None:
    done = noetl("migrate", "--report", "--json", write("old.yaml", OLD))
    report = json.loads(done.stdout)
    assert report["total"] == 1
    assert report["states"] == {"clean": 0, "rewritten": 1, "choices": 0, "refused": 0}
    assert report["files"] == [{"file": "old.yaml", "state": "rewritten", "findings": []}]
    assert report["rewrites"] == {"task '…' is now named by '…'": {"places": 1, "files": 1}}


def test_a_report_prints_no_diff(noetl, write) -> None:
    assert noetl("migrate", "--report", "--diff", write("old.yaml", OLD)).returncode == 2

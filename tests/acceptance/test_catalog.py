"""`noetl catalog` and `noetl register` as a user meets them."""

import json

import pytest

from tests.acceptance.running import audit_all, playbook

ONE = playbook("- {step: a, tool: {kind: noop, output: 1}}", name="one")
TWO = ONE.replace("output: 1", "output: 2")


@pytest.fixture(autouse=True)
def audited(tmp_path):
    yield
    audit_all(tmp_path)


def test_a_changed_text_is_the_next_version_and_the_same_text_is_none(noetl, write):
    name = write("one.yaml", ONE)
    assert noetl("register", name).stdout == "tests/one v1\n"
    assert noetl("catalog", "register", name).stdout == "tests/one v1\n"
    write("one.yaml", TWO)
    assert json.loads(noetl("register", name, "--json").stdout)[0]["version"] == 2
    versions = json.loads(noetl("catalog", "list", "tests/one", "--json").stdout)
    assert [entry["version"] for entry in versions] == [2, 1]
    assert noetl("catalog", "show", "tests/one").stdout == TWO
    assert json.loads(noetl("catalog", "show", "tests/one", "--version", "1", "--json").stdout)["text"] == ONE
    changed = noetl("catalog", "diff", "tests/one").stdout.splitlines()
    assert "--- tests/one v1" in changed
    assert any(line.startswith("+") and "output: 2" in line for line in changed)
    assert "no difference" in noetl("catalog", "diff", "tests/one", "2", "2").stderr


def test_a_folder_is_registered_whole_or_not_at_all(noetl, write):
    write("books/one.yaml", ONE)
    write("books/two.yaml", playbook("- {step: a, tool: {kind: noop}}", name="two"))
    assert noetl("register", "books").stdout == "tests/one v1\ntests/two v1\n"
    write("books/one.yaml", TWO)
    write("books/two.yaml", playbook("- {step: a, tool: {kind: nop}}", name="two"))
    refused = noetl("register", "books")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "error[unknown-kind]" in refused.stderr
    listed = noetl("catalog", "list").stdout.splitlines()
    assert [line.split("  ")[0] for line in listed] == ["tests/one v1", "tests/two v1"]


def test_what_is_deleted_is_not_offered_but_what_ran_it_keeps_it(noetl, write):
    name = write("one.yaml", ONE)
    noetl("run", name, "-q")
    assert "1 version" in noetl("catalog", "delete", "tests/one").stderr
    assert noetl("catalog", "list").stdout == ""
    gone = noetl("catalog", "show", "tests/one")
    assert (gone.returncode, "no playbook with the path" in gone.stderr) == (2, True)
    assert noetl("execution", "replay", "@last").returncode == 0
    assert noetl("register", name).stdout == "tests/one v2\n"


def test_a_difference_is_data_too(noetl, write):
    noetl("register", write("one.yaml", ONE))
    noetl("register", write("one.yaml", TWO))
    found = json.loads(noetl("catalog", "diff", "tests/one", "--json").stdout)
    assert (found["path"], found["a"], found["b"], found["same"]) == ("tests/one", 1, 2, False)
    assert found["diff"][:2] == ["--- tests/one v1", "+++ tests/one v2"]
    same = json.loads(noetl("catalog", "diff", "tests/one", "2", "2", "--json").stdout)
    assert (same["same"], same["diff"]) == (True, [])


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["show", "tests/on"], "did you mean 'tests/one'?"),
        (["show", "tests/one", "--version", "7"], "its versions: 1"),
        (["diff", "tests/one"], "only one version"),
        (["delete", "tests/one", "--version", "2"], "no version 2"),
        (["register", "nowhere.yaml"], "no such file"),
        (["lst"], "no such command 'lst'"),
    ],
)
def test_what_is_not_there_is_named(noetl, write, arguments, told):
    noetl("register", write("one.yaml", ONE))
    done = noetl("catalog", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr

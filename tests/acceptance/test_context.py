"""`noetl context` and `noetl doctor` in a process of their own."""

import json
import stat

import pytest


def test_a_context_is_added_chosen_listed_and_removed(noetl):
    assert (
        noetl(
            "context", "add", "prod", "https://noetl.example.com/", "--token", "-", stdin="hidden\n"
        ).returncode
        == 0
    )
    assert noetl("context", "add", "test", "http://127.0.0.1:1", "--use").returncode == 0
    listed = json.loads(noetl("context", "list", "--json").stdout)
    assert listed == [
        {"name": "prod", "server": "https://noetl.example.com", "token": True, "current": False},
        {"name": "test", "server": "http://127.0.0.1:1", "token": False, "current": True},
    ]
    file = noetl.folder / "home" / "contexts.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "hidden" in file.read_text()
    shown = noetl("context", "list")
    assert "* test" in shown.stdout
    assert "hidden" not in shown.stdout
    assert noetl("context", "remove", "test").returncode == 0
    assert noetl("context", "use", "prod").returncode == 0
    assert noetl("context", "use", "--none").returncode == 0
    assert not any(one["current"] for one in json.loads(noetl("context", "list", "--json").stdout))


def test_the_context_in_use_is_the_server_of_every_command(noetl):
    noetl("context", "add", "test", "http://127.0.0.1:1", "--use")
    done = noetl("execution", "list")
    assert done.returncode == 3
    assert "the server at http://127.0.0.1:1 cannot be reached" in done.stderr
    assert "noetl server start" in done.stderr
    assert noetl("execution", "list", NOETL_SERVER="http://127.0.0.1:2").stderr.count("127.0.0.1:2") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["add", "a b", "http://x"], "no name for a context"),
        (["add", "a", "localhost:8080"], "no address of a server"),
        (["add", "a", "http://me:pw@host"], "give a token instead"),
        (["use", "nowhere"], "there is no context 'nowhere'"),
        (["use"], "name a context"),
        (["remove", "nowhere"], "there is no context 'nowhere'"),
    ],
)
def test_what_is_no_context_is_refused(noetl, arguments, told):
    done = noetl("context", *arguments)
    assert done.returncode == 2
    assert told in done.stderr


def checks(done):
    return {one["name"]: one for one in json.loads(done.stdout)["checks"]}


def test_doctor_names_every_check_and_every_setting_with_its_origin(noetl):
    done = noetl("doctor", "--json")
    assert done.returncode == 0
    found = checks(done)
    assert {
        "home",
        "settings",
        "key",
        "credentials",
        "contexts",
        "store",
        "bus",
        "results",
        "server",
        "token",
        "python",
        "extras",
    } == set(found)
    assert {one["state"] for one in found.values()} == {"ok", "unused"}
    settings = {one["name"]: one for one in json.loads(done.stdout)["settings"]}
    assert settings["home"]["origin"] == "environment NOETL_HOME"
    assert settings["port"] == {"name": "port", "value": 8080, "origin": "default"}
    text = noetl("doctor")
    assert "port" in text.stdout
    assert not (noetl.folder / ".noetl").exists()


def test_doctor_shows_no_secret(noetl):
    done = noetl(
        "doctor", "--json", NOETL_TOKEN="hidden", NOETL_STORE="postgresql://me:hidden@127.0.0.1:1/noetl"
    )
    assert "hidden" not in done.stdout + done.stderr
    assert (done.returncode, checks(done)["store"]["state"]) == (3, "error")


def test_doctor_exits_3_when_something_needed_cannot_be_reached(noetl):
    done = noetl("doctor", "--json", NOETL_SERVER="http://127.0.0.1:1", NOETL_BUS="nats://127.0.0.1:1")
    assert done.returncode == 3
    found = checks(done)
    assert (found["server"]["state"], found["bus"]["state"]) == ("error", "error")
    assert "http://127.0.0.1:1" in found["server"]["told"]
    assert found["store"]["state"] == "unused"


def test_doctor_says_which_token_is_withheld_from_a_server_of_the_project(noetl):
    (noetl.folder / "noetl.toml").write_text("server = 'http://127.0.0.1:1'\n")
    found = checks(noetl("doctor", "--json", NOETL_TOKEN="mine"))
    assert found["token"]["state"] == "warning"
    assert "NOETL_TOKEN" in found["token"]["told"]


def test_doctor_minds_files_that_others_may_read(noetl):
    noetl("context", "add", "test", "http://127.0.0.1:1", "--token", "t")
    (noetl.folder / "home" / "contexts.toml").chmod(0o644)
    assert checks(noetl("doctor", "--json"))["contexts"]["state"] == "warning"

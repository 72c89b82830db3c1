"""`noetl credential`: values go in, are used by name, and come out nowhere."""

import base64
import json
import os
import stat

import pytest
from pytest_httpserver import HTTPServer

from tests.acceptance.running import audit_all, playbook

SECRET = "canary-5f2c81"


@pytest.fixture(autouse=True)
def audited(tmp_path):
    yield
    audit_all(tmp_path)


def everything_on_disk(folder):
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_credential_is_stored_sealed_and_shown_without_its_values(noetl, tmp_path):
    stored = noetl("credential", "set", "api", "--value", "-", "--field", "user=app", stdin=f"{SECRET}\n")
    assert (stored.returncode, stored.stdout) == (0, "")
    shown = json.loads(noetl("credential", "show", "api", "--json").stdout)
    assert (shown["name"], shown["fields"]) == ("api", ["user", "value"])
    assert "fields: user, value" in noetl("credential", "show", "api").stdout
    assert [item["name"] for item in json.loads(noetl("credential", "list", "--json").stdout)] == ["api"]
    assert SECRET.encode() not in everything_on_disk(tmp_path)
    assert stat.S_IMODE(os.stat(tmp_path / "home" / "key").st_mode) == 0o600


def test_a_playbook_uses_a_credential_by_name(noetl, write, tmp_path, httpserver: HTTPServer):
    httpserver.expect_request("/", headers={"Authorization": f"Bearer {SECRET}"}).respond_with_json({"ok": 1})
    noetl("credential", "set", "api", "--input", "-", stdin=json.dumps({"token": SECRET}))
    text = playbook(
        f"- {{step: a, tool: {{kind: http, auth: api, input: {{url: '{httpserver.url_for('/')}'}}}}}}",
        keychain="keychain: [{name: api, kind: credential, credential: api}]",
    )
    done = noetl("run", write("use.yaml", text), "--json")
    assert json.loads(done.stdout)["output"] == {"ok": 1}, done.stderr
    assert SECRET.encode() not in everything_on_disk(tmp_path)


def test_a_new_key_seals_every_credential_again(noetl, tmp_path):
    for name in ("one", "two"):
        noetl("credential", "set", name, "--value", SECRET)
    old = (tmp_path / "home" / "key").read_bytes()
    assert "sealed 2 credentials" in noetl("credential", "rotate-key").stderr
    keys = (tmp_path / "home" / "key").read_bytes()
    assert (len(keys), keys[32:]) == (64, old)
    (tmp_path / "home" / "key").write_bytes(keys[:32])  # the new key alone opens them
    assert noetl("credential", "show", "one").returncode == 0
    (tmp_path / "home" / "key").write_bytes(old)
    locked = noetl("credential", "show", "one")
    assert (locked.returncode, "cannot be opened with this key" in locked.stderr) == (3, True)


def test_a_key_of_the_environment_is_changed_by_naming_both(noetl):
    old, new = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
    noetl("credential", "set", "one", "--value", SECRET, NOETL_KEY=old)
    refused = noetl("credential", "rotate-key", NOETL_KEY=old)
    assert (refused.returncode, "NOETL_KEY=NEW,OLD" in refused.stderr) == (2, True)
    assert old not in refused.stderr
    assert noetl("credential", "rotate-key", NOETL_KEY=f"{new},{old}").returncode == 0
    assert noetl("credential", "show", "one", NOETL_KEY=new).returncode == 0


def test_a_malformed_key_is_a_wrong_setting_and_is_not_repeated(noetl):
    wrong = noetl("credential", "list", NOETL_KEY="not-a-key-4711")
    assert wrong.returncode == 2
    assert "setting 'key' must be 32 bytes in base64" in wrong.stderr
    assert "NOETL_KEY" in wrong.stderr
    assert "4711" not in wrong.stderr


def test_a_deleted_credential_is_gone(noetl):
    noetl("credential", "set", "one", "--value", SECRET)
    assert noetl("credential", "delete", "one").returncode == 0
    for command in ("show", "delete"):
        gone = noetl("credential", command, "one")
        assert (gone.returncode, "there is no credential 'one'" in gone.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["set", "one"], "give --value"),
        (["set", "one", "--field", "x"], "--field takes KEY=VALUE"),
        (["set", "no way", "--value", "x"], "is no name"),
        (["set", "one", "--value", "-", "--input", "-"], "standard input"),
        (["set", "one", "--value", "-"], "the value is empty"),
        (["set", "one", "--value", ""], "the value is empty"),
    ],
)
def test_what_cannot_be_stored_is_refused(noetl, arguments, told):
    done = noetl("credential", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr

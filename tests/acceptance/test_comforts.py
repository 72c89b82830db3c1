"""What makes a command line pleasant: completion, raw output, versions, patterns, hints, extras by name."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.acceptance.conftest import NOETL, Noetl
from tests.acceptance.playbooks import document
from tests.acceptance.running import audit_all


def say(text: str, name: str = "say") -> str:
    return document(f"- {{step: say, tool: {{kind: noop, output: {json.dumps(text)}}}}}", name=name)


@pytest.fixture(autouse=True)
def audited(tmp_path):
    yield
    audit_all(tmp_path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_taught_to_complete(noetl: Noetl, shell: str) -> None:
    done = noetl("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_NOETL_COMPLETE" in done.stdout


def test_commands_and_options_are_completed(noetl: Noetl) -> None:
    asked = {"_NOETL_COMPLETE": "bash_complete", "COMP_WORDS": "noetl execution re", "COMP_CWORD": "2"}
    done = subprocess.run([NOETL], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    names = [line.partition(",")[2] for line in done.stdout.splitlines()]
    assert {"release", "replay", "rerun", "resume", "retry"} == set(names)


@pytest.mark.parametrize(
    "words", ["noetl run fi", "noetl validate a fi", "noetl run x --input fi", "noetl test fi"]
)
def test_names_of_files_are_completed(words: str) -> None:
    place = str(len(words.split()) - 1)
    asked = {"_NOETL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": place}
    done = subprocess.run([NOETL], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert done.stdout == "file,fi\n"


def test_a_zsh_that_nobody_has_set_up_is_made_ready(noetl: Noetl) -> None:
    head, ready, *_ = noetl("completion", "zsh").stdout.splitlines()
    assert head == "#compdef noetl", "where zsh loads it from a folder of its own"
    assert ready == "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }"


@pytest.mark.anywhere
def test_a_text_is_printed_as_it_is(noetl: Noetl) -> None:
    (noetl.folder / "say.yaml").write_text(say('two\n"lines"'))
    assert noetl("run", "say.yaml").stdout == '"two\\n\\"lines\\""\n'
    assert noetl("run", "say.yaml", "--raw").stdout == 'two\n"lines"\n'
    assert noetl("run", "say.yaml", "--raw", "--json").returncode == 2


@pytest.mark.anywhere
def test_an_older_version_is_run(noetl: Noetl) -> None:
    name = f"say-{noetl.folder.name}"
    for number in (1, 2):
        (noetl.folder / "say.yaml").write_text(say(f"version {number}", name))
        assert noetl("register", "say.yaml").returncode == 0
    unknown = noetl("run", f"tests/{name}", "--version", "9")
    assert (unknown.returncode, unknown.stdout) == (2, ""), "not what the file has"
    assert f"'tests/{name}' has no version 9\n  = fix: its versions: 2, 1" in unknown.stderr
    (noetl.folder / "say.yaml").unlink()
    assert noetl("run", f"tests/{name}", "--version", "1").stdout == '"version 1"\n'
    assert noetl("run", f"tests/{name}").stdout == '"version 2"\n'
    assert noetl("run", "say.yaml", "--version", "1").returncode == 2


@pytest.mark.anywhere
def test_a_path_may_be_a_pattern(noetl: Noetl) -> None:
    names = [f"{end}-{noetl.folder.name}" for end in ("alpha", "beta")]
    for name in names:
        (noetl.folder / "say.yaml").write_text(say("x", name))
        assert noetl("run", "say.yaml").returncode == 0

    def listed(pattern: str) -> list[str]:
        rows = json.loads(noetl("execution", "list", "--path", pattern, "--json").stdout)
        return sorted(row["playbook"]["path"] for row in rows)

    assert listed(f"tests/*-{noetl.folder.name}") == [f"tests/{name}" for name in names]
    assert listed(f"tests/alph?-{noetl.folder.name}") == [f"tests/{names[0]}"]
    assert "--all" in noetl("execution", "list", "--path", "nowhere/*").stderr


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("logs", "noetl execution logs @last"),
        ("status", "noetl execution show"),
        ("deploy", "noetl register"),
    ],
)
def test_words_of_other_programs_are_answered_with_what_is_meant(noetl: Noetl, word: str, meant: str) -> None:
    done = noetl(word)
    assert done.returncode == 2
    assert meant in done.stderr


@pytest.mark.parametrize(
    ("module", "command", "extra"),
    [
        ("fastapi", ["dev"], "server"),
        ("uvicorn", ["server", "start"], "server"),
        ("asyncpg", ["db", "status"], "postgres"),
    ],
)
def test_an_extra_that_is_not_installed_is_named(
    noetl: Noetl, module: str, command: list[str], extra: str
) -> None:
    hide = (
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {module!r}:\n"
        f"            raise ModuleNotFoundError('No module named {module}', name=name)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "from noetl.cli.main import main\n"
        f"main({command!r})\n"
    )
    environment = {**noetl.environment, "NOETL_STORE": "postgresql://nobody@127.0.0.1:1/none"}
    if extra == "server":
        del environment["NOETL_STORE"]
    done = subprocess.run(
        [sys.executable, "-c", hide],
        cwd=noetl.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"error[missing-extra]: {module} is not installed" in done.stderr, done.stderr
    assert f"PATH[{extra}]" in done.stderr


@pytest.mark.anywhere
def test_a_list_says_who_started_what_and_why_it_failed(noetl: Noetl) -> None:
    name = f"bad-{noetl.folder.name}"
    code = "raise ValueError('no rows\\nat all')"
    bad = document(f"- {{step: go, tool: {{kind: python, input: {{code: {json.dumps(code)}}}}}}}", name=name)
    (noetl.folder / "bad.yaml").write_text(bad)
    assert noetl("run", "bad.yaml").returncode == 1
    [row] = json.loads(noetl("execution", "list", "--path", f"tests/{name}", "--json").stdout)
    line = noetl("execution", "list", "--path", f"tests/{name}").stdout
    assert line.endswith(f"  tests/{name} v1  by {row['by']}  python: ValueError: no rows…\n")
    for command in ("show", "why"):
        said = noetl("execution", command, row["execution_id"])
        assert said.returncode == 0
        assert f"noetl execution retry {row['execution_id']}" in said.stderr


@pytest.mark.anywhere
def test_a_credential_that_is_missing_is_told_with_the_command_that_stores_it(noetl: Noetl) -> None:
    entry = "{name: shop, kind: oauth2, token_url: 'https://x.example', client_id: a, client_secret: {credential: gone}}"
    step = "- {step: go, tool: {kind: http, auth: shop, input: {url: 'https://x.example'}}}"
    (noetl.folder / "shop.yaml").write_text(
        document(step).replace("workflow:", f"keychain: [{entry}]\nworkflow:", 1)
    )
    said = noetl("run", "shop.yaml").stderr
    assert "error[keychain]: there is no credential 'gone'" in said
    assert "  hint   noetl credential set gone --value -" in said


class Stranger(BaseHTTPRequestHandler):
    """A server of something else, which answers everything with a little JSON."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"hello": "world"}')

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def stranger() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Stranger)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    "words",
    [("execution", "list"), ("catalog", "list"), ("schedule", "list"), ("notification", "deliveries")],
)
def test_another_server_is_told_as_such(noetl: Noetl, stranger: str, words: tuple[str, ...]) -> None:
    done = noetl(*words, "--server", stranger)
    assert done.returncode == 3
    assert f"what answers at {stranger} is no NoETL server: its answer has no 'items'" in done.stderr


def test_an_output_that_cannot_be_written_is_an_error_and_no_bug(noetl: Noetl) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([NOETL, "tools"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error[output]: stdout cannot be written to: No space left on device\n")


def test_a_backfill_of_a_playbook_is_asked_how_often(noetl: Noetl) -> None:
    done = noetl("schedule", "backfill", "etl/load", "--from", "2026-11-01", "--to", "2026-11-02")
    assert done.returncode == 2
    assert "'etl/load' is a playbook and no schedule: say how often, as with --every 1d" in done.stderr


def test_a_notification_is_deleted_by_either_word(noetl: Noetl) -> None:
    for word in ("delete", "remove"):
        done = noetl("notification", word, "nobody")
        assert (done.returncode, done.stderr.startswith("error[not-found]")) == (2, True)

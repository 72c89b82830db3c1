"""An error says all that is known of it: the author's lines, the answer's body, the place in the SQL, the input."""

import base64

import msgspec
import pytest

from tests.engine.harness import begin, engine, finish, playbook, run
from tests.engine.test_waiting import child_project

CANARY = "s3cr3t/canary 918273"
BASIC = base64.b64encode(f"me:{CANARY}".encode()).decode()
KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCkjhgfdsaPOIUYTREWQ098765\n-----END KEY-----\n"


async def failing(tmp_path, tool, **root):
    ran = await run(tmp_path, playbook(f"- step: start\n  tool: {tool}", **root))
    assert ran.status == "failed"
    return ran.error


async def test_an_error_of_python_has_the_authors_lines_and_none_of_ours(tmp_path):
    code = (
        "def pick(row):\n    return row['a']\n\ndef main(row):\n    print('so far')\n    return pick(row)\n"
    )
    tool = msgspec.json.encode({"name": "load", "kind": "python", "input": {"row": {"b": 1}, "code": code}})
    error = await failing(tmp_path, tool.decode())
    assert error["details"] == {
        "input": {"row": {"b": 1}},
        "log": ["so far"],
        "traceback": (
            "Traceback (most recent call last):\n"
            '  File "start/load", line 6, in main\n    return pick(row)\n           ^^^^^^^^^\n'
            "  File \"start/load\", line 2, in pick\n    return row['a']\n           ~~~^^^^^\n"
            "KeyError: 'a'\n"
        ),
    }


async def test_an_error_of_a_script_names_the_file_as_the_author_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "load.py").write_text("\nraise ValueError('no')\n")
    error = await failing(tmp_path, "{kind: python, input: {script: jobs/load.py}}")
    assert 'File "jobs/load.py", line 2, in <module>\n' in error["details"]["traceback"]
    assert str(tmp_path) not in error["details"]["traceback"]


@pytest.mark.parametrize(
    "body, shown",
    [
        ('{"detail": "no such order"}', '{"detail": "no such order"}'),
        ("x" * 100_000, "x" * 2_000 + "…"),
        ("", None),
    ],
)
async def test_an_error_of_http_has_the_beginning_of_the_body(tmp_path, web, body, shown):
    given = {"method": "POST", "url": f"{web.url}/said/422", "body": body}
    tool = msgspec.json.encode({"kind": "http", "input": given}).decode()
    error = await failing(tmp_path, tool)
    assert error["kind"] == "http"
    assert error["details"].get("body") == shown
    assert error["details"]["input"] == given if len(body) < 2_000 else "…" in error["details"]["input"]


async def test_a_body_that_is_no_text_is_said_to_be_none(tmp_path, web):
    error = await failing(tmp_path, f'{{kind: http, input: {{url: "{web.url}/said/500/bytes"}}}}')
    assert error["details"]["body"] == "(2048 bytes, image/png, not text)"


async def test_the_body_of_an_answer_that_is_stored_is_told_too(tmp_path, web):
    given = f'{{method: POST, url: "{web.url}/said/500", body: "out of order", response: ref}}'
    assert (await failing(tmp_path, f"{{kind: http, input: {given}}}"))["details"]["body"] == "out of order"


async def test_an_error_of_shell_has_the_end_of_stderr(tmp_path):
    error = await failing(
        tmp_path, "{kind: shell, input: {command: 'seq 9000 >&2; echo last words >&2; exit 3'}}"
    )
    stderr = error["details"]["stderr"]
    assert stderr.startswith("…")
    assert stderr.endswith("9000\nlast words\n")
    assert len(stderr) <= 2_001


async def test_a_policy_that_fails_a_task_keeps_what_its_tool_said(tmp_path):
    rules = "{policy: {rules: [{else: {then: {do: fail, message: it did not work}}}]}}"
    error = await failing(tmp_path, f"{{kind: python, input: {{code: '1/0'}}, spec: {rules}}}")
    assert error["message"] == "it did not work"
    assert "ZeroDivisionError" in error["details"]["traceback"]


async def test_a_task_inside_a_block_says_what_it_was_given_itself(tmp_path):
    block = (
        'workbook: [{name: b, tool: {kind: python, input: {inner: "{{ input.outer + 1 }}", code: "1/0"}}}]'
    )
    error = await failing(tmp_path, "{kind: workbook, block: b, input: {outer: 1}}", workbook=block)
    assert error["details"]["input"] == {"inner": 2}


async def test_the_cause_stands_first_however_deep_the_child(tmp_path):
    child_project(
        tmp_path, "- {step: start, tool: {kind: python, input: {n: 1, code: \"raise KeyError('a')\"}}}"
    )
    middle = playbook("- {step: start, tool: {kind: playbook, path: tests/child}}").replace(
        "tests/case", "tests/middle"
    )
    (tmp_path / "middle.yaml").write_text(middle)
    text = playbook("- {step: start, tool: {kind: playbook, path: tests/middle}}")
    async with engine(tmp_path) as made:
        await made.catalog.register(middle)
        error = (await finish(made, await begin(made, text))).error
    assert error["message"].startswith("KeyError: 'a' (child execution ")
    assert error["message"].endswith(" failed, 2 calls down)")
    cause = error["details"]["error"]
    assert (cause["kind"], cause["details"]["input"]) == ("python", {"n": 1})
    assert 'File "start", line 1' in cause["details"]["traceback"]


async def test_a_long_message_of_a_policy_stays_error_kind_failed(tmp_path):
    rules = "{policy: {rules: [{else: {then: {do: fail, message: \"{{ 'x' * 200000 }}\"}}}]}}"
    error = await failing(tmp_path, f"{{kind: noop, spec: {rules}}}")
    assert error["kind"] == "failed"
    assert 3_000 < len(error["message"]) < 4_100


async def test_no_event_is_large_because_many_errors_say_much(tmp_path):
    """A hundred tracebacks, bodies and inputs: each is in the log once or twice, none of them in a heap."""
    workflow = """
        - step: start
          loop: {in: "{{ range(120) }}", iterator: i, spec: {mode: parallel, max_in_flight: 8}}
          tool: {kind: python, input: {i: "{{ 'i' * 1500 }}", code: "print('p' * 300); raise ValueError('e' * 30)"}}
          spec: {policy: {failure: {mode: best_effort}}}
        """
    ran = await run(tmp_path, playbook(workflow))
    assert ran.named("loop.iteration.failed")
    sizes = {event["name"]: len(msgspec.json.encode(event["data"])) for event in ran.events}
    assert max(sizes.values()) < 64 * 1024, sizes
    first, *others = (item["error"] for item in ran.named("loop.done")[0]["data"]["output"]["loop"]["errors"])
    assert {"traceback", "input"} <= first["details"].keys()
    assert not any(error.get("details") for error in others)


LEAKS = {
    "a literal in the author's line": "{kind: python, auth: tok, input: {code: \"x = 'SECRET'; 1/0\"}}",
    "a repr in the author's message": '{kind: python, input: {k: "{{ keychain.key.value }}", code: "raise ValueError([k])"}}',
    "a key printed line by line": '{kind: python, input: {k: "{{ keychain.key.value }}", code: "print(k); 1/0"}}',
    "an answer that repeats its headers": '{kind: http, auth: tok, input: {url: "WEB/refused"}}',
    "an address that carries it": '{kind: http, input: {url: "WEB/refused", params: {k: "{{ keychain.tok.password }}"}}}',
    "the end of stderr": '{kind: shell, input: {command: "echo $K >&2; exit 3", env: {K: "{{ keychain.tok.password }}"}}}',
    "a message of our own": '{kind: python, input: {k: "{{ keychain.key.value }}", code: "result = {k: float(\'nan\')}"}}',
}


@pytest.mark.parametrize("leak", LEAKS)
async def test_no_detail_of_an_error_has_a_secret_in_it(tmp_path, web, leak):
    chain = [
        {"name": "tok", "kind": "basic", "user": "me", "password": CANARY},
        {"name": "key", "kind": "static", "value": KEY},
    ]
    tool = LEAKS[leak].replace("WEB", web.url).replace("SECRET", CANARY)
    text = playbook(
        f"- {{step: start, tool: {tool}}}", keychain=f"keychain: {msgspec.json.encode(chain).decode()}"
    )
    ran = await run(tmp_path, text)
    kept = repr(ran.events) + repr(ran.result)
    assert ran.status == "failed"
    encoded = ("s3cr3t%2Fcanary", "s3cr3t/canary%20", "canary+918273", BASIC.rstrip("="))
    for secret in (CANARY, *encoded, *KEY.splitlines()[1:3]):
        assert secret not in kept
    assert "***" in kept

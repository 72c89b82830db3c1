"""Keychain kinds, `auth`, and that a secret's value is left nowhere."""

import base64
import json

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.acceptance.conftest import Noetl
from tests.acceptance.playbooks import Run, document
from tests.engine.web import Web

SECRET = "s3cr3t-canary-918273"
BASIC = "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()


@pytest.fixture(scope="module")
def web():
    service = Web()
    yield service
    service.close()


SENT = {
    "{name: tok, kind: env, env: BAR}": ("authorization", f"Bearer {SECRET}"),
    "{name: tok, kind: file, path: secret.yaml}": ("authorization", f"Bearer {SECRET}"),
    "{name: tok, kind: bearer, env: BAR}": ("authorization", f"Bearer {SECRET}"),
    "{name: tok, kind: bearer, token: {env: BAR}}": ("authorization", f"Bearer {SECRET}"),
    "{name: tok, kind: basic, user: me, password: {env: BAR}}": ("authorization", BASIC),
    "{name: tok, kind: api_key, key: {env: BAR}}": ("x-api-key", SECRET),
    "{name: tok, kind: api_key, header: X-Key, env: BAR}": ("x-key", SECRET),
    "{name: tok, kind: secret_manager, provider: env, env: BAR}": ("authorization", f"Bearer {SECRET}"),
    "{name: tok, kind: secret_manager, provider: env, key: BAR}": ("authorization", f"Bearer {SECRET}"),
    "{name: tok, kind: secret_manager, provider: file, path: secret.yaml}": (
        "authorization",
        f"Bearer {SECRET}",
    ),
}


def test_auth_uses_keychain_entries_of_every_kind_and_leaves_no_trace_of_them(noetl: Noetl, web: Web):
    (noetl.folder / "secret.yaml").write_text(f"{SECRET}\n")
    entries = [entry.replace("tok,", f"tok{number},") for number, entry in enumerate(SENT)]
    tasks = [
        f'{{kind: http, input: {{url: "{web.url}/status/200", params: {{n: {number}}}}}, auth: tok{number}}}'
        for number in range(len(entries))
    ]
    text = document(
        f"- {{step: start, tool: [{', '.join(tasks)}]}}", keychain=f"keychain: [{', '.join(entries)}]"
    )
    run = Run(noetl, text, BAR=SECRET)
    assert run.json["status"] == "completed", run.json
    seen = {request["query"]["n"]: request["headers"] for request in web.seen if "n" in request["query"]}
    sent = {entry: (header, seen[str(n)].get(header)) for n, (entry, (header, _)) in enumerate(SENT.items())}
    assert sent == SENT
    assert run.left_behind(SECRET) == []


TASKS = {
    "what python returns and prints": "{kind: python, input: {t: TOK, code: \"print(t); result = {'a': [t + 'x']}\"}}",
    "a python traceback": '{kind: python, input: {t: TOK, code: "raise ValueError(t)"}}',
    "what a shell prints": '{kind: shell, input: {command: "echo $T; echo $T >&2; exit 3", env: {T: TOK}}}',
    "a task's set and its rules": '{kind: python, input: {t: TOK, code: \'result = 1\'}, set: {ctx.t: "{{ input.t }}"}, spec: {policy: {rules: [{when: "{{ input.t == \'x\' }}", then: {do: fail}}, {else: {then: {do: continue, set: {ctx.u: "{{ input.t }}"}}}}]}}}',
    "a failure's message": "{kind: python, input: {t: TOK, code: 'result = 1'}, spec: {policy: {rules: [{else: {then: {do: fail, message: \"no {{ input.t }}\"}}}]}}}",
    "an error of a template": '{kind: python, input: {t: "{{ keychain.tok.value | int + keychain.tok.value }}", code: "result = 1"}}',
    "an input that does not fit": "{kind: python, input: {t: TOK, code: 'result = 1'}, spec: {validate: {input: {properties: {t: {type: integer}}}}}}",
    "an address that cannot be reached": '{kind: http, input: {url: "http://127.0.0.1:9/{{ keychain.tok.value }}"}}',
    "a large result": "{kind: python, input: {t: TOK, code: 'result = [t] * 20000'}}",
    "another task of the execution": '[{kind: shell, input: {command: "printf %s $T > s.yaml", env: {T: TOK}}}, {kind: file, input: {action: read, path: s.yaml, format: text}}]',
}


def test_a_secret_is_kept_in_none_of_the_places_where_it_could_turn_up(noetl: Noetl):
    """Each task in a step of its own; the last step comes upon a file that an earlier one wrote."""
    steps = [
        f'- {{step: s{n}, tool: {task}, next: {{arcs: [{{step: s{n + 1}, when: "{{{{ event.ok or event.failed }}}}"}}]}}}}'
        for n, task in enumerate(TASKS.values())
    ]
    steps.append(
        f"- {{step: s{len(TASKS)}, tool: {{kind: file, input: {{action: read, path: s.yaml, format: text}}}}}}"
    )
    workflow = "\n".join(steps).replace("TOK", '"{{ keychain.tok.value }}"')
    run = Run(noetl, document(workflow, keychain="keychain: [{name: tok, kind: env, env: BAR}]"), BAR=SECRET)
    assert (run.json["status"], run.json["output"]) == ("completed", "***")
    assert {step["runs"] for step in run.json["steps"].values()} == {1}
    assert len(run.json["failures"]) == 6
    assert run.left_behind(SECRET) == []


def test_the_handle_of_kind_secrets_is_usable_as_auth(noetl: Noetl, web: Web):
    workflow = f'- {{step: start, tool: [{{name: s, kind: secrets, input: {{name: tok}}}}, {{kind: http, input: {{url: "{web.url}/status/200"}}, auth: "{{{{ s.data }}}}"}}]}}'
    run = Run(noetl, document(workflow, keychain="keychain: [{name: tok, kind: env, env: BAR}]"), BAR=SECRET)
    assert run.json["status"] == "completed"
    assert web.seen[-1]["headers"]["authorization"] == f"Bearer {SECRET}"
    assert run.left_behind(SECRET) == []


def test_a_missing_entry_refuses_the_execution_by_name_before_anything_runs(noetl: Noetl):
    text = document(
        "- {step: start, tool: {kind: noop}}", keychain="keychain: [{name: tok, kind: env, env: NOT_SET}]"
    )
    run = Run(noetl, text)
    assert run.code == 1
    assert run.json["status"] == "failed"
    assert "tok" in run.error["message"]
    names = [event["name"] for event in run.events()]
    assert names == ["playbook.execution.requested", "playbook.request.evaluated", "playbook.processed"]


def test_structured_entries_are_read_by_field(noetl: Noetl):
    task = '{kind: python, input: {u: "{{ keychain.pg.user }}", h: "{{ keychain.pg.host }}", p: "{{ keychain.pg.password }}", code: "result = [u, h, len(p)]"}}'
    entry = (
        "keychain: [{name: pg, kind: postgres_credential, host: db.local, user: joe, password: {env: BAR}}]"
    )
    run = Run(noetl, document(f"- {{step: start, tool: {task}}}", keychain=entry), BAR=SECRET)
    assert run.json["output"] == ["joe", "db.local", len(SECRET)]
    assert run.left_behind(SECRET) == []


@pytest.mark.parametrize("entry", ["kind: env, env: BAR", "kind: secret_manager, provider: env, secret: BAR"])
def test_a_secret_whose_text_is_a_json_mapping_is_read_by_field_too(noetl: Noetl, entry: str):
    task = '{kind: python, input: {u: "{{ keychain.pg.user }}", p: "{{ keychain.pg.password }}", v: "{{ keychain.pg.value }}", code: "result = [u, len(p), v[0]]"}}'
    text = document(f"- {{step: start, tool: {task}}}", keychain=f"keychain: [{{name: pg, {entry}}}]")
    run = Run(noetl, text, BAR=json.dumps({"user": "joe", "password": SECRET}))
    assert run.json["output"] == ["joe", len(SECRET), "{"]
    assert run.left_behind(SECRET) == []


FETCHED = {
    "oauth2": ("{name: tok, kind: oauth2, token_url: 'URL/token', client_id: me, client_secret: {env: BAR}}", "Bearer t0ken-canary-1"),
    "vault": ("{name: tok, kind: vault, address: 'URL', path: app, token: {env: BAR}, key: pass}", "Bearer t0ken-canary-2"),
    "secret_manager": ("{name: tok, kind: secret_manager, provider: vault, address: 'URL', path: app, token: {env: BAR}}", "Basic YXBwOnQwa2VuLWNhbmFyeS0y"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FETCHED)
def test_a_secret_that_is_fetched_from_elsewhere_is_used_and_left_nowhere(
    noetl: Noetl, web: Web, httpserver: HTTPServer, kind: str
):
    entry, sent = FETCHED[kind]
    token = {"access_token": "t0ken-canary-1", "expires_in": 3600}
    httpserver.expect_request("/token", method="POST").respond_with_json(token)
    kept = {"user": "app", "password": "t0ken-canary-2", "pass": "t0ken-canary-2"}
    httpserver.expect_request("/v1/secret/data/app").respond_with_json({"data": {"data": kept}})
    entry = entry.replace("URL", httpserver.url_for("").rstrip("/"))
    shown = '{kind: python, input: {t: "{{ keychain.tok }}", code: "print(t); result = t"}}'
    tasks = f'[{{kind: http, input: {{url: "{web.url}/status/200"}}, auth: tok}}, {shown}]'
    run = Run(
        noetl, document(f"- {{step: start, tool: {tasks}}}", keychain=f"keychain: [{entry}]"), BAR=SECRET
    )
    assert run.json["status"] == "completed", run.json
    assert web.seen[-1]["headers"]["authorization"] == sent
    for secret in (SECRET, "t0ken-canary-1", "t0ken-canary-2"):
        assert run.left_behind(secret) == []


def test_a_token_that_was_revoked_is_renewed_within_the_attempt(noetl: Noetl, httpserver: HTTPServer):
    """A first step that uses the token, then its revocation, then a step that still ends well."""
    tokens, refused = [f"t0ken-canary-{n}" for n in range(1, 9)], set[str]()

    def token(request: Request) -> Response:
        return Response(json.dumps({"access_token": tokens.pop(0), "expires_in": 3600}))

    def api(request: Request) -> Response:
        shown = request.headers["Authorization"].removeprefix("Bearer ")
        if request.path == "/revoke":
            refused.add(shown)
        return Response(f'"{shown[-1]}"', 401 if shown in refused else 200, content_type="application/json")

    httpserver.expect_request("/token", method="POST").respond_with_handler(token)
    for path in ("/use", "/revoke"):
        httpserver.expect_request(path).respond_with_handler(api)
    base = httpserver.url_for("").rstrip("/")
    entry = (
        f"{{name: tok, kind: oauth2, token_url: '{base}/token', client_id: me, client_secret: {{env: BAR}}}}"
    )
    tasks = [
        f"{{name: {name}, kind: http, auth: tok, input: {{url: '{base}/{path}'}}}}"
        for name, path in (("a", "use"), ("b", "revoke"), ("c", "use"))
    ]
    text = document(
        f'- {{step: start, tool: [{", ".join(tasks)}], set: {{ctx.used: "{{{{ output.data }}}}"}}}}',
        keychain=f"keychain: [{entry}]",
    )
    run = Run(noetl, text, BAR=SECRET)
    assert (run.json["status"], run.json["error"]["task"]) == ("failed", "b")  # refused again: told as it is
    text = text.replace("/revoke", "/use")
    refused.add("t0ken-canary-3")
    run = Run(noetl, text, BAR=SECRET)
    assert run.json["status"] == "completed", run.json
    assert run.json["ctx"] == {"used": "4"}
    assert run.json["counts"]["tasks"] == 3
    assert run.left_behind("t0ken-canary-4") == []

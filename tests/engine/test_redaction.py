"""A secret that comes back to the playbook is in nothing that is kept, also where it never was a value."""

import pytest

from tests.engine.harness import begin, engine, finish, playbook

CANARY = "canary-5f2d"


@pytest.mark.parametrize("response, held", [("ref", 1_000_000), ("json", 100)])
async def test_a_large_answer_that_repeats_a_secret_is_stored_without_it(tmp_path, web, response, held):
    text = playbook(
        f"""
        - step: ask
          tool:
            - {{name: ask, kind: http, auth: tok, spec: {{limits: {{max_hydrate_bytes: {held}}}}},
               input: {{method: POST, url: "{web.url}/echo", body: "{{{{ 'x' * 400000 }}}}", response: {response}}}}}
            - {{name: read, kind: resolve, input: {{ref: "{{{{ ask.ref }}}}"}}}}
            - {{name: tell, kind: noop, output: "{{{{ read.data.headers.authorization }}}}"}}
        """,
        keychain=f"keychain: [{{name: tok, kind: bearer, token: {CANARY}}}]",
    )
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, text))
        payloads = list(made.results._payloads.values())
    assert (ran.status, ran.output) == ("completed", "Bearer ***"), ran.error
    assert web.seen[-1]["headers"]["authorization"] == f"Bearer {CANARY}"
    assert payloads
    assert CANARY not in repr((payloads, ran.events))


async def test_a_large_result_that_a_later_step_reads_has_no_secret_in_it(tmp_path, web):
    text = playbook(
        f"""
        - step: ask
          tool: {{name: ask, kind: http, auth: tok, input: {{method: POST, url: "{web.url}/echo", body: "{{{{ 'x' * 400000 }}}}"}}}}
          next: {{arcs: [{{step: tell, when: "{{{{ ask.data.headers.authorization != '' }}}}"}}]}}
        - step: tell
          input: {{seen: "{{{{ ask.data.headers.authorization }}}}"}}
          tool: {{kind: noop, output: "{{{{ [input.seen, ask.data.headers.authorization, ask.data.body | length] }}}}"}}
        """,
        keychain=f"keychain: [{{name: tok, kind: bearer, token: {CANARY}}}]",
    )
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, text))
        payloads = list(made.results._payloads.values())
    assert ran.output == ["Bearer ***", "Bearer ***", 400_000], ran.error
    assert CANARY not in repr((payloads, ran.events))

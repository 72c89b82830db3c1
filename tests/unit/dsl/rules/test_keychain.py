"""Secrets are read where tasks run, and nowhere else."""

import pytest

from tests.playbook_text import messages

SECRET = '"{{ keychain.tok.value }}"'
HEAD = "keychain: [{name: tok, kind: env, env: TOKEN}]\nworkflow:\n"
PLACES = {
    "a step's input": f"  - {{step: start, input: {{a: {SECRET}}}, tool: {{kind: noop}}}}",
    "loop.in": f"  - {{step: start, loop: {{in: {SECRET}, iterator: x}}, tool: {{kind: noop}}}}",
    "an admission rule": f"  - {{step: start, spec: {{policy: {{admit: {{rules: [{{when: {SECRET}, then: {{allow: true}}}}, {{else: {{then: {{allow: false}}}}}}]}}}}}}, tool: {{kind: noop}}}}",
    "a before rule": f"  - {{step: start, tool: {{kind: noop, spec: {{policy: {{before: [{{when: {SECRET}, then: {{do: skip}}}}]}}}}}}}}",
    "a rule": f"  - {{step: start, tool: {{kind: noop, spec: {{policy: {{rules: [{{when: {SECRET}, then: {{do: fail}}}}, {{else: {{then: {{do: continue}}}}}}]}}}}}}}}",
    "a task's set": f"  - {{step: start, tool: {{kind: noop, set: {{ctx.a: {SECRET}}}}}}}",
    "a task's output": f"  - {{step: start, tool: {{kind: noop, output: {SECRET}}}}}",
    "a task's spec": f"  - {{step: start, tool: {{kind: noop, spec: {{timeout: {SECRET}}}}}}}",
    "a step's set": f"  - {{step: start, tool: {{kind: noop}}, set: {{ctx.a: {SECRET}}}}}",
    "a step's output": f"  - {{step: start, tool: {{kind: noop}}, output: {SECRET}}}",
    "an arc": f"  - {{step: start, tool: {{kind: noop}}, next: {{arcs: [{{step: start, when: {SECRET}}}]}}}}",
    "the input of a call": f"  - {{step: start, tool: {{kind: playbook, path: a/b, input: {{a: {SECRET}}}}}}}",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_refused_wherever_it_would_be_recorded(place):
    assert messages(f"{HEAD}{PLACES[place]}\n", "keychain-not-here") == [
        f"'keychain.tok.value' cannot be read in {place}: the value would be recorded"
    ]


@pytest.mark.parametrize(
    "task",
    [
        f'{{kind: http, input: {{url: "https://example.com", headers: {{a: {SECRET}}}}}}}',
        '{kind: http, auth: tok, input: {url: "https://example.com"}}',
        '{kind: http, auth: "{{ workload.which }}", input: {url: "https://example.com"}}',
        f'{{kind: python, input: {{code: "result = len(s)", s: {SECRET}}}}}',
        '{kind: python, input: {code: "result = 1", s: "{{ keychain[workload.which].value }}"}}',
    ],
)
def test_a_task_reads_declared_secrets(task):
    assert messages(f"{HEAD}  - {{step: start, tool: {task}}}\n") == []

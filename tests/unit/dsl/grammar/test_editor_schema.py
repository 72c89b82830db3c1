"""The JSON Schema: canonical playbooks pass, wrong ones do not, and an editor finds a sentence at every key."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
import yaml
import yamlcore

from noetl import tools
from noetl.dsl.grammar.editor_schema import kind_schema, playbook_schema

KINDS = tools.kinds()
SCHEMA = playbook_schema(KINDS)
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: case, path: cases/case}\n"


def accepts(text: str) -> bool:
    return bool(VALIDATOR.is_valid(yaml.load(text, Loader=yamlcore.CoreLoader)))


def workflow(text: str) -> str:
    return HEAD + "workflow:\n" + "\n".join("  " + line for line in text.strip().splitlines())


def task(text: str) -> str:
    return workflow(f"- step: start\n  tool: {text}")


@pytest.mark.parametrize("name", KINDS)
def test_the_example_of_every_kind_passes(name):
    errors = [
        e.message for e in VALIDATOR.iter_errors(yaml.load(KINDS[name].example, Loader=yamlcore.CoreLoader))
    ]
    assert errors == []


@pytest.mark.parametrize(
    "text",
    [
        task("{kind: http, input: {url: 'http://x', params: '{{ ctx.params }}', follow_redirects: '{{ ctx.f }}'}}"),
        task("{kind: http, input: {url: 'http://x', params: {a: null, b: [1, 2]}}}"),
        task("{kind: http, input: {url: 'http://x'}, spec: {timeout: {connect: 5, read: '{{ ctx.t }}'}}}"),
        task("{kind: python, input: {code: 'result = x', x: [1]}}"),
        task("{kind: playbook, path: a/b, version: 3, wait: false, input: {any: thing}}"),
        task("[{name: w, while: {when: '{{ step.i < 5 }}', do: [{kind: noop}], max: 3}}]"),
        task("[{choose: [{when: '{{ true }}', then: [{kind: noop}]}, {else: [{kind: noop}]}]}]"),
        task("[{name: p, paginate: {by: page, request: {kind: http, input: {url: 'http://x'}}, collect: true}}]"),
        task("{kind: noop, spec: {policy: {rules: [{when: '{{ true }}', then: {do: retry, attempts: 3}}, {else: {then: {do: continue}}}]}}}"),
        task("{kind: noop, spec: {policy: {rules: [{else: {do: continue}}]}}}"),
        task("{kind: noop, set: {ctx.a: 1, step: {b: 2}}}"),
        workflow("- step: a\n  loop: {in: '{{ x }}', iterator: i, loop: {in: [1], iterator: j}}\n  tool: {kind: noop}\n  next: {arcs: [{step: a, when: true}]}"),
        HEAD + "keychain: [{name: t, kind: env, env: T}]\nexecutor: {spec: {http: {timeout: 5}, timeout: 9}}\nworkflow: [{step: a}]",
        workflow("- step: a\n  spec:\n  input:\n  set:\n  tool: {kind: noop, spec: null, input: null}"),
        task("{kind: noop, spec: {policy: {rules: [{else: null, then: {do: continue}}]}}}"),
        task("{kind: http, input: {url: 'http://x', params: null}}"),
        workflow("- step: a\n  tool: {kind: noop}\n  next: {arcs: null}"),
        task("{kind: sqlite, input: {query: 'select 1', command: null}}"),
    ],
)  # fmt: skip
def test_canonical_playbooks_pass(text):
    assert accepts(text)


@pytest.mark.parametrize(
    "text",
    [
        task("{kind: htpp, input: {url: 'http://x'}}"),
        task("{kind: http, input: {}}"),
        task("{kind: http, input: {url: 'http://x', parms: {}}}"),
        task("{kind: http, input: {url: 'http://x', follow_redirects: 'yes please'}}"),
        task("{kind: http, input: {url: 'http://x'}, spec: {busy_timeout: 1}}"),
        task("{kind: http, path: a/b, input: {url: 'http://x'}}"),
        task("{kind: sqlite, input: {query: 'select 1', command: 'select 1'}}"),
        task("{kind: sqlite, input: {}}"),
        task("{kind: file, input: {action: raed, path: a}}"),
        task("{kind: noop, spec: {policy: [{else: {then: {do: continue}}}]}}"),
        task("{kind: noop, spec: {policy: {rules: [{when: '{{ true }}', then: {attempts: 3}}]}}}"),
        task("{kind: noop, spec: {policy: {rules: [{else: {then: {do: jump}}}]}}}"),
        task("{kind: noop, spec: {policy: {before: [{else: {then: {do: retry}}}]}}}"),
        task("{kind: noop, set: {workload.a: 1}}"),
        task("[{name: x}]"),
        workflow("- step: a\n  when: '{{ true }}'\n  tool: {kind: noop}"),
        workflow("- step: a\n  next: [{step: a}]"),
        workflow("- step: a\n  next: {arcs: [{step: a, when: 'ctx.x > 1'}]}"),
        workflow("- step: a\n  loop: {in: [1]}\n  tool: {kind: noop}"),
        HEAD + "vars: {a: 1}\nworkflow: [{step: a}]",
        HEAD + "keychain: [{name: t, kind: env}]\nworkflow: [{step: a}]",
        HEAD.replace("v2", "v1") + "workflow: [{step: a}]",
        HEAD.replace("name: case", "name: ''") + "workflow: [{step: a}]",
        task("{kind: http}"),
        task("{kind: noop, input: 'a {{ ctx.b }}'}"),
        task("{kind: http, input: {url: null}}"),
        task("{kind: http, input: {url: 'http://x'}, spec: {idempotency: null}}"),
        task("{kind: python}"),
        task("{kind: noop, spec: {policy: {rules: [{else: {then: {do: break, message: a}}}]}}}"),
        task("{kind: noop, spec: {policy: {rules: [{when: true, else: {then: {do: break}}}]}}}"),
        task("{kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}, then: {do: fail}}]}}}"),
        task("{kind: noop, spec: {policy: {rules: [{else: null}]}}}"),
        task("{kind: noop, spec: {policy: {rules: [{else: {}}]}}}"),
        task("[{name: p, paginate: {by: page, request: {kind: http, input: '{{ ctx.a }}'}}}]"),
        HEAD + "workflow: [{step: a}]\nworkbook: {a.b: {tool: {kind: noop}}}",
    ],
)  # fmt: skip
def test_wrong_playbooks_do_not_pass(text):
    assert not accepts(text)


def test_the_schema_is_a_valid_2020_12_schema():
    jsonschema_rs.meta.validate(SCHEMA)
    assert SCHEMA["$schema"].endswith("2020-12/schema")


def test_every_reference_inside_leads_to_a_definition():
    used = {node["$ref"].removeprefix("#/$defs/") for node in _nodes(SCHEMA) if "$ref" in node}
    assert used <= set(SCHEMA["$defs"])
    assert all(SCHEMA["$defs"].values())


def test_every_key_has_a_sentence_for_the_editor():
    silent = [
        name
        for node in _nodes(SCHEMA)
        if "additionalProperties" in node or "allOf" in node
        for name, value in node.get("properties", {}).items()
        if not value.get("description")
    ]
    assert silent == []


def test_kinds_are_offered_with_their_summaries():
    kind = SCHEMA["$defs"]["task"]["properties"]["kind"]
    assert kind["enum"] == list(KINDS)
    assert kind["enumDescriptions"] == [KINDS[name].summary for name in KINDS]


@pytest.mark.parametrize("name", KINDS)
def test_the_schema_of_one_kind_stands_alone(name):
    schema = kind_schema(KINDS[name])
    jsonschema_rs.meta.validate(schema)
    used = {node["$ref"].removeprefix("#/$defs/") for node in _nodes(schema) if "$ref" in node}
    assert used <= set(schema["$defs"])
    assert schema["properties"]["kind"] == {"const": name, "description": KINDS[name].summary}
    assert set(KINDS[name].inputs) == set(schema["$defs"][f"{name}_input"]["properties"])


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _nodes(item)

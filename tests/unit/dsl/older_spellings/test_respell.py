"""Older words inside a template become today's; everything else stays to the letter."""

import pytest

from noetl.dsl.older_spellings.respell import (
    compare_with_ok,
    rename_root,
    respell_event,
    respell_output,
)
from noetl.dsl.templates.syntax import template_problems

UNTOUCHED = [
    "outcome",
    "the outcome.result of it",
    "{{ x.outcome }}",
    "{{ x['outcome'] }}",
    "{{ 'outcome.result' }}",
    "{# outcome.result #}{{ 1 }}",
    "{% raw %}{{ outcome }}{% endraw %}",
    "{{ x | outcome }}",
    "{{ x is outcome }}",
    "{{ x is not outcome }}",
    "{{ dict(outcome=1) }}",
    "{% set outcome = 1 %}{{ outcome.result }}",
    "{% for outcome in x %}{{ outcome.result }}{% endfor %}",
    "{{ outcomes.result }}",
    "{{ output.data }}",
    "{{ outcome ] }}",
]


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_is_not_the_older_envelope_stays(text: str) -> None:
    assert respell_output(text) == text


@pytest.mark.parametrize(
    "old, new",
    [
        ("{{ outcome }}", "{{ output }}"),
        ("{{outcome.status}}", "{{output.status}}"),
        (
            "{{ outcome.status == 'error' and outcome.http.status in [429,500] }}",
            "{{ output.status == 'error' and output.http.status in [429,500] }}",
        ),
        ("{{ outcome.pg.code in ['40001','40P01'] }}", "{{ output.pg.code in ['40001','40P01'] }}"),
        (
            "{{ outcome.http.headers['retry-after'] | default(2) }}",
            "{{ output.http.headers['retry-after'] | default(2) }}",
        ),
        ("{{ outcome.result }}", "{{ output.data }}"),
        ("{{ outcome.result.data }}", "{{ output.data }}"),
        (
            "{{ outcome.result.data.paging.hasMore | default(false) }}",
            "{{ output.data.paging.hasMore | default(false) }}",
        ),
        ("{{ outcome.result.data.data | default([]) }}", "{{ output.data.data | default([]) }}"),
        ("{{ outcome.result.rows[0] }}", "{{ output.data.rows[0] }}"),
        ("{{ outcome.result[0] }}", "{{ output.data[0] }}"),
        ("{{ outcome.result.database }}", "{{ output.data.database }}"),
        ("{{ outcome['result']['data'] }}", "{{ output['data'] }}"),
        ("{{ outcome['result'].rows }}", "{{ output['data'].rows }}"),
        ('{{ outcome["result"]["rows"] }}', '{{ output["data"]["rows"] }}'),
        ("{{ outcome . result . data . x }}", "{{ output . data . x }}"),
        ("{{ outcome\n  .result }}", "{{ output\n  .data }}"),
        ("{{ outcome[ 'result' ] }}", "{{ output[ 'data' ] }}"),
        ("{{ outcome.result_ref }}", "{{ output.ref }}"),
        ("{{ outcome['result_ref'].meta }}", "{{ output['ref'].meta }}"),
        ("{{ outcome.result | length }}", "{{ output.data | length }}"),
        ("{{ (outcome).result }}", "{{ (output).result }}"),
        ("{{ dict(outcome=outcome.result) }}", "{{ dict(outcome=output.data) }}"),
        ("outcome: {{ outcome.result }} outcome", "outcome: {{ output.data }} outcome"),
        ("{%- if outcome.result.data -%} x {%- endif -%}", "{%- if output.data -%} x {%- endif -%}"),
        ("a\r\n{{ outcome.result }}\r\n", "a\r\n{{ output.data }}\r\n"),
        ("  {{-  outcome.result  -}}  \n", "  {{-  output.data  -}}  \n"),
        (
            "{{ outcome.result if outcome.status == 'ok' else x.outcome }}",
            "{{ output.data if output.status == 'ok' else x.outcome }}",
        ),
    ],
)
def test_the_older_envelope_becomes_todays(old: str, new: str) -> None:
    assert respell_output(old) == new
    assert respell_output(new) == new
    assert not template_problems(new)


@pytest.mark.parametrize(
    "old, new",
    [
        ("{{ event.name == 'call.done' }}", "{{ event.name in ['step.done', 'loop.done'] }}"),
        ('{{ event.name == "step.exit" }}', '{{ event.name in ["step.done", "loop.done"] }}'),
        ("{{ event.name=='call.done' }}", "{{ event.name in ['step.done', 'loop.done'] }}"),
        ("{{ event['name'] == 'call.done' }}", "{{ event['name'] in ['step.done', 'loop.done'] }}"),
        ("{{ event.name != 'call.done' }}", "{{ event.name not in ['step.done', 'loop.done'] }}"),
        ("{{ event.name == 'call.error' }}", "{{ event.name == 'step.failed' }}"),
        ("{{ event.name != 'call.error' }}", "{{ event.name != 'step.failed' }}"),
        ("{{ 'call.done' == event.name }}", "{{ event.name in ['step.done', 'loop.done'] }}"),
        ("{{ 'call.done' != event['name'] }}", "{{ event['name'] not in ['step.done', 'loop.done'] }}"),
        ("{{ 'call.error' == event.name }}", "{{ 'step.failed' == event.name }}"),
        (
            "{{ event.name in ['call.done', 'call.error'] }}",
            "{{ event.name in ['step.done', 'loop.done', 'step.failed'] }}",
        ),
        ("{{ event.name in ['call.done', 'step.exit'] }}", "{{ event.name in ['step.done', 'loop.done'] }}"),
        ("{{ event.name in ('call.error',) }}", "{{ event.name in ('step.failed',) }}"),
        ("{{ event.name not in ['call.done'] }}", "{{ event.name not in ['step.done', 'loop.done'] }}"),
        (
            "{{ event.name in ['call.done', ctx.other] }}",
            "{{ event.name in ['step.done', 'loop.done', ctx.other] }}",
        ),
        (
            "{{ event.name == 'call.done' and ctx.a == 'call.done' }}",
            "{{ event.name in ['step.done', 'loop.done'] and ctx.a == 'call.done' }}",
        ),
        ("{{ not event.name == 'call.done' }}", "{{ not event.name in ['step.done', 'loop.done'] }}"),
        ("{{ (event.name == 'call.done') or x }}", "{{ (event.name in ['step.done', 'loop.done']) or x }}"),
        (
            "{% if event.name == 'call.error' %}a{% endif %}",
            "{% if event.name == 'step.failed' %}a{% endif %}",
        ),
    ],
)
def test_older_event_names_become_todays(old: str, new: str) -> None:
    assert respell_event(old) == new
    assert respell_event(new) == new
    assert not template_problems(new)


@pytest.mark.parametrize(
    "text",
    [
        "{{ event.name == 'step.done' }}",
        "{{ ctx.name == 'call.done' }}",
        "{{ x.event.name == 'call.done' }}",
        "{{ event.data.name == 'call.done' }}",
        "{{ event.name ~ 'call.done' }}",
        "{{ ctx.a ~ 'call.done' == event.name }}",
        "{{ event.name == 'call.done' | upper }}",
        "{{ event.name == 'call.done' ~ x }}",
        "{{ event.name in [f('call.done')] }}",
        "{{ event.name in [['call.done']] }}",
        "{{ event.name in ctx.names }} call.done",
        "event.name == 'call.done'",
        "{{ event.name == 'call.done' ] }}",
        "{{ event.name in ['call.done' }}",
    ],
)
def test_other_uses_of_the_older_event_names_stay(text: str) -> None:
    assert respell_event(text) == text


@pytest.mark.parametrize(
    "text, old, new, expected",
    [
        ("{{ args.k }}", "args", "input", "{{ input.k }}"),
        ("{{ args }} {{ args['k'] }}", "args", "input", "{{ input }} {{ input['k'] }}"),
        ("{{ vars.x + step.y }}", "vars", "step", "{{ step.x + step.y }}"),
        ("{{ args.k }}", "args", "ctx.load", "{{ ctx.load.k }}"),
        (
            "{{ x.args }} args {{ 'args' }} {{ y | args }}",
            "args",
            "input",
            "{{ x.args }} args {{ 'args' }} {{ y | args }}",
        ),
        ("{{ kwargs }}", "args", "input", "{{ kwargs }}"),
        ("plain args", "args", "input", "plain args"),
        ("{{ args", "args", "input", "{{ args"),
    ],
)
def test_a_root_name_is_renamed_wherever_it_stands_for_a_value(
    text: str, old: str, new: str, expected: str
) -> None:
    assert rename_root(text, old, new) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("{{ output.status == 'success' }}", True),
        ("{{ outcome.status == 'success' }}", True),
        ("{{ outcome['status'] != 'success' }}", True),
        ("{{ 'success' == load.status }}", True),
        ("{{ output.status in ['ok', 'success'] }}", True),
        ("{{ output.status | lower == 'success' }}", True),
        ("{% if fetch.status == 'success' %}{% endif %}", True),
        ("{{ output.status == 'ok' }}", False),
        ("{{ output.data.status == 'success' }}", False),
        ("{{ ctx.status == 'success' }}", False),
        ("{{ workload.status == 'success' }}", False),
        ("{{ output.data == 'success' }}", False),
        ("{{ 'success' }} {{ output.status }}", False),
        ("output.status == 'success'", False),
        ("{{ output.status == 'success'", False),
    ],
)
def test_a_status_that_is_compared_with_success_is_compared_with_ok(text: str, expected: bool) -> None:
    assert (compare_with_ok(text) != text) is expected

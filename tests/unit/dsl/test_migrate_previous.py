"""Migration of set_prev: a noop after the task, which every other way out passes by."""

import pytest

from tests.unit.dsl.documents import doc
from tests.unit.dsl.migrating import looks, rewritten


def pipeline(*tasks: str) -> str:
    """A step with these tasks, one on each line."""
    return doc("- step: a\n  tool:\n" + "\n".join(f"    - {task}" for task in tasks))


@pytest.mark.parametrize("name", ['"{{ x }}"', "'a: b'", '"5"', '"true"'])
def test_the_task_of_a_step_whose_name_is_no_name_gets_one_that_is(name: str) -> None:
    text = rewritten(doc(f"- step: {name}\n  tool: {{kind: noop, set_prev: 5}}")).text
    assert "_task_prev, kind: noop, output: 5}" in text


PREVIOUS = {
    "of a task itself": (
        ['{name: t, kind: noop, set_prev: "{{ outcome.result.x }}"}', "{name: u, kind: noop}"],
        [
            "{name: t, kind: noop}",
            '{name: t_prev, kind: noop, output: "{{ t.data.x }}"}',
            "{name: u, kind: noop}",
        ],
    ),
    "of a task whose rules fail or go on": (
        [
            '{name: t, kind: noop, set_prev: 1, eval: [{expr: "{{ ctx.a }}", do: fail}, {else: {do: continue}}]}',
        ],
        [
            'name: t\n      kind: noop\n      spec: {policy: {rules: [{when: "{{ ctx.a }}", then: {do: fail}}, {else: {then: {do: continue}}}]}}',
            "{name: t_prev, kind: noop, output: 1}",
        ],
    ),
    "the value becomes the output of a task that follows": (
        [
            't: {kind: noop, eval: [{else: {do: continue, set_prev: "{{ outcome.result.x }}"}}]}',
            "{name: u, kind: noop}",
        ],
        [
            "{name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}",
            '{name: t_prev, kind: noop, output: "{{ t.data.x }}"}',
            "{name: u, kind: noop}",
        ],
    ),
    "other ways pass it by": (
        [
            't: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: continue}, {else: {do: continue, set_prev: 1}}]}',
            "{name: u, kind: noop}",
        ],
        [
            'name: t\n      kind: noop\n      spec:\n        policy: {rules: [{when: "{{ ctx.a }}", then: {do: jump, to: u}}, {else: {then: {do: continue}}}]}',
            "{name: t_prev, kind: noop, output: 1}",
            "{name: u, kind: noop}",
        ],
    ),
    "at the end of the pipeline other ways end it": (
        ['t: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: continue}, {else: {do: continue, set_prev: 1}}]}'],
        [
            'name: t\n      kind: noop\n      spec: {policy: {rules: [{when: "{{ ctx.a }}", then: {do: break}}, {else: {then: {do: continue}}}]}}',
            "{name: t_prev, kind: noop, output: 1}",
        ],
    ),
    "a jump goes by way of its own task": (
        [
            "t: {kind: noop, eval: [{else: {do: jump, to: u, set_prev: 1}}]}",
            "{name: s, kind: noop}",
            "{name: u, kind: noop}",
        ],
        [
            "{name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: t_prev}}}]}}}",
            "{name: t_prev, kind: noop, output: 1, spec: {policy: {rules: [{else: {then: {do: jump, to: u}}}]}}}",
            "{name: s, kind: noop}",
            "{name: u, kind: noop}",
        ],
    ),
    "a break ends with the value": (
        ["t: {kind: noop, eval: [{else: {do: break, set_prev: 1}}]}", "{name: u, kind: noop}"],
        [
            "{name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: t_prev}}}]}}}",
            "{name: t_prev, kind: noop, output: 1, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}",
            "{name: u, kind: noop}",
        ],
    ),
    "no else: success passes by, an error fails": (
        ['t: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: continue, set_prev: 1}]}', "{kind: noop}"],
        [
            "name: t\n      kind: noop\n      spec:\n        policy:\n          rules:\n"
            '            - {when: "{{ ctx.a }}", then: {do: continue}}\n'
            "            - {when: \"{{ output.status == 'error' }}\", then: {do: fail}}\n"
            "            - {else: {then: {do: jump, to: task_1}}}",
            "{name: t_prev, kind: noop, output: 1}",
            "{name: task_1, kind: noop}",
        ],
    ),
    "a retry that nothing reads": (
        ['t: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: retry, set_prev: 1}, {else: {do: continue}}]}'],
        [
            'name: t\n      kind: noop\n      spec: {policy: {rules: [{when: "{{ ctx.a }}", then: {do: retry}}, {else: {then: {do: continue}}}]}}',
        ],
    ),
}


@pytest.mark.parametrize("before, after", PREVIOUS.values(), ids=PREVIOUS.keys())
def test_set_prev_becomes_a_noop_that_other_ways_pass_by(before: list[str], after: list[str]) -> None:
    assert rewritten(pipeline(*before)).text == pipeline(*after)


@pytest.mark.parametrize(
    "tasks",
    [
        ["{name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: skip, set_prev: 1}}}]}}}"],
        [
            "{name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_prev: 1}}}]}}}",
            "just text",
        ],
        ["{name: t, kind: noop, set_prev: 1, eval: [{else: {do: jump, to: t}}]}"],
        ["{name: t, kind: noop, set_prev: 1, eval: [{else: {do: continue}}]}"],
    ],
)
def test_a_set_prev_that_no_way_leads_past_is_left_or_dropped_with_a_note(tasks: list[str]) -> None:
    assert any("set_prev" in message for message in looks(rewritten(pipeline(*tasks))))


def test_a_set_prev_that_read_prev_is_pointed_out() -> None:
    text = pipeline(
        't: {kind: noop, eval: [{else: {do: continue, set_prev: "{{ _prev + 1 }}"}}]}',
        "{name: t_prev, kind: noop}",
    )
    result = rewritten(text)
    assert '{name: t_prev_, kind: noop, output: "{{ _prev + 1 }}"}' in result.text
    assert any("read '_prev'" in message for message in looks(result))


def test_set_prev_of_a_single_task_makes_it_a_pipeline() -> None:
    text = doc("- step: a\n  tool: {kind: noop, eval: [{else: {do: continue, set_prev: 1}}]}")
    assert rewritten(text).text == doc(
        """\
        - step: a
          tool:
            - {name: a_task, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}
            - {name: a_task_prev, kind: noop, output: 1}
        """
    )


def test_set_prev_of_several_rules_gets_a_noop_each() -> None:
    text = pipeline(
        't: {kind: noop, eval: [{expr: "{{ ctx.a }}", do: continue, set_prev: 1}, {else: {do: continue, set_prev: 2}}]}',
        "{name: u, kind: noop}",
    )
    rules = '[{when: "{{ ctx.a }}", then: {do: continue}}, {else: {then: {do: jump, to: t_prev_2}}}]'
    assert rewritten(text).text == pipeline(
        f"name: t\n      kind: noop\n      spec:\n        policy: {{rules: {rules}}}",
        "{name: t_prev, kind: noop, output: 1, spec: {policy: {rules: [{else: {then: {do: jump, to: u}}}]}}}",
        "{name: t_prev_2, kind: noop, output: 2}",
        "{name: u, kind: noop}",
    )


def test_a_retry_that_reads_what_it_set_is_left_to_the_author() -> None:
    text = pipeline(
        't: {kind: python, args: {x: "{{ _prev }}"}, code: "", eval: [{else: {do: retry, set_prev: 1}}]}'
    )
    result = rewritten(text)
    assert "set_prev: 1" in result.text
    assert any("set_prev" in message for message in looks(result))

"""No event is larger than its bound, whatever it is made of; what was put aside is read as it was."""

import msgspec
import pytest

from noetl.core.values.event_size import ENVELOPE_BYTES
from tests.engine.cases import Case
from tests.engine.harness import begin, engine, finish, playbook

BOUND = 65_536 + ENVELOPE_BYTES
BIG = "\"{{ 'x' * 60000 }}\""
MANY = ", ".join(f"ctx.k{n}: {BIG}" for n in range(20))
SUM = "\"{{ ctx | items | map(attribute=1) | map('length') | sum }}\""


def sizes(ran):
    return max((len(msgspec.json.encode(event["data"])), event["name"]) for event in ran.events)


def fits(ran):
    assert sizes(ran)[0] <= BOUND, sizes(ran)
    return True


READ = (
    '- {step: e, tool: {kind: python, input: {v: "{{ ctx }}", code: "result = sum(map(len, v.values()))"}}}'
)
CASES = {
    "a step sets twenty large values": Case(
        f"- {{step: start, tool: {{kind: noop}}, set: {{{MANY}}}, next: {{arcs: [{{step: e}}]}}}}\n" + READ,
        output=1_200_000,
        events=fits,
    ),
    "a task sets twenty large values": Case(
        f"- {{step: start, tool: {{kind: noop, set: {{{MANY}}}}}, next: {{arcs: [{{step: e}}]}}}}\n" + READ,
        output=1_200_000,
        events=fits,
    ),
    "an arc sets twenty large values": Case(
        f"- {{step: start, tool: {{kind: noop}}, next: {{arcs: [{{step: e, set: {{{MANY}}}}}]}}}}\n" + READ,
        output=1_200_000,
        events=fits,
    ),
    "two arcs set and hand on large values": Case(
        "- {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: ["
        f"{{step: e, set: {{ctx.a: {BIG}}}, args: {{x: {BIG}}}}}, {{step: f, set: {{ctx.b: {BIG}}}, args: {{y: {BIG}}}}}]}}}}\n"
        '- {step: e, tool: {kind: python, input: {v: "{{ args.x }}", code: "result = len(v)"}}}\n'
        '- {step: f, tool: {kind: python, input: {v: "{{ args.y }}", code: "result = len(v)"}}}',
        output=60_000,
        events=fits,
    ),
    "a token hands on args and the output it came with": Case(
        f"- {{step: start, tool: {{kind: noop, output: {BIG}}}, next: {{arcs: [{{step: r, args: {{x: {BIG}}}}}]}}}}\n"
        '- {step: r, next: {arcs: [{step: e, set: {ctx.n: "{{ event.data.output.data | length }}"}}]}}\n'
        '- {step: e, tool: {kind: python, input: {v: "{{ [ctx.n, args.x | length] }}", code: "result = v"}}}',
        output=[60_000, 60_000],
        events=fits,
    ),
    "input, args and items of one run are large": Case(
        f"- {{step: start, tool: {{kind: noop}}, next: {{arcs: [{{step: e, args: {{x: {BIG}}}}}]}}}}\n"
        f"- {{step: e, input: {{y: {BIG}}}, loop: {{in: [{BIG}, 1], iterator: i}}, tool: {{kind: python, "
        'input: {v: "{{ [args.x | length, y | length, i | string | length] }}", code: "result = v"}}}',
        output=[[60_000, 60_000, 60_000], [60_000, 60_000, 1]],
        events=fits,
    ),
    "an iteration writes and answers much": Case(
        "- {step: start, loop: {in: [1, 2], iterator: i}, tool: {kind: noop, output: "
        + BIG
        + ", set: {"
        + f"ctx.a: {BIG}, ctx.b: {BIG}"
        + "}}, set: {ctx.n: \"{{ output.data | map('length') | sum }}\"}, next: {arcs: [{step: e}]}}\n"
        '- {step: e, tool: {kind: python, input: {v: "{{ [ctx.n, ctx.a | length] }}", code: "result = v"}}}',
        output=[120_000, 60_000],
        events=fits,
    ),
    "a loop merges many writes": Case(
        '- {step: start, loop: {in: "{{ range(90) }}", iterator: i, spec: {mode: parallel, policy: {reduce: {'
        + ", ".join(f"ctx.r{n}: last" for n in range(10))
        + "}}}}, tool: {kind: noop, set: {"
        + ", ".join(f"ctx.r{n}: \"{{{{ 'y' * 12000 }}}}\"" for n in range(10))
        + "}}, next: {arcs: [{step: e}]}}\n"
        + READ,
        output=120_000,
        events=fits,
    ),
    "eighty iterations fail with long messages": Case(
        '- {step: start, loop: {in: "{{ range(80) }}", iterator: i}, spec: {policy: {failure: {mode: best_effort}}}, '
        "tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: fail, message: \"{{ 'e' * 2000 }}\"}}}]}}}, "
        'set: {ctx.n: "{{ output.loop.errors | length }}"}, next: {arcs: [{step: r}]}}\n'
        "- {step: r, next: {arcs: [{step: e}]}}\n"
        '- {step: e, tool: {kind: python, input: {v: "{{ ctx.n }}", code: "result = v"}}}',
        output=80,
        events=fits,
    ),
    "a pipeline that waits carries much": Case(
        "- step: start\n  tool:\n"
        + "".join(
            f"    - {{name: t{n}, kind: noop, output: {BIG}, set: {{iter.v{n}: {BIG}}}}}\n" for n in range(6)
        )
        + "    - {name: w, kind: wait, input: {seconds: 5.2}}\n"
        + '    - {name: z, kind: python, input: {v: "{{ [t0.data | length, t5.data | length, iter.v3 | length] }}", code: "result = v"}}',
        output=[60_000] * 3,
        events=fits,
    ),
    "too many small values for one event are an error": Case(
        "- {step: start, tool: {kind: noop}, set: {"
        + ", ".join(f"ctx.k{n}: \"{{{{ 'x' * 900 }}}}\"" for n in range(120))
        + "}}",
        error={"kind": "limit"},
        says="write fewer of them, or one mapping",
        events=fits,
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_no_event_is_larger_than_its_bound(name, tmp_path):
    await CASES[name].check(tmp_path)


async def test_the_results_of_many_tasks_fit_one_event(tmp_path):
    tasks = "".join(f"    - {{name: t{n}, kind: noop, output: {BIG}}}\n" for n in range(10))
    told = ", ".join(f"start.results.t{n}.data | length" for n in range(10))
    text = playbook(
        f"- step: start\n  tool:\n{tasks}  next: {{arcs: [{{step: e}}]}}\n"
        f'- {{step: e, tool: {{kind: python, input: {{v: "{{{{ [{told}] }}}}", code: "result = v"}}}}}}'
    )
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, text))
    assert (ran.output, fits(ran)) == ([60_000] * 10, True)
    results = ran.named("step.done")[0]["data"]["output"]["results"]
    assert [one["status"] for one in results.values()] == ["ok"] * 10
    assert any("ref" in one for one in results.values())


async def test_what_a_retry_keeps_comes_in_events_that_fit(tmp_path):
    text = playbook(
        f"- {{step: start, tool: {{kind: noop, output: {BIG}}}, set: {{ctx.deep.a: {BIG}, ctx.deep.b: {BIG}, ctx.c: {BIG}}}, next: {{arcs: [{{step: m}}]}}}}\n"
        f"- {{step: m, tool: {{kind: noop, output: {BIG}}}, set: {{ctx.deep.d: {BIG}}}, next: {{arcs: [{{step: e}}]}}}}\n"
        '- {step: e, tool: {kind: python, input: {v: "{{ [start.data | length, m.data | length, ctx.deep.a | length, ctx.deep.d | length] }}", code: "result = v if False else 1/0"}}}'
    )
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text))
        assert (failed.status, fits(failed)) == ("failed", True)
        started = await made.front.retry(failed.execution_id)
        again = await finish(made, started.execution_id)
    assert len(again.named("execution.restored")) > 1
    assert (again.status, fits(again)) == ("failed", True)
    assert again.error["message"] == failed.error["message"]
    assert again.ctx == failed.ctx


@pytest.mark.parametrize("case", ["a step sets twenty large values", "an arc sets twenty large values"])
async def test_an_event_that_is_let_through_is_found(case, tmp_path, monkeypatch):
    monkeypatch.setattr("noetl.core.deciding.draft.largest", lambda sizes, room: [])
    monkeypatch.setattr("noetl.core.deciding.draft.ENVELOPE_BYTES", 10**9)
    async with engine(tmp_path) as made:
        with pytest.raises(AssertionError, match="more than the 131072 of an event"):
            await finish(made, await begin(made, playbook(CASES[case].workflow)))

"""Results over the inline limit read as they are wherever the playbook mentions them, up to a limit of size."""

import msgspec
import pytest

from noetl.core.message import Control
from tests.engine.harness import begin, engine, finish, playbook, run, until

EVENT_BYTES = (
    140_000  # of an event as JSON: one payload of 64 KiB and its envelope, with room for a second one
)
INLINE = 64 * 1024
MAKE = """
- step: load
  tool:
    - {name: a, kind: python, input: {n: "{{ workload.n }}", code: "result = {'rows': ['x' * (n // 10 - 3)] * 10, 'count': 10}"}}
    - {name: b, kind: noop}
  next: {arcs: [{step: then}]}
"""
END = "- {step: end, tool: {kind: noop, output: done}}\n"

# What reads it, and what comes of it: the execution's output.
PLACES = {
    "a task's input": ('- {step: then, tool: {kind: python, input: {v: "{{ load.data.rows }}", code: "result = len(v)"}}}', 10),
    "a part by its bare name": ('- {step: then, tool: {kind: noop, output: "{{ load.count }}"}}', 10),
    "an element": ('- {step: then, tool: {kind: noop, output: "{{ load.data.rows[3][:1] }}"}}', "x"),
    "a task of the step": ('- {step: then, tool: {kind: noop, output: "{{ load.results.a.data.count }}"}}', 10),
    "a task of the step, by its bare name": ('- {step: then, tool: {kind: noop, output: "{{ load.results.a.count }}"}}', 10),
    "the whole envelope": ('- {step: then, tool: {kind: python, input: {v: "{{ load }}", code: "result = [v[\'status\'], v[\'data\'][\'count\']]"}}}', ["ok", 10]),
    "a task's set and rules": (
        '- {step: then, tool: {name: t, kind: noop, set: {ctx.n: "{{ load.count }}"}, spec: {policy: {rules: [{when: "{{ load.data.count == 10 }}", then: {do: break, set: {ctx.m: "{{ load.data.rows | length }}"}}}, {else: {then: {do: fail}}}]}}}, output: "{{ ctx.n + ctx.m }}"}',
        20,
    ),
    "a before-rule": (
        '- {step: then, tool: [{name: t, kind: noop, spec: {policy: {before: [{when: "{{ load.count == 10 }}", then: {do: jump, to: u}}]}}}, {name: s, kind: noop, output: no}, {name: u, kind: noop, output: yes}]}',
        "yes",
    ),
    "a task's spec": ('- {step: then, tool: {name: t, kind: noop, spec: {timeout: "{{ load.count }}"}, output: well}}', "well"),
    "an inner loop": (
        '- {step: then, loop: {in: [1, 2], iterator: i, loop: {in: "{{ load.data.rows }}", iterator: r}}, tool: {kind: noop, output: "{{ iter.index + iter.parent.index }}"}, output: "{{ output.data | sum(start=[]) | length }}"}',
        20,
    ),
    "iterations at once": (
        '- {step: then, loop: {in: [1, 2, 3], iterator: i, spec: {mode: parallel}}, tool: {kind: noop, output: "{{ iter.i + load.count }}"}}',
        [11, 12, 13],
    ),
    "iterations of a distributed loop": (
        '- {step: then, loop: {in: [1, 2, 3], iterator: i, spec: {mode: parallel, chunk: 1, policy: {exec: distributed}}}, tool: {kind: noop, output: "{{ iter.i + load.count }}"}}',
        [11, 12, 13],
    ),
    "a step's input": ('- {step: then, input: {n: "{{ load.count }}", v: "{{ load.data }}"}, tool: {kind: noop, output: "{{ [input.n, input.v.rows | length] }}"}}', [10, 10]),
    "the items of a loop": ('- {step: then, loop: {in: "{{ load.data.rows }}", iterator: r}, tool: {kind: noop, output: "{{ iter.r[:1] }}"}}', ["x"] * 10),
    "the items of a distributed loop": (
        '- {step: then, loop: {in: "{{ load.data.rows }}", iterator: r, spec: {mode: parallel, chunk: 3, policy: {exec: distributed}}}, tool: {kind: noop, output: "{{ iter.r[:1] }}"}}',
        ["x"] * 10,
    ),
    "the bounds of a loop": ('- {step: then, loop: {in: [1], iterator: r, spec: {mode: parallel, max_in_flight: "{{ load.count }}"}}, tool: {kind: noop, output: 1}}', [1]),
    "the bounds of a step": ('- {step: then, spec: {timeout: "{{ load.count }}"}, tool: {kind: noop, output: 1}}', 1),
    "admission": ('- {step: then, spec: {policy: {admit: {rules: [{when: "{{ load.count == 10 }}", then: {allow: true}}, {else: {then: {allow: false}}}]}}}, tool: {kind: noop, output: in}}', "in"),
    "a guard of an arc": ('- {step: then, tool: {kind: noop}, next: {arcs: [{step: end, when: "{{ load.data.rows | length == 10 }}"}]}}\n' + END, "done"),
    "set and args of an arc": (
        '- {step: then, tool: {kind: noop}, next: {arcs: [{step: last, set: {ctx.n: "{{ load.count }}"}, args: {v: "{{ load.data }}"}}]}}\n- {step: last, tool: {kind: noop, output: "{{ [ctx.n, args.v.count] }}"}}',
        [10, 10],
    ),
    "a step's set": ('- {step: then, tool: {kind: noop}, set: {ctx.v: "{{ load.data }}"}, output: 1, next: {arcs: [{step: last, when: "{{ event.name == \'step.done\' }}"}]}}\n- {step: last, tool: {kind: noop, output: "{{ ctx.v.rows | length }}"}}', 10),
    "a step's output": ('- {step: then, tool: {kind: noop}, output: "{{ load.count }}"}', 10),
    "the event that a step came with": ('- {step: then, input: {n: "{{ event.data.output.data.count }}"}, tool: {kind: noop, output: "{{ input.n }}"}}', 10),
    "a step that only routes": ('- {step: then, set: {ctx.n: "{{ load.count + output.data.count }}"}, next: {arcs: [{step: last, when: "{{ event.data.output.data.count == 10 }}"}]}}\n- {step: last, tool: {kind: noop, output: "{{ ctx.n }}"}}', 20),
    "what only routes, step after step": (
        '- {step: then, next: {arcs: [{step: more}]}}\n- {step: more, next: {arcs: [{step: last, when: "{{ load.count == 10 }}"}]}}\n- {step: last, input: {n: "{{ load.count }}"}, tool: {kind: noop, output: "{{ input.n }}"}}',
        10,
    ),
    "what follows a step that cannot start": (
        '- {step: then, input: {n: "{{ ctx.none.x }}"}, tool: {kind: noop}, next: {arcs: [{step: last, when: "{{ event.name == \'step.failed\' and load.count == 10 }}"}]}}\n- {step: last, input: {n: "{{ load.count }}"}, tool: {kind: noop, output: "{{ input.n }}"}}',
        10,
    ),
    "what follows a loop over nothing": (
        '- {step: then, loop: {in: [], iterator: i}, tool: {kind: noop}, next: {arcs: [{step: last, when: "{{ load.count == 10 }}"}]}}\n- {step: last, tool: {kind: noop, output: "{{ load.count }}"}}',
        10,
    ),
    "a fragment": (
        '- {step: then, tool: {kind: noop, output: {workflow: [{step: one, input: {n: "{{ \'{{ load.count }}\' }}"}, tool: {kind: noop, output: "{{ \'{{ [input.n, load.count] }}\' }}"}}]}}, spec: {synthesize: {from: "{{ output.data.workflow }}"}}}',
        [10, 10],
    ),
    "a block": (
        '- {step: then, tool: {name: k, kind: workbook, input: {n: "{{ load.count }}", rows: "{{ load.data.rows }}"}}}',
        [10, 10, 10],
    ),
}  # fmt: skip
BLOCK = """
workbook:
  k:
    input: {n: 0, rows: []}
    loop: {in: "{{ input.rows }}", iterator: r}
    tool: {kind: noop, output: "{{ input.n }}"}
    output: "{{ output.data[:2] + [input.n] }}"
"""


def workflow(place, n, limits="{}"):
    more = {"workbook": BLOCK} if place == "a block" else {}
    return playbook(
        MAKE + PLACES[place][0],
        workload=f"workload: {{n: {n}}}",
        executor=f"executor: {{spec: {{limits: {limits}}}}}",
        **more,
    )


def largest(ran):
    return max(len(msgspec.json.encode(event)) for event in ran.events)


@pytest.mark.parametrize("bytes_", [INLINE - 2000, INLINE + 2000, 1_000_000])
@pytest.mark.parametrize("place", PLACES)
async def test_a_large_result_reads_as_it_is(tmp_path, place, bytes_):
    ran = await run(tmp_path, workflow(place, bytes_))
    assert (ran.error, ran.status) == ({}, "completed")
    assert ran.output == PLACES[place][1]
    assert largest(ran) < EVENT_BYTES


# In a guard that was not asked to load it whole, the envelope alone is read.
WITHIN = sorted(set(PLACES) - {"the whole envelope"})


@pytest.mark.parametrize("place", WITHIN)
async def test_a_result_over_the_limit_is_an_error_that_names_the_ways_on(tmp_path, place):
    ran = await run(tmp_path, workflow(place, 1_000_000, "{max_hydrate_bytes: 900000}"))
    assert ran.status == "failed"
    told = ran.error["message"]
    assert ran.error["kind"] == "limit", ran.error
    owner = "load.results.a" if "results" in PLACES[place][0] else "load"
    owner = "then" if place == "a step that only routes" else owner  # whose output is what it came with
    assert f"the result of {owner} was stored with 10000" in told
    assert "more than limits.max_hydrate_bytes (900000)" in told
    assert f'in: "{{{{ {owner}.ref }}}}"' in told
    assert "kind: resolve and select" in told
    assert largest(ran) < EVENT_BYTES


async def test_the_whole_of_a_step_over_the_limit_is_its_envelope_with_the_reference(tmp_path):
    text = (
        MAKE
        + "- {step: then, tool: {kind: python, input: {v: \"{{ load }}\", code: \"result = [v['data'], v['ref']['type']]\"}}}"
    )
    limits = "executor: {spec: {limits: {max_hydrate_bytes: 900000}}}"
    ran = await run(tmp_path, playbook(text, workload="workload: {n: 1000000}", executor=limits))
    assert ran.output == [None, "blob"]


async def test_a_loop_over_a_result_above_the_limit_goes_by_its_reference(tmp_path):
    text = (
        "- {step: load, tool: {kind: python, input: {code: \"result = ['x' * 1000] * 100\"}}, next: {arcs: [{step: then}]}}\n"
        '- {step: then, loop: {in: "{{ load.ref }}", iterator: r}, tool: {kind: noop, output: 1}, output: "{{ output.data | sum }}"}'
    )
    limits = "executor: {spec: {limits: {max_hydrate_bytes: 90000}}}"
    ran = await run(tmp_path, playbook(text, executor=limits))
    assert ran.output == 100


LOOP = """
- step: load
  loop: {in: "{{ range(300) }}", iterator: i, spec: {mode: parallel, %s}}
  tool: {kind: python, input: {i: "{{ iter.i }}", code: "result = {'i': i, 'pad': 'x' * (70000 if i == 7 else 300)}"}}
  next: {arcs: [{step: then}]}
- step: then
  input: {n: "{{ load.data | length }}", seven: "{{ load.data[7].i }}", ev: "{{ event.data.output.data | length }}"}
  tool: {kind: python, input: {v: "{{ load.data }}", n: "{{ input }}", code: "result = [n['n'], n['seven'], n['ev'], len(v), len(v[7]['pad']), v[299]['i']]"}}
"""


@pytest.mark.parametrize("how", ["max_in_flight: 10", "chunk: 40, policy: {exec: distributed}"])
async def test_the_output_of_a_loop_that_rests_in_parts_reads_as_a_list(tmp_path, how):
    ran = await run(tmp_path, playbook(LOOP % how))
    assert ran.output == [300, 7, 300, 300, 70000, 299]
    assert largest(ran) < EVENT_BYTES


async def test_the_output_of_a_loop_counts_as_one_result(tmp_path):
    limits = "executor: {spec: {limits: {max_hydrate_bytes: 100000}}}"
    ran = await run(tmp_path, playbook(LOOP % "max_in_flight: 10", executor=limits))
    assert ran.error["kind"] == "limit", ran.error
    assert "the result of load was stored with 1688" in ran.error["message"]


async def test_the_own_output_of_a_loop_over_the_limit_is_an_error_and_not_a_list_of_nulls(tmp_path):
    text = LOOP.split("  next:")[0] + "  set: {ctx.n: '{{ output.data | length }}'}"
    limits = "executor: {spec: {limits: {max_hydrate_bytes: 60000}}}"
    ran = await run(tmp_path, playbook(text % "max_in_flight: 10", executor=limits))
    assert (ran.error["kind"], ran.error["step"]) == ("limit", "load")


async def test_results_that_are_read_together_are_bounded_together(tmp_path):
    made = "".join(
        f"- {{step: s{i}, tool: {{kind: python, input: {{code: \"result = '{i}' * 90000\"}}}}, next: {{arcs: [{{step: s{i + 1}}}]}}}}\n"
        for i in range(6)
    )
    lengths = ", ".join(f"s{i}.data | length" for i in range(6))
    limits = "executor: {spec: {limits: {max_hydrate_bytes: 100000}}}"
    for last in (
        f'{{step: s6, tool: {{kind: noop, output: "{{{{ [{lengths}] }}}}"}}}}',
        f'{{step: s6, input: {{v: "{{{{ [{lengths}] }}}}"}}, tool: {{kind: noop}}}}',
    ):
        ran = await run(tmp_path, playbook(made + "- " + last, executor=limits))
        assert ran.error["kind"] == "limit", ran.error
        assert "have more than 4 times limits.max_hydrate_bytes (100000) together" in ran.error["message"]


async def test_what_was_too_much_together_is_read_by_itself_afterwards(tmp_path):
    made = "".join(
        f"- {{step: s{i}, tool: {{kind: python, input: {{code: \"result = '{i}' * 90000\"}}}}, next: {{arcs: [{{step: s{i + 1}}}]}}}}\n"
        for i in range(6)
    )
    lengths = ", ".join(f"s{i}.data | length" for i in range(6))
    text = made + (
        f'- {{step: s6, input: {{v: "{{{{ [{lengths}] }}}}"}}, tool: {{kind: noop}}, next: {{arcs: [{{step: s7, when: "{{{{ event.name == \'step.failed\' }}}}"}}]}}}}\n'
        "- {step: s7, tool: {kind: noop}, next: {arcs: [{step: s8}]}}\n"
        + "".join(
            f'- {{step: s{8 + i}, input: {{n: "{{{{ s{i}.data | length }}}}"}}, tool: {{kind: noop, output: "{{{{ input.n }}}}"}}, next: {{arcs: [{{step: s{9 + i}}}]}}}}\n'
            for i in range(6)
        )
        + "- {step: s14, tool: {kind: noop, output: '{{ [s8.data, s13.data] }}'}}"
    )
    limits = "executor: {spec: {limits: {max_hydrate_bytes: 100000}}}"
    ran = await run(tmp_path, playbook(text, executor=limits))
    assert (ran.output, ran.runs("s14")) == ([90_000, 90_000], 1), ran.error


async def test_a_name_that_means_something_nearer_is_not_the_step(tmp_path):
    text = (
        MAKE
        + '- {step: then, input: {load: {count: 3}}, tool: {name: t, kind: noop, output: "{{ load.count }}"}, next: {arcs: [{step: last, set: {ctx.load: {count: 4}}}]}}\n'
        + '- {step: last, tool: {kind: noop, output: "{{ load.count }}"}}'
    )
    limits = "executor: {spec: {limits: {max_hydrate_bytes: 90000}}}"
    ran = await run(tmp_path, playbook(text, workload="workload: {n: 1000000}", executor=limits))
    assert ran.output == 4


async def test_fields_of_the_envelope_are_read_without_the_payload(tmp_path):
    text = (
        MAKE
        + '- {step: then, input: {s: "{{ load.status }}", e: "{{ load.error is defined }}"}, tool: {kind: noop, output: "{{ [input.s, input.e, load.status] }}"}}'
    )
    async with engine(tmp_path) as made:
        reads = []
        read = made.results.read

        async def counted(key):
            reads.append(key)
            return await read(key)

        made.results.read = counted
        execution_id = await begin(made, playbook(text, workload="workload: {n: 100000}"))
        ran = await finish(made, execution_id)
    assert ran.output == ["ok", False, "ok"]
    assert reads == []


async def test_a_result_is_loaded_once_for_all_that_read_it(tmp_path):
    text = (
        MAKE
        + '- {step: then, loop: {in: "{{ range(50) }}", iterator: i, spec: {mode: parallel}}, tool: [{name: t, kind: noop, output: "{{ load.count }}"}, {name: u, kind: noop, output: "{{ load.data.rows | length }}"}], next: {arcs: [{step: last}]}}\n'
        + '- {step: last, tool: {kind: noop, output: "{{ load.count }}"}}'
    )
    async with engine(tmp_path) as made:
        reads = []
        read = made.results.read

        async def counted(key):
            reads.append(key)
            return await read(key)

        made.results.read = counted
        execution_id = await begin(made, playbook(text, workload="workload: {n: 100000}"))
        ran = await finish(made, execution_id)
    assert ran.output == 10
    assert len(reads) == 1


@pytest.mark.parametrize(
    "reader, step",
    [
        ('tool: {name: t, kind: noop, output: "{{ load.count }}"}', "then"),
        ('input: {n: "{{ load.count }}"}, tool: {kind: noop}', "then"),
    ],
)
async def test_a_result_that_is_gone_is_named(tmp_path, reader, step):
    text = MAKE.replace("step: then", "step: w") + (
        "- {step: w, tool: {kind: wait, input: {signal: go}}, next: {arcs: [{step: then}]}}\n"
        f"- {{step: then, {reader}}}"
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(made, playbook(text, workload="workload: {n: 100000}"))
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        await made.results.discard(execution_id)
        made.engine.in_memory(execution_id).hydrated.clear()
        await made.engine.send(execution_id, Control("signal", name="go"))
        ran = await finish(made, execution_id)
    assert (ran.error["kind"], ran.error["step"]) == ("reference", step)
    assert f"load.count: the payload {execution_id}/" in ran.error["message"]
    assert "is gone from the result store" in ran.error["message"]


@pytest.mark.parametrize("bytes_", [INLINE - 2000, INLINE + 2000, 1_000_000])
async def test_a_step_reads_itself_and_its_tasks_as_they_are_in_its_own_set(tmp_path, bytes_):
    own = 'set: {ctx.n: "{{ [a.count, a.data.rows | length, load.count, output.count, load.results.a.count] }}"}\n  next:'
    text = MAKE.replace("next:", own) + "- {step: then, tool: {kind: noop}}"
    ran = await run(tmp_path, playbook(text, workload=f"workload: {{n: {bytes_}}}"))
    assert (ran.error, ran.ctx["n"]) == ({}, [10] * 5)
    assert largest(ran) < EVENT_BYTES


async def test_many_results_that_have_no_room_in_one_event_read_as_they_are(tmp_path):
    tasks = ", ".join(f"{{name: t{i}, kind: noop, output: \"{{{{ '{i}' * 30000 }}}}\"}}" for i in range(5))
    lengths = ", ".join(f"make.results.t{i}.data | length" for i in range(5))
    text = f"""
    - {{step: make, tool: [{tasks}], next: {{arcs: [{{step: then}}]}}}}
    - {{step: then, input: {{v: "{{{{ [{lengths}] }}}}"}}, tool: {{kind: noop, output: "{{{{ [input.v, [{lengths}]] }}}}"}}}}
    """
    ran = await run(tmp_path, playbook(text))
    assert ran.output == [[30_000] * 5] * 2, ran.error
    assert largest(ran) < EVENT_BYTES


VALUES = {
    "ctx": '- {step: then, tool: {kind: noop, output: "{{ ctx.v.count }}"}}',
    "args": '- {step: then, tool: {kind: noop, output: "{{ args.v.count }}"}}',
    "a step's input": '- {step: then, input: {v: "{{ ctx.v }}"}, tool: {kind: noop, output: "{{ input.v.count }}"}}',
    "iterations": '- {step: then, loop: {in: [1, 2, 3, 4], iterator: i, spec: {mode: parallel, chunk: 1, policy: {exec: distributed}}}, tool: {kind: noop, output: "{{ ctx.v.count }}"}, output: "{{ output.data[3] }}"}',
}
SETS = MAKE.replace(
    "{step: then}", '{step: w, set: {ctx.v: "{{ load.data }}"}, args: {v: "{{ load.data }}"}}'
) + (
    '- {step: w, tool: {kind: wait, input: {signal: go}}, next: {arcs: [{step: then, args: {v: "{{ args.v }}"}}]}}\n'
)


@pytest.mark.parametrize("place", VALUES)
async def test_large_values_are_not_in_the_orders_of_workers(tmp_path, place):
    text = playbook(SETS + VALUES[place], workload="workload: {n: 1000000}")
    async with engine(tmp_path) as made:
        sizes, offer = [], made.pool.offer

        def weighed(order):
            sizes.append(len(msgspec.json.encode(order)))
            offer(order)

        made.pool.offer = weighed
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        await made.engine.send(execution_id, Control("signal", name="go"))
        ran = await finish(made, execution_id)
    assert (ran.output, ran.error) == (10, {})
    assert max(sizes) < 5000


async def test_a_large_value_of_an_order_that_is_gone_is_named(tmp_path):
    text = playbook(SETS + VALUES["ctx"], workload="workload: {n: 100000}")
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        await made.results.discard(execution_id)
        await made.engine.send(execution_id, Control("signal", name="go"))
        ran = await finish(made, execution_id)
    assert (ran.error["kind"], ran.error["step"]) == ("reference", "then")
    assert f"what step 'then' reads: the payload {execution_id}/" in ran.error["message"]


LOST = {
    "read": ("{n: '{{ ctx.v.count }}'}", "reference"),
    "read below": ("{n: '{{ ctx.w.deep.v.count }}'}", "reference"),
    "read as a whole": ("{n: '{{ ctx.w }}'}", "reference"),
    "read by its bare name": ("{n: '{{ v.count }}'}", "reference"),
    "of the workload": ("{n: '{{ workload.big }}'}", "reference"),
    "not read": ("{n: '{{ ctx.small }}'}", None),
}


@pytest.mark.parametrize("how", LOST)
async def test_a_value_of_a_scope_that_is_gone_is_an_error_of_who_reads_it(tmp_path, how):
    given, kind = LOST[how]
    sets = '{ctx.v: "{{ output.data }}", ctx.w.deep.v: "{{ output.data }}", ctx.small: 1}'
    text = MAKE.replace("next: {arcs: [{step: then}]}", f"set: {sets}\n  next: {{arcs: [{{step: w}}]}}") + (
        "- {step: w, tool: {kind: wait, input: {signal: go}}, next: {arcs: [{step: then}]}}\n"
        f"- {{step: then, input: {given}, tool: {{kind: noop, output: '{{{{ input.n }}}}'}}}}"
    )
    big = "workload: {n: 100000, big: " + "y" * 70_000 + "}"
    async with engine(tmp_path) as made:
        execution_id = await begin(made, playbook(text, workload=big))
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
    await made.results.discard(execution_id)
    async with engine(tmp_path, made) as another:
        await another.engine.resume(execution_id)
        await another.engine.send(execution_id, Control("signal", name="go"))
        ran = await finish(another, execution_id)
    assert (ran.error.get("kind"), ran.output) == (kind, None if kind else 1)
    if kind:
        assert f": the payload {execution_id}/" in ran.error["message"]
        assert "is gone from the result store" in ran.error["message"]

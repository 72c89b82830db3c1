"""What a template may read where: the validator accepts a name at a place if and only if the engine reads it.

Every place where a template may stand, times every kind of name. Each playbook lets what was read end up as
`ctx.got`; where a condition stands, the condition is whether there is anything.
"""

import textwrap

import pytest

from noetl.dsl.load import load
from noetl.tools import kinds
from tests.engine.harness import HEAD, begin, control, engine, finish, run, until

WRONG = {"undefined-name", "scope-not-here", "read-too-early", "keychain-not-here"}

NAMES = (
    "workload.w",
    "w",
    "ctx.c",
    "c",
    "execution_id",
    "keychain.k.value",
    "step.s",
    "s",
    "iter.n",
    "n",
    "iter.item",
    "item",
    "iter.index",
    "iter.parent.n",
    "input.i",
    "i",
    "args.g",
    "g",
    "output.data",
    "event.name",
    "_prev",
    "_task",
    "_attempt",
    "a.data",
    "b.data",
    "z.data",
    "first.data",
    "first.results.t.data",
    "first.results.other.data",
    "probe.data",
    "probe.results.a.data",
    "last.data",
)

# The step `probe`, with parts that the places below replace. EXPR is what is read, THERE whether it is there.
PARTS = {
    "input": "{i: I}",
    "spec": "",
    "loop": "",
    "a": "{name: a, kind: noop, output: A, set: {step.s: S, iter.n: N}}",
    "b": "{name: b, kind: noop, output: B}",
    "output": "",
    "set": "",
    "arc": "{step: last}",
    "block_input": "{i: BI}",
    "block_loop": "",
    "block_a": "{name: a, kind: noop, output: BA, set: {step.s: BS, iter.n: BN}}",
    "block_b": "{name: b, kind: noop, output: BB}",
    "block_output": "",
    "block_set": "",
}
LOOP = "{in: [1], iterator: item}"
CALL = "{name: b, kind: workbook, block: blk, input: {i: BI}}"
IN_B = "{name: b, kind: noop, output: B, %s}"
IN_BLOCK_B = "{name: b, kind: noop, output: BB, %s}"
SHOWN = 'set: {ctx.got: "{{ output.data }}"}'
READS = '{name: b, kind: python, input: {v: "{{ EXPR }}", code: "result = v"}, ' + SHOWN + "}"
POLICY = "spec: {policy: {%s}}"
RULES = (
    'rules: [{when: "{{ THERE }}", then: {do: continue, set: {ctx.got: 1}}}, {else: {then: {do: continue}}}]'
)
BEFORE = RULES.replace("rules", "before", 1)
RULE_SET = 'rules: [{else: {then: {do: continue, set: {ctx.got: "{{ EXPR }}"}}}}]'

PLACES: dict[str, dict[str, str]] = {
    "step input": {"input": '{i: I, got: "{{ EXPR }}"}', "set": '{ctx.got: "{{ input.got }}"}'},
    "admission": {
        "spec": POLICY
        % 'admit: {rules: [{when: "{{ THERE }}", then: {allow: true}}, {else: {then: {allow: false}}}]}',
        "set": "{ctx.got: 1}",
    },
    "step timeout": {
        "spec": 'spec: {timeout: "{{ 1 / (0 if not THERE else 1) }}"}',
        "set": "{ctx.got: \"{{ output.status if output.status == 'ok' else none }}\"}",
    },
    "loop.in": {
        "loop": '{in: "{{ [EXPR] }}", iterator: item}',
        "b": IN_B % 'set: {ctx.got: "{{ iter.item }}"}',
    },
    "inner loop.in": {
        "loop": '{in: [1], iterator: item, loop: {in: "{{ [EXPR] }}", iterator: each}}',
        "b": IN_B % 'set: {ctx.got: "{{ iter.each }}"}',
    },
    "task input": {"b": READS},
    "call input": {
        "b": '{name: b, kind: workbook, block: blk, input: {v: "{{ EXPR }}"}}',
        "block_set": '{ctx.got: "{{ input.v }}"}',
    },
    "task spec": {"b": IN_B % ('spec: {timeout: "{{ 9 / (0 if not THERE else 1) }}"}, set: {ctx.got: 1}')},
    "before when": {"b": IN_B % (POLICY % BEFORE)},
    "before set": {"b": IN_B % (POLICY % RULE_SET.replace("rules", "before", 1))},
    "task output": {"b": f'{{name: b, kind: noop, output: "{{{{ EXPR }}}}", {SHOWN}}}'},
    "task set": {"b": IN_B % 'set: {ctx.got: "{{ EXPR }}"}'},
    "rule when": {"b": IN_B % (POLICY % RULES)},
    "rule set": {"b": IN_B % (POLICY % RULE_SET)},
    "retry option": {
        "b": IN_B
        % (
            POLICY
            % 'rules: [{when: "{{ _attempt == 1 }}", then: {do: retry, attempts: 2, delay: "{{ 0 / (0 if not THERE else 1) }}"}}, {else: {then: {do: continue, set: {ctx.got: 1}}}}]'
        )
    },
    "step output": {"output": 'output: "{{ EXPR }}"', "set": '{ctx.got: "{{ output.data }}"}'},
    "step set": {"set": '{ctx.got: "{{ EXPR }}"}'},
    "synthesize.from": {
        "spec": """spec: {synthesize: {from: "{{ [{'step': 'more', 'desc': EXPR | string, 'tool': {'kind': 'noop'}, 'set': {'ctx.got': 1}}] if THERE else 1 / 0 }}"}}""",
    },
    "arc when": {"arc": '{step: last, when: "{{ THERE }}", set: {ctx.got: 1}}'},
    "arc set": {"arc": '{step: last, set: {ctx.got: "{{ EXPR }}"}}'},
    "arc args": {"arc": '{step: last, args: {got: "{{ EXPR }}"}}'},
    "in a loop: task input": {
        "loop": LOOP,
        "b": READS,
    },
    "in a loop: task set": {"loop": LOOP, "b": IN_B % 'set: {ctx.got: "{{ EXPR }}"}'},
    "after a loop: step output": {
        "loop": LOOP,
        "output": 'output: "{{ EXPR }}"',
        "set": '{ctx.got: "{{ output.data }}"}',
    },
    "after a loop: step set": {"loop": LOOP, "set": '{ctx.got: "{{ EXPR }}"}'},
    "after a loop: arc set": {"loop": LOOP, "arc": '{step: last, set: {ctx.got: "{{ EXPR }}"}}'},
    "block input": {
        "b": "{name: b, kind: workbook, block: blk}",
        "block_input": '{i: BI, v: "{{ EXPR }}"}',
        "block_set": '{ctx.got: "{{ input.v }}"}',
    },
    "block loop.in": {
        "b": CALL,
        "block_loop": 'loop: {in: "{{ [EXPR] }}", iterator: each}',
        "block_b": IN_BLOCK_B % 'set: {ctx.got: "{{ iter.each }}"}',
    },
    "block task input": {
        "b": CALL,
        "block_b": READS,
    },
    "block task set": {"b": CALL, "block_b": IN_BLOCK_B % 'set: {ctx.got: "{{ EXPR }}"}'},
    "block rule when": {"b": CALL, "block_b": IN_BLOCK_B % (POLICY % RULES)},
    "block output": {
        "b": f"{CALL[:-1]}, {SHOWN}}}",
        "block_output": 'output: "{{ EXPR }}"',
    },
    "block set": {"b": CALL, "block_set": '{ctx.got: "{{ EXPR }}"}'},
    "after a block's loop: block set": {
        "b": CALL,
        "block_loop": "loop: {in: [1], iterator: item}",
        "block_set": '{ctx.got: "{{ EXPR }}"}',
    },
    "in a block's loop: task set": {
        "b": CALL,
        "block_loop": "loop: {in: [1], iterator: item}",
        "block_b": IN_BLOCK_B % 'set: {ctx.got: "{{ EXPR }}"}',
    },
}
# Here ctx.got stands for what came as args, which the last step hands on.
BY_ARGS = {"arc args"}


def text(place: str, name: str) -> str:
    """A playbook that reads a name at a place."""
    parts = PARTS | PLACES[place]
    loop = f"loop: {parts['loop']}" if parts["loop"] else ""
    last = 'set: {ctx.got: "{{ args.got }}"}' if place in BY_ARGS else ""
    body = f"""
    keychain: [{{name: k, kind: static, value: hidden-value}}]
    workload: {{w: W}}
    workflow:
      - step: first
        tool: {{name: t, kind: noop, output: F}}
        set: {{ctx.c: C}}
        next: {{arcs: [{{step: probe, args: {{g: G}}}}]}}
      - step: probe
        input: {parts["input"]}
        {parts["spec"]}
        {loop}
        tool:
          - {parts["a"]}
          - {parts["b"]}
          - {{name: z, kind: noop}}
        {parts["output"]}
        set: {parts["set"] or "{}"}
        next: {{arcs: [{parts["arc"]}]}}
      - step: last
        tool: {{kind: noop}}
        {last}
    workbook:
      blk:
        input: {parts["block_input"]}
        {parts["block_loop"]}
        tool:
          - {parts["block_a"]}
          - {parts["block_b"]}
        {parts["block_output"]}
        set: {parts["block_set"] or "{}"}
    """
    there = f"({name} | string | length > 0)"
    return HEAD + textwrap.dedent(body).replace("THERE", there).replace("EXPR", name)


CYCLE = """
workflow:
  - step: count
    tool:
      - {name: a, kind: noop, output: "{{ ctx.n | default(0) + 1 }}", set: {ctx.n: "{{ a.data }}", iter.n: "{{ a.data }}"}}
      - {name: b, kind: noop, output: "{{ a.data * 10 }}", SETS}
    SET
    next: {arcs: [{step: count, when: "{{ ctx.n < 3 }}", set: {ctx.arc: "{{ iter.n }}"}}]}
"""


@pytest.mark.parametrize(
    "read, last",
    [
        ("count.data", 30),
        ("count.status", "ok"),
        ("count.results.a.data", 3),
        ("a.data", 3),
        ("b.data", 30),
        ("iter.n", 3),
        ("output.data", 30),
    ],
)
async def test_what_a_run_reads_of_itself_is_of_this_run_and_never_of_the_last_one(tmp_path, read, last):
    text = HEAD + CYCLE.replace("SETS", 'set: {ctx.own: "{{ b.data }}"}').replace(
        "SET", f'set: {{ctx.got: "{{{{ {read} }}}}"}}'
    )
    ran = await run(tmp_path, text)
    assert (ran.status, ran.ctx["got"], ran.ctx["arc"]) == ("completed", last, 2), ran.error
    sets = [event["data"]["set"] for event in ran.named("step.done")]
    assert len({repr(one) for one in sets}) == (1 if read == "count.status" else 3)


async def test_a_task_reads_itself_as_it_is_now_in_its_own_set_and_output(tmp_path):
    text = (
        HEAD
        + """
workflow:
  - step: start
    tool:
      name: t
      kind: noop
      output: "{{ ctx.n | default(0) + 1 }}"
      set: {ctx.n: "{{ t.data }}"}
      spec: {policy: {rules: [{when: "{{ t.data < 3 }}", then: {do: jump, to: t}}, {else: {then: {do: break}}}]}}
"""
    )
    ran = await run(tmp_path, text)
    assert (ran.status, ran.ctx["n"]) == ("completed", 3), ran.error


async def test_tasks_that_only_the_set_of_the_step_names_survive_a_wait(tmp_path):
    text = (
        HEAD
        + """
workflow:
  - step: start
    tool:
      - {name: a, kind: noop, output: A, set: {iter.n: N}}
      - {name: w, kind: wait, input: {signal: go}}
    set: {ctx.got: "{{ [a.data, start.results.a.ref.type, iter.n, w.data] }}"}
"""
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        await control(made, execution_id, "signal", name="go", payload=1)
        ran = await finish(made, execution_id)
    assert (ran.status, ran.ctx["got"]) == ("completed", ["A", "blob", "N", 1]), ran.error


@pytest.mark.parametrize("place", PLACES)
async def test_a_name_is_accepted_at_a_place_if_and_only_if_it_is_read_there(tmp_path, place):
    assert accepted(place, "workload.w"), [
        str(one) for one in load(text(place, "workload.w"), kinds=kinds()).diagnostics
    ]
    disagree = {}
    async with engine(tmp_path) as made:
        for name in NAMES:
            loaded = load(text(place, name), kinds=kinds())
            if not loaded.ok:  # refused, so that nothing is read
                assert {found.code for found in loaded.diagnostics if found.severity == "error"} <= WRONG
                continue
            ran = await finish(made, await begin(made, text(place, name)))
            read = ran.ctx.get("got") not in (None, "")
            if read is not accepted(place, name):
                disagree[name] = f"read: {read}, {ran.error.get('message')}"
    assert disagree == {}


def accepted(place: str, name: str) -> bool:
    found = load(text(place, name), kinds=kinds()).diagnostics
    return not any(one.code in WRONG for one in found)

"""Executions that are recorded of loops that claim their items, and of what goes on as another execution."""

from tests.histories.scenario import ADD, FAIL, GO, Scenario

ROWS = "result = [(number - 1) * batch + n for n in range(batch)] if number < 4 else []"


def claims(code: str = ROWS, extra: str = "", spec: str = "mode: sequential") -> str:
    """The head of a loop that claims its items; which a claim brings follows from its number."""
    given = 'number: "{{ claim.number }}", batch: "{{ claim.batch }}", last: "{{ claim.last }}"'
    task = f'{{kind: python, input: {{{given}, code: "{code}"}}, batch: 3{extra}}}'
    return f"loop: {{in: {{claim: {task}, until: empty}}, iterator: i, spec: {{{spec}}}}}"


ROUNDS = """
- step: round
  spec: {continue: {after_events: 12}}
  tool: {name: hold, kind: wait, input: {signal: go}}
  set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}
  next: {arcs: [{step: round, when: "{{ ctx.n < 5 }}"}, {step: end}]}
- {step: end, tool: {kind: noop, output: "{{ ctx.n }}"}}
"""
SHARED = "mode: parallel, max_in_flight: 4, policy: {exec: distributed, reduce: {ctx.sum: sum}}"
SUM = "{name: add, kind: noop, set: {ctx.sum: '{{ iter.i }}'}}"
SLOWLY = f"import time; time.sleep(0.2 if number == 2 else 0); {ROWS}"
AGAIN = (
    ", spec: {policy: {rules: [{when: \"{{ output.status == 'error' }}\", "
    "then: {do: retry, attempts: 2, delay: 0.001}}, {else: {then: {do: continue}}}]}}"
)

LONG_LIVED: tuple[Scenario, ...] = (
    # ---- loops that claim their items ----------------------------------------------------------------------
    Scenario(
        "claims",
        f"""
        - step: start
          {claims()}
          tool: {{kind: noop, set: {{ctx.seen: "{{{{ (ctx.seen | default([])) + [iter.i] }}}}"}}}}
          next: {{arcs: [{{step: end}}]}}
        - {{step: end, tool: {{kind: noop, output: "{{{{ ctx.seen }}}}"}}}}
        """,
    ),
    Scenario("claims-in-parallel", f"- {{step: start, {claims(spec='mode: parallel')}, tool: {ADD}}}"),
    Scenario(
        "claims-shared",
        f"""
        - {{step: start, {claims(spec=SHARED)}, tool: {SUM}, next: {{arcs: [{{step: end}}]}}}}
        - {{step: end, tool: {{kind: noop, output: "{{{{ ctx.sum }}}}"}}}}
        """,
    ),
    Scenario("claims-that-bring-nothing", f"- {{step: start, {claims('result = []')}, tool: {ADD}}}"),
    Scenario(
        "claims-behind-the-last-row",
        f"- {{step: start, {claims('result = [last + 1] if last else [1]', ', max_batches: 4')}, tool: {ADD}}}",
    ),
    Scenario(
        "claim-that-fails",
        f"- {{step: start, {claims('result = [7 // (2 - number)]', AGAIN, SHARED)}, tool: {SUM}}}",
        ends="failed",
    ),
    Scenario(
        "claims-of-large-rows",
        f"""
        - step: start
          {claims("result = ['x' * 90000] * 3 if number < 3 else []", spec=SHARED)}
          tool: {{kind: noop, set: {{ctx.sum: "{{{{ iter.i | length }}}}"}}}}
          next: {{arcs: [{{step: end}}]}}
        - {{step: end, tool: {{kind: noop, output: "{{{{ ctx.sum }}}}"}}}}
        """,
    ),
    Scenario(
        "best-effort-claims",
        f"""
        - step: start
          spec: {{policy: {{failure: {{mode: best_effort}}}}}}
          {claims(spec="mode: parallel, policy: {exec: distributed}")}
          tool: {{name: x, kind: python, input: {{n: "{{{{ iter.i }}}}", code: "result = 6 // (n - 2)"}}}}
        """,
    ),
    Scenario(
        "claims-that-wait",
        """
        - step: start
          loop: {in: {claim: {kind: wait, input: {signal: "rows-{{ claim.number }}"}}, until: empty}, iterator: i}
          tool: {kind: noop, set: {ctx.n: "{{ (ctx.n | default(0)) + iter.i }}"}}
          next: {arcs: [{step: end}]}
        - {step: end, tool: {kind: noop, output: "{{ ctx.n }}"}}
        """,
        signals={"rows-1": [1, 2], "rows-2": [3], "rows-3": []},
        deed="crash",
    ),
    Scenario(
        "taken-over-in-the-midst-of-a-claim",
        f"- {{step: start, {claims(SLOWLY, ', prefetch: 9', SHARED)}, tool: [{GO}, {SUM}]}}",
        deed="crash",
        signals={"go": 1},
    ),
    Scenario(
        "expired-lease-of-a-claim",
        f"- {{step: start, {claims(SLOWLY, ', prefetch: 9', SHARED)}, tool: [{GO}, {SUM}]}}",
        deed="expire",
        signals={"go": 1},
    ),
    Scenario(
        "cancelled-while-it-claims",
        f"- {{step: start, {claims(SLOWLY, ', prefetch: 9', SHARED)}, tool: [{GO}, {SUM}]}}",
        deed="cancel",
        ends="cancelled",
    ),
    # ---- executions that go on as others -------------------------------------------------------------------
    Scenario(
        "continued",
        """
        - step: round
          spec: {continue: {after_events: 12, input: {round: "{{ ctx.n }}"}}}
          tool: {kind: noop, output: "{{ (ctx.n | default(0)) + 1 }}"}
          set: {ctx.n: "{{ output.data }}"}
          next: {arcs: [{step: round, when: "{{ ctx.n < 6 }}"}, {step: end}]}
        - {step: end, tool: {kind: noop, output: "{{ [ctx.n, workload.round] }}"}}
        """,
        "workload: {round: 0}",
    ),
    Scenario("continued-by-signals", ROUNDS, signals={"go": 1}),
    Scenario("continued-and-taken-over", ROUNDS, deed="crash", signals={"go": 1}),
    Scenario("continued-and-cancelled", ROUNDS, deed="cancel", ends="cancelled"),
    Scenario(
        "continued-child",
        "- {step: start, tool: {name: c, kind: playbook, path: histories/rounds}}",
        children={"histories/rounds": ROUNDS},
        signals={"go": 1},
    ),
    Scenario(
        "continued-with-a-failure",
        f"""
        - {{step: start, tool: {FAIL}, next: {{arcs: [{{step: round}}]}}}}
        - step: round
          spec: {{continue: {{after_events: 10}}}}
          tool: {{kind: noop, set: {{ctx.n: "{{{{ (ctx.n | default(0)) + 1 }}}}"}}}}
          next: {{arcs: [{{step: round, when: "{{{{ ctx.n < 4 }}}}"}}]}}
        """,
        ends="failed",
    ),
    Scenario(
        "claims-and-continues",
        f"""
        - step: round
          spec: {{continue: {{after_events: 10}}}}
          {claims(spec=SHARED)}
          tool: {SUM}
          next: {{arcs: [{{step: round, when: "{{{{ ctx.sum < 100 }}}}"}}, {{step: end}}]}}
        - {{step: end, tool: {{kind: noop, output: "{{{{ ctx.sum }}}}"}}}}
        """,
    ),
)

"""The two older surfaces: one is warned about, the other refused with what replaces it."""

from tests.acceptance.language.rows import READ, SET, Row, Table, arcs, doc, rules, step, tool

ROWS: list[Row] = []

# fmt: off
# ---- the two older surfaces -----------------------------------------------------------------------------

it = Table("v10", ROWS)
it.warning("outcome", tool("[{kind: noop}, %s]" % (READ % "outcome.status")), 6, "outcome", "{{ output.status }}")
it.warning("outcome.result", tool("[{kind: noop}, %s]" % (READ % "outcome.result")), 6, "{{ output.data }}")
it.warning("outcome.result.data", tool("[{kind: noop}, %s]" % (READ % "outcome.result.data.x")), 6, "{{ output.data.x }}")
it.warning("result_ref", tool("[{kind: noop}, %s]" % (READ % "outcome.result_ref")), 6, "{{ output.ref }}")
it.warning("executor.kind", doc(root="executor: {kind: local}"), 4, "profile: local")

it = Table("legacy", ROWS)
it.error("eval", tool("{kind: noop, eval: [{expr: '{{ true }}', do: continue}]}"), 6, "eval", "on_unmatched: by_status",
      "rules: [{when:", "noetl migrate")
it.error("eval with else", tool("{kind: noop, eval: [{else: {do: continue}}]}"), 6, "else: {then: {do: continue}}")
it.error("eval of a step", step(SET, "eval: [{expr: '{{ true }}', do: continue}]"), 7, "eval", "rules", "noetl migrate")
it.error("expr", rules("[{expr: '{{ true }}', then: {do: fail}}, {else: {then: {do: continue}}}]"), 6, "expr", "when:", "noetl migrate")
it.error("expr of an arc", arcs("[{step: b, expr: '{{ true }}'}]"), 7, "expr", "when", "noetl migrate")
it.error("expr of a step", step("expr: '{{ true }}'", SET), 6, "expr", "admit", "noetl migrate")
it.error("next_mode", step("spec: {next_mode: inclusive}", SET), 6, "next_mode", "next: {spec: {mode: inclusive}", "noetl migrate")
it.error("set_vars", tool("{kind: noop, set_vars: {a: 1}}"), 6, "set_vars", "set: {step.a: 1}", "noetl migrate")
it.error("set_shared", tool("{kind: noop, set_shared: {a: 1}}"), 6, "set_shared", "set: {ctx.a: 1}", "noetl migrate")
it.error("set_prev", tool("{kind: noop, set_prev: x}"), 6, "set_prev", "{kind: noop, output: x}", "noetl migrate")
it.error("vars of a step", step(SET, "vars: {a: 1}"), 7, "vars", "set: {step.a: 1}", "noetl migrate")
it.error("pipe", step("pipe: [{name: a, kind: noop}]"), 6, "pipe", "tool: [{name: a, kind: noop}]", "noetl migrate")
it.error("pipe under tool", tool("{pipe: [{name: a, kind: noop}]}"), 6, "pipe", "tool: [{name: a", "noetl migrate")
it.error("case", doc("""
    - step: start
      tool: {kind: noop}
      case: [{when: "{{ workload.x }}", then: {next: [{step: b}]}}]
    - {step: b, tool: {kind: noop}}
"""), 7, "case", "next: {arcs: [{step: b, when:", "noetl migrate")
it.error("case of a task", tool("{kind: noop, case: [{when: '{{ true }}', then: {do: continue}}]}"), 6, "case", "rules")

"""Steps: their keys and names, spec keys by scope, admission, joins."""

from tests.acceptance.language.rows import NOOP, Row, Table, admit, arcs, doc, loop, rules, step, tool

ROWS: list[Row] = []

# fmt: off
# ---- 2. step --------------------------------------------------------------------------------------------

it = Table("2 step", ROWS)
it.clean("every key", doc("""
    - step: start
      desc: text
      input: {a: 1}
      spec: {timeout: 5}
      tool: {kind: noop, input: {b: "{{ input.a }}"}}
      output: "{{ output.data }}"
      set: {ctx.last_status: "{{ output.status }}"}
      next: {spec: {mode: exclusive}, arcs: [{step: end, when: "{{ event.ok }}"}]}
    - {step: end, tool: {kind: noop}}
"""))
it.clean("a step that only routes", doc("- {step: start, next: {arcs: [{step: b}]}}\n- {step: b, tool: {kind: noop}}"))
it.warning("an end marker", arcs("[{step: e}]", extra="- {step: e}"), 8, "neither tool nor next")
it.error("no name", doc("- {tool: {kind: noop}}"), 5, "step")
for bad in ("load-all", "1load", "load all", "load.all", "''", "12", "'{{ x }}'"):
    it.error(f"the name {bad}", doc(f"- {{step: {bad}, tool: {{kind: noop}}}}"), 5, "step")
for bad in ("workload", "keychain", "ctx", "step", "iter", "input", "args", "output", "outcome", "event",
            "execution_id", "_prev", "_mine", "range", "dict", "namespace", "'true'", "'None'"):
    it.error(f"the name {bad}", doc(f"- {{step: {bad}, tool: {{kind: noop}}}}"), 5, bad.strip("'"))
    it.error(f"the task name {bad}", tool(f"[{{name: {bad}, kind: noop}}]"), 6, bad.strip("'"))
    it.error(f"the iterator {bad}", loop(f"{{in: [1], iterator: {bad}}}"), 6, bad.strip("'"))
it.error("a task name with a dash", tool("[{name: a-b, kind: noop}]"), 6, "a-b", "a_b")
it.error("a task name with a dot", tool("[{name: a.b, kind: noop}]"), 6, "a.b")
it.error("an iterator with a space", loop("{in: [1], iterator: a b}"), 6, "an iterator")
it.error("a misspelt key", doc("- {step: start, tol: {kind: noop}}"), 5, "tol", "'tool'")
it.error("another misspelt key", step("inputs: {a: 1}", "tool: {kind: noop}"), 6, "inputs", "'input'")
it.error("two steps of one name", doc(f"{NOOP}\n{NOOP}"), 6, "duplicate", "start", "line 5")
it.error("a tool that is a text", tool("noop"), 6, "tool", "{kind: noop}")
it.error("a tool that is nothing", tool(""), 6, "tool")
it.error("a tool without tasks", tool("[]"), 6, "task")
it.error("a task that is a text", tool("[noop]"), 6, "mapping", "{kind: noop}")
it.error("a task without kind", tool("{name: a}"), 6, "kind")
it.error("an input that is a list", step("input: [1]", "tool: {kind: noop}"), 6, "input", "mapping")
it.error("do in a step", step("do: continue", "tool: {kind: noop}"), 6, "do")

it = Table("2 spec keys", ROWS)
it.clean("executor.spec in force", doc(root="""
    executor:
      spec:
        entry_step: start
        final_step: start
        on_failure: drain
        pool: p
        trace: full
        timeout: 30
        limits: {max_task_runs: 10}
        http: {timeout: {connect: 1, read: 2}}
        policy:
          defaults: {timeouts: {read: 10}}
          results: {reference_first: true}
          limits: {max_payload_bytes: 1000}
"""))
it.clean("step.spec in force", loop("{in: [1], iterator: x}", "spec:", "  pool: p", "  timeout: 30",
      "  limits: {max_task_runs: 10}", "  validate: {input: {type: object}, output: {}}",
      "  policy: {lifecycle: {timeout_s: 1, deadline_s: 2}, failure: {mode: best_effort}}",
      "tool: {kind: noop}"))
it.clean("loop.spec in force", loop("{in: [1], iterator: x, spec: {mode: parallel, max_in_flight: 3, chunk: 5,"
      " policy: {exec: distributed}}}"))
it.clean("loop.spec.policy in force", loop("{in: [1], iterator: x, spec: {policy: {mode: parallel, max_in_flight: 3}}}"))
it.clean("task spec in force", tool("{kind: http, input: {url: x}, spec: {timeout: {connect: 5, read: 15},"
      " limits: {max_payload_bytes: 9}, validate: {output: {type: object}}}}"))
for key in ("result: {store: x}", "policy: {defaults: {resources: {cpu: 1}}}"):
    it.info(f"executor.spec {key}", doc(root=f"executor: {{spec: {{{key}}}}}"), 4, "changes nothing")
it.info("step.spec result.store", step("spec: {result: {store: x}}", "tool: {kind: noop}"), 6, "changes nothing")
it.info("task spec result.store", tool("{kind: noop, spec: {result: {store: x}}}"), 6, "changes nothing")
for key in ("no_next_is_error: true", "sandbox: {}", "telemetry: {a: 1}", "policy: {placement: {}}",
            "policy: {cost: {}}", "policy: {quantum: {}}"):
    it.info(f"executor.spec {key}", doc(root=f"executor: {{spec: {{{key}}}}}"), 4, "reserved", "no effect")
for key in ("lease: {ttl: 3}", "policy: {tracing: {}}", "policy: {quotas: {}}",
            "policy: {compensation: {}}",
            "policy: {admit: {mode: exclusive, rules: [{else: {then: {allow: true}}}]}}"):
    it.info(f"step.spec {key}", step(f"spec: {{{key}}}", "tool: {kind: noop}"), 6, "reserved")
for key in ("ordering", "backpressure", "partitioning"):
    it.info(f"loop policy {key}", loop(f"{{in: [1], iterator: x, spec: {{policy: {{{key}: 1}}}}}}"), 6, "reserved", key)
for key in ("mode: exclusive", "after: [{else: {then: {do: continue}}}]", "finally: []"):
    it.info(f"task policy {key}", rules("[{else: {then: {do: fail}}}]", f"{key}, "), 6, "reserved")
it.info("next.spec.policy", arcs("[{step: b}]").replace("{arcs", "{spec: {policy: {}}, arcs"), 7, "reserved")
it.info("arc.spec", arcs("[{step: b, spec: {anything: 1}}]"), 7, "reserved", "spec")
it.error("executor.spec unknown", doc(root="executor: {spec: {entry: start}}"), 4, "entry", "entry_step")
it.error("executor.spec near a kind", doc(root="executor: {spec: {htpt: {timeout: 1}}}"), 4, "htpt", "'http'")
it.error("executor unknown", doc(root="executor: {profil: auto}"), 4, "profil", "'profile'")
it.error("executor.profile", doc(root="executor: {profile: remote}"), 4, "remote", "auto", "local", "distributed")
it.error("executor.on_failure", doc(root="executor: {spec: {on_failure: halt}}"), 4, "halt", "stop", "drain")
it.error("executor.policy.rules", doc(root="executor: {spec: {policy: {rules: [{else: {then: {do: fail}}}]}}}"), 4, "do")
it.error("executor.policy.admit", doc(root="executor: {spec: {policy: {admit: {rules: []}}}}"), 4, "admit")
it.error("entry_step unknown", doc(root="executor: {spec: {entry_step: strat}}"), 4, "strat", "'start'")
it.error("final_step unknown", doc(root="executor: {spec: {final_step: strat}}"), 4, "strat", "'start'")
it.error("step.spec unknown", step("spec: {jion: all}", "tool: {kind: noop}"), 6, "jion", "'join'")
it.error("step.spec.policy unknown", step("spec: {policy: {lifecyle: {}}}", "tool: {kind: noop}"), 6, "'lifecycle'")
it.error("step.spec.policy.rules", step("spec: {policy: {rules: [{else: {then: {do: fail}}}]}}", "tool: {kind: noop}"), 6,
      "do", "task")
it.error("step.spec.do", step("spec: {do: continue}", "tool: {kind: noop}"), 6, "do")
it.error("step.spec.policy.exec", step("spec: {policy: {exec: local}}", "tool: {kind: noop}"), 6, "exec")
it.error("step timeout", step("spec: {timeout: soon}", "tool: {kind: noop}"), 6, "soon", "number")
it.error("failure mode", step("spec: {policy: {failure: {mode: slow}}}", "tool: {kind: noop}"), 6, "fail_fast", "best_effort")
it.error("step validate", step("spec: {validate: {input: {type: objct}}}", "tool: {kind: noop}"), 6, "objct", "schema")
it.error("loop.spec unknown", loop("{in: [1], iterator: x, spec: {max_inflight: 3}}"), 6, "'max_in_flight'")
it.error("loop policy rules", loop("{in: [1], iterator: x, spec: {policy: {rules: [{else: {do: fail}}]}}}"), 6, "do")
it.error("loop mode", loop("{in: [1], iterator: x, spec: {mode: par}}"), 6, "par", "sequential", "parallel")
it.error("loop max_in_flight", loop("{in: [1], iterator: x, spec: {max_in_flight: 0}}"), 6, "at least 1")
it.error("task spec unknown", tool("{kind: http, input: {url: x}, spec: {tmeout: 3}}"), 6, "tmeout", "'timeout'")
it.error("task spec of a step", tool("{kind: noop, spec: {join: all}}"), 6, "join")
it.error("task policy unknown", rules("[{else: {then: {do: fail}}}]", "admit: {}, "), 6, "admit")
it.error("a task policy with rule", tool("{kind: noop, spec: {policy: {rule: []}}}"), 6, "rule", "'rules'")
it.error("on_unmatched", rules("[{else: {then: {do: fail}}}]", "on_unmatched: fail, "), 6, "continue", "by_status")
it.error("next.spec unknown", arcs("[{step: b}]").replace("{arcs", "{spec: {mod: x}, arcs"), 7, "mod", "'mode'")
it.error("next mode beside spec", arcs("[{step: b}]").replace("{arcs", "{mode: x, arcs"), 7, "mode", "spec: {mode")
for place, text, line in (
    ("executor", doc(root="executor: {spec: {set: {ctx.a: 1}}}"), 4),
    ("step", step("spec: {set: {ctx.a: 1}}", "tool: {kind: noop}"), 6),
    ("loop", loop("{in: [1], iterator: x, spec: {set: {ctx.a: 1}}}"), 6),
    ("task", tool("{kind: noop, spec: {set: {ctx.a: 1}}}"), 6),
    ("next", arcs("[{step: b}]").replace("{arcs", "{spec: {set: {ctx.a: 1}}, arcs"), 7),
    ("arc", arcs("[{step: b, spec: {set: {ctx.a: 1}}}]"), 7),
):
    it.error(f"set under the spec of {place}", text, line, "set", "spec", code="set-in-spec")

it = Table("2.1 admission", ROWS)
for shape in ("else: {then: {allow: false}}", "else: {allow: false}", "else: , then: {allow: false}"):
    it.clean(f"{shape}", admit(f"{{rules: [{{when: '{{{{ workload.a }}}}', then: {{allow: true}}}}, {{{shape}}}]}}"))
it.warning("no else after allow true", admit("{rules: [{when: '{{ workload.a }}', then: {allow: true}}]}"), 7,
        "else", "refused")
it.warning("no else after allow false", admit("{rules: [{when: '{{ workload.a }}', then: {allow: false}}]}"), 7,
        "else", "allowed")
it.error("admit is a list", admit("[{else: {then: {allow: true}}}]"), 7, "admit", "rules")
it.error("admit without rules", admit("{}"), 7, "rules")
it.error("allow is a text", admit("{rules: [{else: {then: {allow: 'yes'}}}]}"), 7, "allow", "true or false")
it.error("allow is a template", admit("{rules: [{else: {then: {allow: '{{ true }}'}}}]}"), 7, "allow", "true or false")
it.error("no allow", admit("{rules: [{else: {then: {}}}]}"), 7, "allow")
it.error("do in admission", admit("{rules: [{else: {then: {do: skip}}}]}"), 7, "do", code="do-outside-rules")
it.error("a guard without braces", admit("{rules: [{when: workload.a, then: {allow: true}}]}"), 7, "{{ workload.a }}")
it.error("a rule without then", admit("{rules: [{when: '{{ workload.a }}'}]}"), 7, "then")
it.clean("else before a rule", admit("{rules: [{else: {then: {allow: false}}}, {when: '{{ workload.a }}', "
        "then: {allow: true}}]}"))
it.warning("output in admission", admit("{rules: [{when: '{{ output.data }}', then: {allow: true}}, "
        "{else: {then: {allow: false}}}]}"), 7, "output")
it.error("step.when", step('when: "{{ workload.a }}"', "tool: {kind: noop}", root="workload: {a: 1}"), 7, "when", "admit",
      "else", "allow: false", "noetl migrate")

it = Table("2.2 joins", ROWS)
FORK = """
    - step: start
      tool: {{kind: noop}}
      next: {{spec: {{mode: {mode}}}, arcs: [{{step: b{guard}}}, {{step: c}}]}}
    - {{step: b, tool: {{kind: noop}}, next: {{arcs: [{{step: d}}]}}}}
    - {{step: c, tool: {{kind: noop}}, next: {{arcs: [{{step: d}}]}}}}
    - {{step: d, spec: {{join: {join}}}, tool: {{kind: noop}}}}
"""
GUARD = ", when: '{{ workload.a }}'"


def fork(mode: str, join: str, guard: str = "") -> str:
    return doc(FORK.format(mode=mode, join=join, guard=guard))


for mode in ("sync", "each", "all", "first"):
    it.clean(f"join {mode}", fork("inclusive", mode))
for bad in ("any", "ALL", "3", "[all]", "'{{ workload.j }}'"):
    it.error(f"join {bad}", fork("inclusive", bad), 10, "join")
it.warning("all after an exclusive split", fork("exclusive", "all", GUARD), 10, "must", "never both", "sync")
it.warning("all after a guarded arc", fork("inclusive", "all", GUARD), 10, "may", "start -> b -> d")
it.info("a join without fan-in", step("spec: {join: all}", "tool: {kind: noop}"), 6, "no effect")

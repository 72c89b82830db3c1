"""What may be written and read where, loops, and references."""

from tests.acceptance.language.rows import READ, SET, Row, Table, arcs, loop, step, tool

ROWS: list[Row] = []

# fmt: off
# ---- 5. scopes ------------------------------------------------------------------------------------------

it = Table("5 scopes", ROWS)
it.clean("flat and deep targets", step(SET, "set: {ctx.page: 2, ctx.a.b.c: 3, step.x: 1}"))
it.clean("nested targets", step(SET, "set: {ctx: {page: 2}, step: {x: 1}}"))
it.warning("a bare target", step(SET, "set: {page: 2}"), 7, "page", "step.page")
for bad in ("workload.a", "input.a", "output.a", "keychain.a", "event.a", "args.a", "load.a", "ctx", "'ctx.'",
            "ctx..a", "ctxx.a", "'ctx.{{ x }}'"):
    it.error(f"the target {bad}", step(SET, f"set: {{{bad}: 1}}"), 7, bad.strip("'"))
it.error("a set that is a list", step(SET, "set: [a]"), 7, "set", "mapping")
it.error("a target written twice", step(SET, "set: {ctx.a: 1, ctx: {a: 2}}"), 7, "ctx.a", "twice")
for bad in ("iter.parent", "iter.index", "iter.count", "iter.x", "iter.x.y", "iter.parent.z"):
    it.error(f"the loop's own {bad}", loop("{in: [1], iterator: x}", f"tool: {{kind: noop, set: {{{bad}: 1}}}}"), 7, bad)
it.error("iter in a loop step's set", loop("{in: [1], iterator: x}", SET, "set: {iter.a: 1}"), 8, "iter.a")
it.error("iter nested in a loop step's set", loop("{in: [1], iterator: x}", SET, "set: {iter: {a: 1}}"), 8, "iter.a")
it.warning("iter outside a loop", tool("{kind: noop, set: {iter.a: 1}}"), 6, "iter", "loop")
for bad in ("step.a", "iter.a", "a", "workload.a"):
    it.error(f"the arc's target {bad}", arcs(f"[{{step: b, set: {{{bad}: 1}}}}]"), 7, bad, "ctx")
it.clean("an arc writes ctx", arcs("[{step: b, set: {ctx.a: 1, ctx: {b: 2}}}]"))
for old, new in (("set_ctx", "ctx.a"), ("set_iter", "iter.a")):
    text = loop("{in: [1], iterator: x}", f"tool: {{kind: noop, {old}: {{a: 1}}}}")
    it.warning(old, text, 7, old, f"set: {{{new}: 1}}")
for name in ("nothing", "ctx.nothing", "step.nothing", "input.nothing"):
    it.warning(f"the name {name}", tool(READ % name), 6, name)
it.warning("a misspelt bare name", tool(READ % "api_ulr", "workload: {api_url: x}"), 7, "api_ulr", "api_url")
it.info("a bare name", tool(READ % "api_url", "workload: {api_url: x}"), 7, "workload.api_url")
it.warning("a misspelt step", arcs("[{step: d}]", extra="- step: d\n  tool: " + READ % "strat.data"), 9, "strat", "start")
it.info("a payload field", arcs("[{step: d}]", extra="- step: d\n  tool: " + READ % "start.count"), 9, "start.data.count")
it.warning("a task not run yet", tool("[%s, {name: late, kind: noop}]" % (READ % "late.data")), 6, "late")
it.warning("event in a task", tool(READ % "event.name"), 6, "event")
it.warning("output of nothing", tool(READ % "output.data"), 6, "output")
it.clean("a default makes a name safe", tool(READ % "nothing | default(1)"))
for target, value, words in (
    ("ctx.rows_ref", "'{{ output.data }}'", "must receive a reference"),
    ("ctx.rows_ref", "text", "must receive a reference"),
    ("ctx.rows_ref", "{type: a}", "must receive a reference"),
    ("ctx.rows", "'{{ output.ref }}'", "_ref"),
    ("ctx.all", "{rows: '{{ output.ref }}'}", "_ref"),
):
    it.error(f"the _ref rule, {target}: {value}", tool(f"{{kind: noop, set: {{{target}: {value}}}}}"), 6, words)
for value in ("'{{ output.ref }}'", "null", "['{{ output.ref }}']", "{type: a, locator: b, auth_reference: c, meta: {}}"):
    it.clean(f"a reference, {value}", tool(f"{{kind: noop, set: {{ctx.rows_ref: {value}}}}}"))
it.clean("a reference inside", tool("{kind: noop, set: {ctx.all: {rows_ref: '{{ output.ref }}'}}}"))

# ---- 6. loops -------------------------------------------------------------------------------------------

it = Table("6 loops", ROWS)
it.clean("a literal list", loop("{in: [1, 2], iterator: x}"))
it.clean("a mapping", loop("{in: {a: 1}, iterator: x}"))
it.clean("an inner loop", loop("{in: '{{ workload.cities }}', iterator: city, loop: {in: '{{ iter.city.hotels }}', iterator: h}}",
      "tool: " + READ % "iter.parent.city", root="workload: {cities: []}"))
it.error("no in", loop("{iterator: x}"), 6, "in")
it.error("no iterator", loop("{in: [1]}"), 6, "iterator")
it.error("neither", loop("{}"), 6, "iterator", alone=False)
it.error("a loop that is a text", loop("'{{ workload.x }}'"), 6, "loop", "mapping")
it.error("a text as collection", loop("{in: hello, iterator: x}"), 6, "hello", "{{ hello }}")
it.error("a number as collection", loop("{in: 5, iterator: x}"), 6, "in", "5")
it.error("an unknown key", loop("{in: [1], iteratr: x}"), 6, "iteratr", "'iterator'")
it.error("mode beside spec", loop("{in: [1], iterator: x, mode: parallel}"), 6, "mode", "spec: {mode")
it.error("an unknown reducer", loop("{in: [1], iterator: x, spec: {mode: parallel, policy: {reduce: {ctx.t: total}}}}",
      "tool: {kind: noop, set: {ctx.t: 1}}"), 6, "total", "sum", "append")
it.error("a reducer of no target", loop("{in: [1], iterator: x, spec: {policy: {reduce: {workload.t: sum}}}}"), 6, "workload.t")
PARALLEL = "{in: [1, 2], iterator: x, spec: {mode: parallel%s}}"
WRITE = "tool: {kind: noop, set: {ctx.total: '{{ iter.x }}'}}"
it.warning("a parallel write", loop(PARALLEL % "", WRITE), 7, "ctx.total", "reduce")
it.warning("a parallel write of a rule", loop(PARALLEL % "", "tool: {kind: noop, spec: {policy: {rules: [{else: {then: "
        "{do: continue, set: {ctx.total: '{{ iter.x }}'}}}}]}}}"), 7, "ctx.total", "may")
it.clean("a parallel write with a reducer", loop(PARALLEL % ", policy: {reduce: {ctx.total: sum}}", WRITE))
it.clean("a sequential write", loop("{in: [1, 2], iterator: x}", WRITE))
it.clean("a parallel write to step", loop(PARALLEL % "", "tool: {kind: noop, set: {step.total: '{{ iter.x }}'}}"))

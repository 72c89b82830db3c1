"""Arcs, what tokens can do, and templates."""

from tests.acceptance.language.rows import NOOP, Row, Table, arcs, doc, loop, rules, tool

ROWS: list[Row] = []

# fmt: off
# ---- 7. routing -----------------------------------------------------------------------------------------

it = Table("7 routing", ROWS)
it.clean("inclusive arcs", arcs("[{step: b}, {step: c}]", mode="inclusive"))
it.clean("older event names", arcs("[{step: b, when: \"{{ event.name == 'call.done' }}\"}, {step: c}]"))
for bad in ("b", "[b]", "[{step: b}]", "{step: b}"):
    text = doc(f"- step: start\n  tool: {{kind: noop}}\n  next: {bad}\n- {{step: b, tool: {{kind: noop}}}}")
    it.error(f"next: {bad}", text, 7, "router", "next: {arcs: [{step: b}]}", "noetl migrate")
it.error("a router without arcs", arcs("[]").replace("arcs: []", "spec: {mode: inclusive}"), 7, "arcs")
it.error("arcs that are a mapping", arcs("{step: b}"), 7, "arcs", "list")
it.error("an arc that is a text", arcs("[b]"), 7, "arc", "mapping", "b")
it.error("an arc without step", arcs("[{when: '{{ true }}'}]"), 7, "step")
it.error("an arc to nowhere", arcs("[{step: finsh}]", extra="- {step: finish, tool: {kind: noop}}"), 7, "finsh", "'finish'",
      alone=False)
it.error("a misspelt when", arcs("[{step: b, wen: '{{ true }}'}]"), 7, "wen", "'when'")
it.error("do on an arc", arcs("[{step: b, do: continue}]"), 7, "do")
it.error("the mode", arcs("[{step: b}]", mode="both"), 7, "both", "exclusive", "inclusive")
it.warning("args of an arc", arcs("[{step: b, args: {k: 1}}]"), 7, "args", "ctx.b.k: 1")
it.warning("an unknown event", arcs("[{step: b, when: \"{{ event.name == 'step.dun' }}\"}, {step: c}]"), 7, "step.dun",
        "step.done", alone=False)
it.warning("an arc behind an unguarded one", arcs("[{step: b}, {step: c}]"), 7, "never", "must", alone=False)
it.warning("an arc that is never", arcs("[{step: b, when: false}, {step: c}]"), 7, "never", "must", alone=False)
it.warning("an unreachable step", doc(f"{NOOP}\n- {{step: b, tool: {{kind: noop}}}}"), 6, "'b'", "never", "must")
it.warning("a cycle without end", arcs("[{step: start}]"), 5, "must", "start -> start")
it.warning("a step no end can be reached from", arcs("[{step: b, when: '{{ workload.x }}'}, {step: c}]", extra="").replace(
        "{step: c, tool: {kind: noop}}", "{step: c, tool: {kind: noop}, next: {arcs: [{step: c}]}}"), 9, "must", "c -> c")
it.warning("tokens that multiply", arcs("[{step: start}, {step: b}]", mode="inclusive"), 5, "must", "without bound",
        alone=False)
it.clean("a guarded cycle", doc("- step: start\n  tool: {kind: noop, set: {ctx.n: 1}}\n"
      "  next: {arcs: [{step: start, when: '{{ ctx.n < 3 }}'}]}"))

# ---- 8. templates ---------------------------------------------------------------------------------------

it = Table("8 templates", ROWS)
for bad in ("ctx.x > 1", "1", "", "[a]", "'true'"):
    it.error(f"when: {bad}", arcs(f"[{{step: b, when: {bad}}}]"), 7, "when", "{{")
for good in ("true", "'{{ workload.a }}'", "'{% if workload.a %}true{% endif %}'"):
    it.clean(f"when: {good}", arcs(f"[{{step: b, when: {good}}}]"))
for bad, words in (
    ("{{ workload.x + }}", "does not parse"), ("{{ workload.x", "'}}'"), ("{% if workload.x %}a", "endif"),
    ("{{ workload.x | uper }}", "'upper'"), ("{{ workload.x is evn }}", "'even'"), ("{{ now() }}", "now"),
    ("{% include 'a' %}", "include"), ("{{ [1] | random }}", "pure"),
):
    it.error(bad, tool(f'{{kind: python, input: {{a: "{bad}", code: "result = a"}}}}'), 6, words, code="bad-template")
for name in ("tojson", "fromjson", "b64encode", "b64decode", "sha256", "urlencode", "to_datetime", "regex_search('a')",
             "regex_replace('a', 'b')", "sql_literal", "jmespath('a')", "default(1)"):
    it.clean(f"the filter {name}", tool(f'{{kind: python, input: {{a: "{{{{ workload.x | {name} }}}}", code: "result = a"}}}}'))
for place, text in (
    ("name", doc().replace("name: case", "name: '{{ x }}'")),
    ("kind", tool("{kind: '{{ x }}'}")),
    ("to", rules("[{else: {then: {do: jump, to: '{{ x }}'}}}]")),
    ("mode", loop("{in: [1], iterator: x, spec: {mode: '{{ x }}'}}")),
):
    it.error(f"no template in {place}", text, 3 if place == "name" else 6, place, "template")

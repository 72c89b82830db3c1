"""Tasks: kinds, inputs, hooks, rules and directives."""

from tests.acceptance.language.rows import Row, Table, doc, rules, tool

ROWS: list[Row] = []

# fmt: off
# ---- 4. tasks -------------------------------------------------------------------------------------------

it = Table("4 tasks", ROWS)
it.clean("unnamed tasks", tool("[{kind: noop}, {kind: noop}]"))
it.clean("python variables", tool("{kind: python, input: {code: 'result = a', a: 1}}"))
it.warning("a label map", tool("[{fetch: {kind: noop}}]"), 6, "fetch", "name: fetch")
it.warning("inputs beside kind", tool("{kind: http, url: x, method: GET}"), 6, "'url', 'method'", "input: {url: x")
it.warning("args of a task", tool("{kind: python, args: {n: 1}, input: {code: 'result = n'}}"), 6, "args", "input: {n: 1}")
it.error("two tasks of one name", tool("[{name: a, kind: noop}, {name: a, kind: noop}]"), 6, "duplicate", "'a'")
it.error("a name given by place", tool("[{name: task_1, kind: noop}, {kind: noop}]"), 6, "duplicate", "task_1")
it.error("an unknown kind", tool("{kind: htp, input: {url: x}}"), 6, "htp", "'http'", "postgres", "workbook")
it.error("a kind near to nothing", tool("{kind: zebra}"), 6, "zebra", "http", "python")
it.error("a kind that is a template", tool("{kind: '{{ workload.k }}'}"), 6, "kind", "template")
it.error("an unknown input", tool("{kind: http, input: {url: x, metod: GET}}"), 6, "metod", "'method'")
it.error("a missing input", tool("{kind: http, input: {method: GET}}"), 6, "url")
it.error("an input of the wrong type", tool("{kind: wait, input: {seconds: soon}}"), 6, "seconds", "soon", "a number")
it.error("an unknown action", tool("{kind: file, input: {action: move, path: a}}"), 6, "move", "read", "write")
it.error("code and script", tool("{kind: python, input: {code: 'result = 1', script: a.py}}"), 6, "code", "script")
it.error("neither code nor script", tool("{kind: python, input: {}}"), 6, "code", "script")
for kind in ("file", "object", "nats", "resolve", "secrets", "wait", "mcp", "quantum", "transfer", "shell", "http",
             "postgres", "duckdb", "sqlite"):
    it.error(f"an unknown input of {kind}", tool(f"{{kind: {kind}, input: {{zebra: 1}}}}"), 6, "zebra", alone=False)
it.error("an unknown task key", tool("{kind: noop, ouput: 1}"), 6, "ouput", "'output'")
it.error("when on a task", tool('{kind: noop, when: "{{ true }}"}'), 6, "when", "before")
it.error("next in a task", tool("{kind: noop, next: {arcs: []}}"), 6, "next", "step")
it.error("loop in a task", tool("{kind: noop, loop: {in: [1], iterator: x}}"), 6, "loop", "workbook")
it.error("do in a task", tool("{kind: noop, do: continue}"), 6, "do", "rules")
it.warning("braces in code", tool("{kind: python, input: {code: 'result = {{ workload.x }}'}}"), 6, "code", "never rendered")
it.warning("code that does not parse", tool("{kind: python, input: {code: 'result = ('}}"), 6, "parse")
for kind in ("postgres", "duckdb", "sqlite"):
    for key in ("query", "command"):
        text = f"{{kind: {kind}, input: {{{key}: \"select '{{{{ workload.x }}}}'\"}}}}"
        it.warning(f"interpolation in {kind} {key}", tool(text), 6, "workload.x", "params")
it.clean("a bound parameter", tool("{kind: sqlite, input: {query: 'select ?', params: ['{{ workload.x }}']}}"))
it.clean("a quoted literal", tool('{kind: sqlite, input: {query: "select {{ workload.x | sql_literal }}"}}'))

it = Table("4.1 hooks", ROWS)
it.clean("the five directives of before", tool("""[{name: a, kind: noop, spec: {policy: {before: [
      {when: '{{ workload.a }}', then: {do: skip}}, {when: '{{ workload.b }}', then: {do: break}},
      {when: '{{ workload.c }}', then: {do: jump, to: b}}, {when: '{{ workload.d }}', then: {do: fail, message: x}},
      {else: {do: continue}}]}}}, {name: b, kind: noop}]"""))
it.error("retry in before", tool("{kind: noop, spec: {policy: {before: [{else: {then: {do: retry}}}]}}}"), 6, "retry", "before")

it = Table("4.3 policy", ROWS)
ERROR = "when: \"{{ output.status == 'error' }}\""
LAST = "{else: {then: {do: continue}}}"
for shape in ("else: {then: {do: continue}}", "else: {do: continue}", "else: , then: {do: continue}"):
    it.clean(shape, rules(f"[{{{ERROR}, then: {{do: fail}}}}, {{{shape}}}]"))
it.clean("by_status needs no else", rules("[{when: '{{ output.http.status == 500 }}', then: {do: retry, attempts: 3}}]",
      "on_unmatched: by_status, "))
it.clean("every option of retry", rules(f"[{{{ERROR}, then: {{do: retry, attempts: 9, backoff: linear, delay: '2', "
      f"max_delay: 9, jitter: true, set: {{ctx.n: 1}}}}}}, {LAST}]"))
for delay in ("1.5", "'2'", "'Wed, 21 Oct 2026 07:28:00 GMT'", "\"{{ output.http.headers['retry-after'] }}\""):
    it.clean(f"delay {delay}", rules(f"[{{{ERROR}, then: {{do: retry, attempts: 3, delay: {delay}}}}}, {LAST}]"))
for bad in ("[a]", "text", "{}", "", "{on_unmatched: continue}"):
    it.error(f"policy {bad or 'nothing'}", tool(f"{{kind: noop, spec: {{policy: {bad}}}}}"), 6, "rules")
for bad in ("{a: 1}", "continue", ""):
    it.error(f"rules {bad or 'nothing'}", rules(bad), 6, "rules", "list")
it.error("a rule that is a text", rules("[continue]"), 6, "rule", "mapping")
it.error("no do", rules(f"[{{{ERROR}, then: {{attempts: 3}}}}, {LAST}]"), 6, "then.do")
it.error("do beside when", rules(f"[{{{ERROR}, do: retry, attempts: 3}}, {LAST}]"), 6, "then: {do: retry, attempts: 3}")
it.error("then is a text", rules(f"[{{{ERROR}, then: fail}}, {LAST}]"), 6, "then: {do: fail}")
it.error("an empty else", rules(f"[{{{ERROR}, then: {{do: fail}}}}, {{else: }}]"), 6, "else", "then")
it.error("an unknown directive", rules(f"[{{{ERROR}, then: {{do: retri}}}}, {LAST}]"), 6, "retri", "'retry'")
it.error("a misspelt do", rules(f"[{{{ERROR}, then: {{dо: retry}}}}, {LAST}]"), 6, "do")
for option, words in (("attempts: 0", "at least 1"), ("attempts: many", "integer"), ("backoff: expo", "exponential"),
                      ("delay: -1", "at least 0"), ("delay: soon", "seconds"), ("max_delay: x", "number"),
                      ("jitter: maybe", "true or false"), ("tries: 3", "attempts")):
    it.error(f"retry {option}", rules(f"[{{{ERROR}, then: {{do: retry, {option}}}}}, {LAST}]"), 6, words)
it.error("to without jump", rules(f"[{{{ERROR}, then: {{do: continue, to: a}}}}, {LAST}]"), 6, "to", "jump")
it.error("message without fail", rules(f"[{{{ERROR}, then: {{do: break, message: x}}}}, {LAST}]"), 6, "message", "fail")
it.error("jump without to", rules(f"[{{{ERROR}, then: {{do: jump}}}}, {LAST}]"), 6, "to")
it.error("jump to nowhere", rules(f"[{{{ERROR}, then: {{do: jump, to: fetch}}}}, {LAST}]"), 6, "fetch", "the tasks here are: a")
it.error("jump to a near name", tool("[{name: load, kind: noop}, {name: b, kind: noop, spec: {policy: {rules: ["
      "{when: '{{ workload.a }}', then: {do: jump, to: laod}}, {else: {then: {do: fail}}}]}}}]"), 6, "laod", "'load'")
it.error("jump to another step's task", doc("""
    - step: start
      tool: [{name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: bb}}}]}}}]
      next: {arcs: [{step: x}]}
    - {step: x, tool: [{name: bb, kind: noop}]}
"""), 6, "bb", "start")
it.error("set in a rule that is no target", rules("[{else: {then: {do: fail, set: {workload.x: 1}}}}]"), 6, "workload.x")
it.warning("an error that falls through", rules("[{when: '{{ output.http.status == 500 }}', then: {do: retry, attempts: 3}}]"),
        6, "else", "swallowed", "by_status")
it.warning("no else", rules(f"[{{{ERROR}, then: {{do: fail}}}}]"), 6, "else")
it.warning("retry without a cap", rules(f"[{{{ERROR}, then: {{do: retry}}}}, {LAST}]"), 6, "cap", "attempts: 3")
it.clean("else before a rule", rules(f"[{LAST}, {{{ERROR}, then: {{do: fail}}}}]"))
it.warning("backoff fixed", rules(f"[{{{ERROR}, then: {{do: retry, attempts: 3, backoff: fixed}}}}, {LAST}]"), 6, "backoff: none")
it.warning("compared with success", rules("[{when: \"{{ output.status == 'success' }}\", then: {do: continue}}, "
        "{else: {then: {do: fail}}}]"), 6, "success", "'ok'")
it.warning("a jump cycle without exit", tool("[{name: a, kind: noop}, {name: b, kind: noop, spec: {policy: {rules: "
        "[{else: {then: {do: jump, to: a}}}]}}}]"), 6, "must", "b -> a -> b")
it.warning("a task behind break", tool("[{name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}, "
        "{name: b, kind: noop}]"), 6, "'b'", "never")

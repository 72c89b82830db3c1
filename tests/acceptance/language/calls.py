"""The keychain, calls and sugar."""

from tests.acceptance.language.rows import SET, Row, Table, arcs, doc, loop, step, tool

ROWS: list[Row] = []

# fmt: off
# ---- 9. keychain ----------------------------------------------------------------------------------------

it = Table("9 keychain", ROWS)
KEYS = "keychain: [{name: tok, kind: env, env: TOKEN}]"
SECRET = "'{{ keychain.tok.value }}'"


def key(text: str) -> str:
    return doc(root=f"keychain: {text}")


it.clean("in a task's input and auth", tool(f"{{kind: http, auth: tok, input: {{url: x, headers: {{a: {SECRET}}}}}}}", KEYS))
for name, text, line in (
    ("step input", step(f"input: {{a: {SECRET}}}", SET, root=KEYS), 7),
    ("step set", step(f"set: {{ctx.a: {SECRET}}}", SET, root=KEYS), 7),
    ("step output", step(f"output: {SECRET}", SET, root=KEYS), 7),
    ("loop.in", loop(f"{{in: {SECRET}, iterator: x}}", root=KEYS), 7),
    ("task set", tool(f"{{kind: noop, set: {{ctx.a: {SECRET}}}}}", KEYS), 7),
    ("task output", tool(f"{{kind: noop, output: {SECRET}}}", KEYS), 7),
    ("before", tool(f"{{kind: noop, spec: {{policy: {{before: [{{when: {SECRET}, then: {{do: skip}}}}]}}}}}}", KEYS), 7),
    ("a rule's when", tool(f"{{kind: noop, spec: {{policy: {{rules: [{{when: {SECRET}, then: {{do: fail}}}}]}}}}}}", KEYS), 7),
    ("a rule's set", tool(
        f"{{kind: noop, spec: {{policy: {{rules: [{{else: {{then: {{do: fail, set: {{ctx.a: {SECRET}}}}}}}}}]}}}}}}", KEYS), 7),
    ("an arc's when", arcs(f"[{{step: b, when: {SECRET}}}]", root=KEYS), 8),
    ("an arc's set", arcs(f"[{{step: b, set: {{ctx.a: {SECRET}}}}}]", root=KEYS), 8),
    ("admission", step(
        f"spec: {{policy: {{admit: {{rules: [{{when: {SECRET}, then: {{allow: true}}}}]}}}}}}", SET, root=KEYS), 7),
    ("the input of a playbook", tool(f"{{kind: playbook, path: x, input: {{a: {SECRET}}}}}", KEYS), 7),
    ("the input of a block", tool(
        f"{{kind: workbook, block: b, input: {{a: {SECRET}}}}}", KEYS + "\nworkbook: {b: {tool: {kind: noop}}}"), 8),
):
    it.error(f"not in {name}", text, line, "keychain.tok.value", code="keychain-not-here")
it.error("a name that is not declared", tool("{kind: http, input: {url: x, headers: {a: '{{ keychain.tk.value }}'}}}", KEYS), 7,
      "tk", "'tok'")
it.error("no keychain at all", tool("{kind: http, input: {url: '{{ keychain.tk.value }}'}}"), 6, "tk", "keychain: [{name: tk")
it.warning("an auth that is not declared", tool("{kind: http, auth: tok, input: {url: x}}"), 6, "tok", "keychain: [{name: tok")
it.warning("a static secret", key("[{name: a, kind: static, value: secret}]"), 4, "static", "env")
it.error("a mapping", key("{tok: {kind: env}}"), 4, "keychain", "list")
it.error("no name", key("[{kind: env, env: A}]"), 4, "name")
it.error("no kind", key("[{name: a, env: A}]"), 4, "kind")
it.error("an unknown kind", key("[{name: a, kind: evn, env: A}]"), 4, "evn", "'env'", "oauth2")
it.error("two of one name", key("[{name: a, kind: env, env: A}, {name: a, kind: env, env: B}]"), 4, "duplicate")
it.error("an unknown key", key("[{name: a, kind: env, env: A, fiel: b}]"), 4, "fiel")
it.error("an unknown provider", key("[{name: a, kind: secret_manager, provider: safe}]"), 4, "safe", "vault")
for kind, source in (("env", "env"), ("file", "path"), ("credential", "credential"), ("bearer", "token"),
                     ("basic", "password"), ("api_key", "key"), ("oauth2", "token_url")):
    it.error(f"{kind} without a source", key(f"[{{name: a, kind: {kind}}}]"), 4, source)

# ---- 11. workbook and playbook --------------------------------------------------------------------------

it = Table("11 calls", ROWS)
BOOK = "workbook: {clean: {tool: {kind: noop}}}"
it.clean("by block", tool("{kind: workbook, block: clean}", BOOK))
it.clean("by name", tool("{name: clean, kind: workbook}", BOOK))
it.clean("a list of blocks", tool("{kind: workbook, block: clean}", "workbook: [{name: clean, tool: {kind: noop}}]"))
it.clean("a playbook", tool("{kind: playbook, path: a/b, version: 2, wait: false, input: {x: 1}}"))
it.clean("every key of a block", tool("{kind: workbook, block: b, input: {a: 2}}", """
    workbook:
      b:
        input: {a: 1}
        loop: {in: [1], iterator: x}
        tool: {kind: python, input: {a: "{{ input.a }}", p: "{{ iter.parent }}", code: result = a}}
        set: {ctx.done: true}
        output: "{{ output.data }}"
"""))
it.error("an unknown block", tool("{kind: workbook, block: claen}", BOOK), 7, "claen", "'clean'")
it.error("no such block", tool("{name: scrub, kind: workbook}"), 6, "scrub", "workbook")
it.error("a playbook without path", tool("{kind: playbook, input: {x: 1}}"), 6, "path")
it.error("a path inside input", tool("{kind: playbook, input: {path: a/b}}"), 6, "path", "beside")
it.error("a block without tool", doc(root="workbook: {b: {input: {}}}"), 4, "tool")
it.error("next in a block", doc(root="workbook: {b: {tool: {kind: noop}, next: {arcs: []}}}"), 4, "next")
it.error("a text as workbook", doc(root="workbook: hello"), 4, "workbook", "mapping")
it.warning("workbook.tasks", tool("{kind: workbook, block: clean}", "workbook: {tasks: {clean: {tool: {kind: noop}}}}"), 4,
        "tasks", "workbook: {clean:")
it.warning("a block that calls itself", tool("{kind: workbook, block: b}", "workbook: {b: {tool: {kind: workbook, block: b}}}"),
        4, "may", "b -> b")

# ---- 12. sugar ------------------------------------------------------------------------------------------

it = Table("12 sugar", ROWS)
BODY = "[{name: inner, kind: noop}]"
it.clean("while", tool(f"[{{name: w, while: {{when: '{{{{ workload.a }}}}', do: {BODY}, max: 10}}}}]"))
it.clean("until", tool(f"[{{name: u, until: {{when: '{{{{ output.data }}}}', do: {BODY}, delay: 2.0, max: 5}}}}]"))
it.clean("choose", tool(f"[{{name: c, choose: [{{when: '{{{{ workload.a }}}}', then: {BODY}}}, {{else: [{{kind: noop}}]}}]}}]"))
it.clean("nested", tool(f"[{{name: c, choose: [{{when: '{{{{ workload.a }}}}', then: [{{name: w, while: "
      f"{{when: '{{{{ workload.b }}}}', do: {BODY}}}}}]}}]}}]"))
PAGES = "request: {kind: http, input: {url: x}}, items: '{{ output.data.rows }}'"
for by in ("by: page, more: '{{ output.data.more }}'", "by: offset, size: 10", "by: link",
           "by: cursor, params: {cursor: c}, next: '{{ output.data.next }}'"):
    it.clean(f"paginate {by.partition(',')[0]}", tool(f"[{{name: p, paginate: {{{by}, {PAGES}, collect: true}}}}]"))
it.error("while without when", tool(f"[{{name: w, while: {{do: {BODY}}}}}]"), 6, "when")
it.error("while without do", tool("[{name: w, while: {when: '{{ workload.a }}'}}]"), 6, "do")
it.error("a guard without braces", tool(f"[{{name: w, while: {{when: workload.a, do: {BODY}}}}}]"), 6, "{{ workload.a }}")
it.error("max of nothing", tool(f"[{{name: w, while: {{when: '{{{{ workload.a }}}}', do: {BODY}, max: 0}}}}]"), 6, "at least 1")
it.error("a misspelt word", tool("[{name: w, whle: {when: true}}]"), 6, "whle", "'while'")
it.error("sugar and a kind", tool(f"[{{name: w, kind: noop, while: {{when: true, do: {BODY}}}}}]"), 6, "while", "kind")
it.error("choose that is a mapping", tool("[{name: c, choose: {when: true}}]"), 6, "choose", "list")
it.error("a branch that is one task", tool("[{name: c, choose: [{else: {kind: noop}}]}]"), 6, "else", "list of tasks")
it.clean("else first", tool(f"[{{name: c, choose: [{{else: {BODY}}}, {{when: '{{{{ workload.a }}}}', "
        "then: [{kind: noop}]}]}]"))
it.error("paginate by nothing known", tool(f"[{{name: p, paginate: {{by: pages, {PAGES}}}}}]"), 6, "pages", "'page'")
it.error("paginate without request", tool("[{name: p, paginate: {by: page}}]"), 6, "request")
it.error("a cursor without next", tool(f"[{{name: p, paginate: {{by: cursor, {PAGES}}}}}]"), 6, "next")
it.error("a jump into an item", tool(f"[{{name: w, while: {{when: '{{{{ workload.a }}}}', do: {BODY}}}}}, {{name: b, kind: noop, "
      "spec: {policy: {rules: [{when: '{{ workload.b }}', then: {do: jump, to: inner}}, {else: {then: {do: fail}}}]}}}]"), 6,
      "inner", "'w'")

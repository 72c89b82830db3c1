"""The document and its YAML."""

from tests.acceptance.language.rows import HEAD, Row, Table, doc, step, tool

ROWS: list[Row] = []

# fmt: off
# ---- 1. document ----------------------------------------------------------------------------------------

it = Table("1 document", ROWS)
it.clean("the smallest playbook", doc())
it.clean("every section", doc("- {step: start, tool: {kind: workbook, block: b}}", """
    keychain: [{name: tok, kind: env, env: TOKEN}]
    executor: {profile: auto, version: 1, requires: {tools: [noop]}, spec: {entry_step: start}}
    workload: {anything: {goes: [1, {here: true}]}}
    workbook: {b: {tool: {kind: noop}}}
"""))
it.clean("optional metadata", doc().replace("}\n", ", version: 2, description: d, labels: {a: b}, tags: [t]}\n", 1))
it.error("another apiVersion", doc().replace("io/v2", "io/v3"), 1, "noetl.io/v3", "noetl.io/v2")
it.error("an apiVersion that is a number", doc().replace("noetl.io/v2", "2"), 1, "noetl.io/v2")
it.error("no apiVersion", doc().partition("\n")[2], 1, "apiversion", "noetl.io/v2")
it.error("another kind", doc().replace("kind: Playbook", "kind: Workflow"), 2, "Workflow", "Playbook")
it.error("no kind", doc().replace("kind: Playbook\n", ""), 1, "kind", "Playbook")
it.error("no metadata", doc().replace("metadata: {name: case, path: cases/case}\n", ""), 1, "metadata", "name", "path")
it.error("metadata without name", doc().replace("name: case, ", ""), 3, "name")
it.error("metadata without path", doc().replace(", path: cases/case", ""), 3, "path")
it.error("metadata that is a list", doc().replace("{name: case, path: cases/case}", "[a]"), 3, "mapping", "list")
it.error("an unknown metadata key", doc().replace("name: case", "name: case, tgas: [a]"), 3, "tgas", "tags")
it.error("an unknown root key", doc(root="worklod: {a: 1}"), 4, "worklod", "workload")
it.error("a root key that is near to nothing", doc(root="zebra: 1"), 4, "zebra", "workbook")
it.error("root vars", doc(root="vars: {a: 1}"), 4, "vars", "workload: {a: 1}", "noetl migrate")
it.error("no workflow", HEAD, 1, "workflow")
it.error("an empty workflow", HEAD + "workflow: []\n", 4, "workflow")
it.error("a workflow that is a mapping", HEAD + "workflow: {step: a}\n", 4, "workflow", "list")
it.error("a step that is a text", HEAD + "workflow: [start]\n", 4, "mapping", "start")
it.error("a workload that is a list", doc(root="workload: [1]"), 4, "workload", "mapping")

it = Table("1 yaml", ROWS)
it.clean("words of YAML 1.1 stay texts", doc(root="workload: {no: no, on: on, at: 12:30, date: 2026-01-02}"))
it.clean("anchors and aliases", doc(root="workload: {a: &x {b: [1, 2]}, c: *x}"))
it.clean("a byte order mark", b"\xef\xbb\xbf" + doc().encode())
it.clean("Windows line ends", doc().replace("\n", "\r\n"))
it.clean("document marks", f"%YAML 1.2\n---\n{doc()}...\n")
it.error("a duplicate key", doc(root="workload:\n  a: 1\n  b: 2\n  a: 3"), 7, "'a'", "twice", "line 5")
it.error("a duplicate key that is quoted", doc(root="workload: {a: 1, 'a': 2}"), 4, "'a'", "twice")
it.error("a duplicate step key", step("tool: {kind: noop}", "tool: {kind: noop}"), 7, "tool")
it.error("a custom tag", doc(root="workload: {a: !secret x}"), 4, "tag", "!secret")
it.error("a standard tag", doc(root="workload: {a: !!binary aGk=}"), 4, "tag")
it.error("a merge key", doc(root="workload:\n  a: &x {b: 1}\n  c: {<<: *x}"), 6, "<<")
it.error("an alias of nothing", doc(root="workload: {a: *x}"), 4, "&x")
it.error("an alias of itself", doc(root="workload: &x {a: *x}"), 4, "*x")
it.error("two documents", doc() + "---\n" + doc(), 6, "second document")
it.error("a tab as indentation", HEAD + "workflow:\n\t- {step: a, tool: {kind: noop}}\n", 5, "tab")
it.error("a bracket that stays open", doc(root="workload: [1, 2"), 5, "']'")
it.error("a template without quotes", tool("{kind: python, input: {a: {{ workload.x }}, code: 'result = a'}}"), 6,
      "quote", "{{ workload.x }}")
it.error("a number as a key", doc(root="workload: {1: a}"), 4, "key", "text")
it.error("a number without end", doc(root="workload: {a: .inf}"), 4, ".inf")
it.error("an empty file", "", 1, "no playbook", code="yaml-empty")
it.error("nothing but comments", "# hello\n\n", 1, "no playbook")
it.error("a list", "- a\n", 1, "mapping", "list")
it.error("a text", "hello\n", 1, "mapping")
it.error("UTF-16", doc().encode("utf-16"), 1, "UTF-8")
it.error("Latin-1", doc(root="workload: {a: caf\xe9}").encode("latin-1"), 4, "UTF-8")
it.error("30,000 brackets", "a: " + "[" * 30_000 + "]" * 30_000 + "\n", 1, "deep", alone=False)
it.error("an alias bomb", "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)), 6, "aliases", alone=False)
it.error("a merge-key bomb", "a0: &a0 {k: 1}\n" + "".join(
    f"a{n}: &a{n}\n  <<: [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)), 3, "<<", alone=False)

"""Rules about what runs without complaint and does something else than its author means."""

import ast
import warnings
from collections.abc import Iterator

from noetl.dsl import error_kinds
from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.model import Task
from noetl.dsl.nearest import did_you_mean
from noetl.dsl.rules.bare_names import is_result
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.template_site import TemplateSite, leaves
from noetl.dsl.templates.reads import Path
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.yaml.tree import Map

TEMPLATE_IN_WORKLOAD = Code("template-in-workload", "warning", "A workload value holds a template")
OUTPUT_REPLACES_DATA = Code("output-replaces-data", "warning", "Options under output replace the data")
PYTHON_INPUT = Code("python-input", "warning", "A python input does something else than it seems")
UNKNOWN_ERROR_KIND = Code(
    "unknown-error-kind", "warning", "A guard asks for an error kind that no tool here has"
)

OPTIONS = frozenset({"output_select", "select", "store", "inline", "ttl", "scope", "compression"})


def template_in_workload(context: RuleContext) -> Iterator[Diagnostic]:
    """`workload` is data: what looks like a template in it stays a text."""
    workload = context.playbook.workload
    if not isinstance(workload, Map):
        return
    for key, value in workload.items():
        for text, mark in leaves(value, workload.at(key)):
            if is_template(text):
                message = (
                    f"'workload.{key}' holds a template, but workload is never rendered: it stays a text"
                )
                hint = f"compute it where it is used, or in a first step: set: {{ctx.{key}: …}}"
                yield TEMPLATE_IN_WORKLOAD.at(mark, message, hint)
                break


def output_replaces_data(context: RuleContext) -> Iterator[Diagnostic]:
    """`output` is the data itself, and takes no options."""
    for owner in context.owners:
        for holder in (owner, *owner.tasks):
            output = holder.output
            if isinstance(output, Map) and output and OPTIONS.issuperset(output):
                names = ", ".join(f"'{key}'" for key in output)
                message = f"'output' is what the data becomes, so the data is now a mapping of {names}"
                hint = 'pick what to keep: output: {name: "{{ output.data.name }}"}'
                yield OUTPUT_REPLACES_DATA.at(holder.node.at_key("output"), message, hint)


def python_input(context: RuleContext) -> Iterator[Diagnostic]:
    """`timeout` is the tool's own, and `libs` imports nothing."""
    for _, task in context.tasks:
        if task.kind == "python" and isinstance(task.input, Map):
            yield from _swallowed(task, task.input)


def _swallowed(task: Task, values: Map) -> Iterator[Diagnostic]:
    code = values.get("code")
    names = _names(code) if isinstance(code, str) and {"timeout", "libs"} & values.keys() else frozenset()
    if "timeout" in values and "timeout" in names:
        own = "which is the tool's own: seconds until it is killed"
        message = f"the code of task '{task.label}' reads 'timeout', {own}"
        yield PYTHON_INPUT.at(values.at_key("timeout"), message, "pass the value under another name")
    if "libs" in values and "libs" not in names:
        message = f"'libs' of task '{task.label}' imports nothing: it is a variable of the code"
        yield PYTHON_INPUT.at(values.at_key("libs"), message, "write import lines in the code")


def _names(code: str) -> frozenset[str]:
    """The names that code reads, or takes as arguments; none when it does not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return frozenset()
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(read | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)})


def unknown_error_kind(context: RuleContext) -> Iterator[Diagnostic]:
    """An error kind that a guard asks for is one that can come."""
    for site in context.sites:
        for path, kind in site.facts.comparisons:
            if path[-2:] == ("error", "kind") and isinstance(kind, str) and _is_error(context, site, path):
                yield from _error_kind(site, site.mark, ".".join(path), kind)


def _is_error(context: RuleContext, site: TemplateSite, path: Path) -> bool:
    return path[0] == "event" or is_result(context, site, path[0])


def _error_kind(site: TemplateSite, mark: Mark, read: str, kind: str) -> Iterator[Diagnostic]:
    tools = {task.kind for task in site.owner.all_tasks} if site.owner is not None else set()
    if not tools <= error_kinds.OWN_KINDS:  # a kind of somebody else's has errors of its own
        return
    if kind not in error_kinds.ALL:
        hint = did_you_mean(kind, error_kinds.ALL, "docs/reference/error-kinds.md lists the kinds")
        if kind in error_kinds.ELSEWHERE:
            hint = f"write: {error_kinds.ELSEWHERE[kind]}"
        yield UNKNOWN_ERROR_KIND.at(mark, f"'{read}' is compared with '{kind}', which no error is", hint)
        return
    needs = error_kinds.ONLY.get(kind)
    if read.startswith("output.") and needs and tools and not tools & {needs, "workbook", "playbook"}:
        message = f"'{read}' is compared with '{kind}', but no task here is of kind '{needs}'"
        yield UNKNOWN_ERROR_KIND.at(mark, message, f"the tasks here are of kind {', '.join(sorted(tools))}")


RULES = (template_in_workload, output_replaces_data, python_input, unknown_error_kind)

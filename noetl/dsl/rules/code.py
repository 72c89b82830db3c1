"""Rules about texts that are not templates but programs: Python code and SQL."""

import ast
import warnings
from collections.abc import Iterator

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.nearest import did_you_mean
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.template_site import leaves
from noetl.dsl.templates.facts import joined_pieces, pieces
from noetl.dsl.templates.syntax import is_template, is_whole
from noetl.dsl.yaml.tree import Map

TEMPLATE_IN_CODE = Code("template-in-code", "warning", "Code holds what looks like a template")
PYTHON_SYNTAX = Code("python-syntax", "warning", "Python code does not parse")
PYTHON_PARAMETERS = Code("python-parameters", "warning", "A function main takes what it is not given")
SQL_INTERPOLATION = Code("sql-interpolation", "warning", "A value is put into SQL text")

SAFE_FILTER = "sql_literal"
OWN_INPUTS = ("code", "script", "timeout")  # of the kind python, and no variables of the code
ENGINES = ("claim.number", "claim.batch", "claim.key")  # made by the engine of letters and digits


def _inputs(context: RuleContext, which: str) -> Iterator[tuple[str, str, str, Mark]]:
    """The texts of some inputs of every task: label, kind, text, place. `which` is a field of Kind."""
    for _, task in context.tasks:
        for key in getattr(context.kinds.get(task.kind), which, ()):
            where = task.input.at(key) if isinstance(task.input, Map) else task.node.at("input")
            for text, mark in leaves(task.input.get(key), where):
                yield task.label, task.kind, text, mark


def template_in_code(context: RuleContext) -> Iterator[Diagnostic]:
    """Code is never rendered, so it holds no templates."""
    for label, _, text, mark in _inputs(context, "untemplated"):
        if "{{" in text:
            message = f"the code of task '{label}' holds '{{{{', but code is never rendered"
            hint = 'pass the value as input: {x: "{{ … }}"} and use x in the code'
            yield TEMPLATE_IN_CODE.at(mark, message, hint)


def python_syntax(context: RuleContext) -> Iterator[Diagnostic]:
    """Python code parses."""
    for label, kind, text, mark in _inputs(context, "untemplated"):
        problem = _problem(text) if kind == "python" and "{{" not in text else None
        if problem:
            yield PYTHON_SYNTAX.at(mark, f"the code of task '{label}' does not parse: {problem}")


def _needed(code: str) -> list[str]:
    """The parameters without a default of the `main` that code calls; none where that cannot be known."""
    if "def main(" not in code or "globals" in code:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    mains = [node for node in tree.body if isinstance(node, functions) and node.name == "main"]
    if len(mains) != 1 or mains[0].decorator_list or not {"main", "result"}.isdisjoint(_bound(tree)):
        return []
    taken = mains[0].args
    first = [*taken.posonlyargs, *taken.args]
    first = first[: len(first) - len(taken.defaults)]
    named = [each for each, value in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if value is None]
    return [each.arg for each in (*first, *named)]


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names that code binds by itself, but for those of its functions and classes."""
    open_nodes: list[ast.AST] = [tree]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Global):
            yield from node.names
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda)
        open_nodes += (
            [each for each in ast.walk(node) if isinstance(each, ast.Global)]
            if inside
            else ast.iter_child_nodes(node)
        )


def _problem(code: str) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(code, "code", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            reason = str(getattr(error, "msg", error)).partition(";")[0]
            line = getattr(error, "lineno", None)
            return f"{reason} at line {line} of it" if line else reason
        except (RecursionError, MemoryError):
            return "it is nested too deeply"
    return None


def python_parameters(context: RuleContext) -> Iterator[Diagnostic]:
    """The function `main` of Python code is given every parameter that it needs."""
    for _, task in context.tasks:
        code = task.input.get("code") if task.kind == "python" and task.whole_input is None else None
        there = [name for name in task.input if name not in OWN_INPUTS]
        missing = [name for name in _needed(code) if name not in there] if isinstance(code, str) else []
        if missing and isinstance(task.input, Map):
            given, names = ", ".join(there) or "nothing", ", ".join(missing)
            message = f"'main' of task '{task.label}' takes {names}, and its input gives it {given}"
            hint = f"add it: input: {{{missing[0]}: …}}, or take it out of 'main'"
            yield PYTHON_PARAMETERS.at(task.input.at("code"), message, did_you_mean(missing[0], there, hint))


def sql_interpolation(context: RuleContext) -> Iterator[Diagnostic]:
    """Values reach SQL as bound parameters, not as text."""
    for label, _, text, mark in _inputs(context, "sql_text"):
        if not is_template(text):
            continue
        put_in = joined_pieces(text) if is_whole(text) else pieces(text)
        unsafe = next((name for last, name in put_in if last != SAFE_FILTER and name not in ENGINES), None)
        if unsafe is not None:
            message = f"the SQL of task '{label}' has '{unsafe}' put into its text, where it can become code"
            hint = "bind it: write a placeholder and params, or put it through | sql_literal"
            yield SQL_INTERPOLATION.at(mark, message, hint)


RULES = (template_in_code, python_syntax, python_parameters, sql_interpolation)

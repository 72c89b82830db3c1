"""Templates: the only Jinja environment, texts compiled once, and values with templates in them.

A text that is exactly one `{{ … }}` gives the value of the expression with its type; any other text with
template marks gives text. Nothing here knows what a playbook is. How a template computes is in rendering/.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

import jinja2
from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError, UndefinedError

from noetl.dsl.templates.environment import SealedEnvironment
from noetl.dsl.templates.fast import fast_expression, fast_text
from noetl.dsl.templates.fast_operations import PLAIN, Deopt
from noetl.dsl.templates.filters import FILTERS, TESTS
from noetl.dsl.templates.limits import (
    BRACKETS,
    RESULT_NODES,
    SOURCE_CHARS,
    Budget,
    TemplateError,
    refuse_long,
)
from noetl.dsl.templates.lowering import RESULT, lower_expression, lower_text
from noetl.dsl.templates.operators import GLOBALS, RunContext
from noetl.dsl.templates.reads import Path, Problem, Reading, problems, reading
from noetl.dsl.templates.values import Envelope, member, to_json, truth_of
from noetl.dsl.yaml.one_line import seen
from noetl.dsl.yaml.tree import Value, plain

__all__ = [
    "FILTERS",
    "GLOBALS",
    "TESTS",
    "CompiledValue",
    "Envelope",
    "Template",
    "TemplateError",
    "Token",
    "check",
    "compile_template",
    "compile_value",
    "is_template",
    "is_whole",
    "member",
    "only_expression",
    "syntax_tree",
    "tokens",
    "truth_of",
]

TREES_KEPT = 32_768
TEMPLATES_KEPT = 8192
SHOWN_CHARS = 80
_WORD = r"[a-zA-Z_][a-zA-Z_0-9]*"
_PLAIN_PATH = re.compile(
    rf"\{{\{{ ((?!(?:and|else|[fF]alse|if|in|is|[nN]one|not|or|[tT]rue)\b){_WORD}(?:\.{_WORD})*) \}}\}}"
)
_MARK = re.compile(r"\{[{%#]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_READ_ESCAPES = frozenset("\n\\'\"nrtxNuU")
_JINJA_WORDS: Final = {
    "'end of print statement'": "'}}'",
    "'end of statement block'": "'%}'",
    "Jinja was looking for the following tags:": "it lacks",
    "The innermost block that needs to be closed is": "to close",
}

# What Python and Jinja raise when an author's expression does not fit its values.
_AUTHORS_MISTAKES = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
    MemoryError,
)


ENVIRONMENT: Final = SealedEnvironment()


# ---- reading a template ---------------------------------------------------------------------------------


def is_template(text: str) -> bool:
    """Whether a text has template marks; any other text stands for itself, whatever its size."""
    return _MARK.search(text) is not None


class Token(NamedTuple):
    """One token of a template: its kind, its text and where it starts."""

    kind: str
    text: str
    start: int


def tokens(text: str) -> list[Token]:
    """The tokens of a template, white space inside tags included; an error when it cannot be split."""
    # Jinja makes every line break one character; this keeps positions in the text as it was written.
    source = text.replace("\r\n", " \n").replace("\r", "\n")
    found = []
    position = 0
    try:
        for _, kind, value in ENVIRONMENT.lex(source):
            start = source.index(value, position)
            position = start + len(value)
            found.append(Token(kind, text[start:position], start))
    except TemplateSyntaxError as error:
        raise _syntax_error(error, text) from None
    return found


def syntax_tree(text: str) -> nodes.Template | None:
    """The parsed form of a template, to look at and not to change; None when it does not parse."""
    return _parsed(text)[0]


def check(text: str) -> list[Problem]:
    """Everything that is wrong with a template before it is run: what, and what to do about it."""
    return list(_parsed(text)[1])


@lru_cache(TREES_KEPT)
def _parsed(text: str) -> tuple[nodes.Template | None, tuple[Problem, ...], int]:
    """A template's nodes, its problems, and the line of the first one where that is known."""
    try:
        tree = _parse(text)
    except TemplateError as error:
        return None, ((error.message, error.hint),), error.line_offset
    return tree, problems(tree), 0


def _parse(text: str) -> nodes.Template:
    if len(text) > SOURCE_CHARS:
        raise TemplateError(
            f"the template has {len(text):,} characters, at most {SOURCE_CHARS:,} are allowed",
            hint="keep long text in a file or a workload value, and only short templates in the playbook",
        )
    if plain := _PLAIN_PATH.fullmatch(text):
        return _path_tree(plain[1].split("."))
    _check_brackets(text)
    try:
        return ENVIRONMENT.parse(_keep_backslashes(text))
    except TemplateSyntaxError as error:
        raise _syntax_error(error, text) from None
    except (RecursionError, MemoryError):
        raise TemplateError("the expression is nested too deeply", hint="split it") from None
    except ValueError as error:
        raise TemplateError(f"the template does not parse: {error}") from None


def _path_tree(keys: list[str]) -> nodes.Template:
    """What Jinja's parser gives for a plain path: most templates are one, and parsing is most of reading."""
    node: nodes.Expr = nodes.Name(keys[0], "load", lineno=1)
    for key in keys[1:]:
        node = nodes.Getattr(node, key, "load", lineno=1)
    return nodes.Template([nodes.Output([node], lineno=1)], lineno=1)


def _check_brackets(text: str) -> None:
    """The parser descends for each bracket, so their depth is bounded before it starts."""
    if sum(map(text.count, "([{")) <= BRACKETS:
        return
    depth = 0
    for token in tokens(text):
        if token.kind == "operator" and token.text in ("(", "[", "{"):
            depth += 1
        elif token.kind == "operator" and token.text in (")", "]", "}"):
            depth -= 1
        if depth > BRACKETS:
            message = f"brackets are nested deeper than {BRACKETS} levels"
            raise TemplateError(message, hint="split the expression")


def _keep_backslashes(text: str) -> str:
    """Only the escapes a text needs are read as such, so that '\\d' and '\\1' in a pattern need no care."""
    if "\\" not in text:
        return text
    for token in reversed(tokens(text)):
        if token.kind == "string":
            end = token.start + len(token.text)
            text = text[: token.start] + _ESCAPE.sub(_doubled, token.text) + text[end:]
    return text


def _doubled(escape: re.Match[str]) -> str:
    return escape[0] if escape[1] in _READ_ESCAPES else f"\\{escape[0]}"


def _syntax_error(error: TemplateSyntaxError, text: str) -> TemplateError:
    reason = str(error.message)
    for said, meant in _JINJA_WORDS.items():
        reason = reason.replace(said, meant)
    reason = f"{reason[:1].lower()}{reason[1:]}".removesuffix(".")
    return TemplateError(f"the template {seen(text)} does not parse: {reason}", line_offset=error.lineno - 1)


def is_whole(text: str) -> bool:
    """Whether a text is exactly one `{{ … }}`, so that it gives a value with its type."""
    tree = syntax_tree(text) if is_template(text) else None
    return tree is not None and only_expression(text, tree) is not None


def only_expression(text: str, tree: nodes.Template) -> nodes.Expr | None:
    """The expression of a text that is exactly one `{{ … }}`, the line break that ends a block aside."""
    if not (text.startswith("{{") and text.removesuffix("\n").endswith("}}")):
        return None
    match tree.body:
        case [nodes.Output(nodes=[expression])] if not isinstance(expression, nodes.TemplateData):
            return expression
        case [nodes.Output(nodes=[expression, nodes.TemplateData(data="\n")])]:
            return expression
        case _:
            return None


# ---- one template ---------------------------------------------------------------------------------------

Scope = Mapping[str, Value]
T = TypeVar("T")


class Template:
    """A text that was compiled: what it reads, and how it is rendered. Safe to share between threads."""

    __slots__ = ("_compiled", "_fast", "names", "native", "paths", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._compiled: jinja2.Template | None = None
        if not is_template(text):
            self._fast: Callable[[Scope], Value] | None = lambda scope: text
            self.native, self.names, self.paths = False, _NOTHING.names, _NOTHING.paths
            return
        tree = _sound_tree(text)
        read = reading(tree)
        expression = only_expression(text, tree)
        self.native, self.names, self.paths = expression is not None, read.names, read.paths
        self._fast = fast_expression(expression) if expression else fast_text(tree)

    def render(self, scope: Scope) -> Value:
        """The value of the template; an error when it is missing or holds what JSON has no word for."""
        if self._fast is not None:
            try:
                value = self._fast(scope)
            except Deopt:
                pass
            else:
                if type(value) in PLAIN:
                    return value
        return self.render_compiled(scope)

    def truth(self, scope: Scope) -> bool:
        """Whether the template holds as a guard; a missing value does not."""
        if self._fast is not None:
            try:
                return truth_of(self._fast(scope))
            except Deopt:
                pass
        return self._guarded(lambda: truth_of(self._compute(scope, strict=False)))

    def render_compiled(self, scope: Scope) -> Value:
        """The same as render, by way of Jinja for every template."""
        return self._guarded(lambda: to_json(self._compute(scope, strict=True), Budget(RESULT_NODES)))

    def _compute(self, scope: Scope, *, strict: bool) -> Value:
        compiled = self._compiled or self._compile()
        context = compiled.new_context({name: scope[name] for name in self.names if name in scope})
        assert isinstance(context, RunContext)
        context.strict = strict
        parts = []
        size = 0
        for part in compiled.root_render_func(context):
            size += len(part)
            refuse_long(size)
            parts.append(part)
        return context.vars[RESULT] if self.native else "".join(parts)

    def _compile(self) -> jinja2.Template:
        """Jinja's compiled form; made when first needed, since most templates never do."""
        tree = _parse(self.text)
        expression = only_expression(self.text, tree)
        lowered = lower_expression(expression) if expression else lower_text(tree)
        lowered.set_environment(ENVIRONMENT)
        self._compiled = ENVIRONMENT.from_string(lowered)
        return self._compiled

    def _guarded(self, compute: Callable[[], T]) -> T:
        """What an author's mistake raises, as our error."""
        try:
            return compute()
        except UndefinedError as error:
            raise TemplateError(error.message or "a value is missing") from None
        except (RecursionError, MemoryError):
            raise TemplateError(f"{self._shown} nests its values too deeply") from None
        except _AUTHORS_MISTAKES as error:
            raise TemplateError(f"{self._shown} cannot be computed: {error}") from None

    @property
    def _shown(self) -> str:
        text = " ".join(self.text.split())
        return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 3]}..."


_NOTHING: Final = Reading()


def _sound_tree(text: str) -> nodes.Template:
    tree, found, line_offset = _parsed(text)
    if tree is None or found:
        message, hint = found[0]
        raise TemplateError(message, hint=hint, line_offset=line_offset)
    return tree


@lru_cache(TEMPLATES_KEPT)
def compile_template(text: str) -> Template:
    """The compiled form of a text, the same object for the same text; an error when it cannot be used."""
    return Template(text)


# ---- values with templates in them ----------------------------------------------------------------------


class CompiledValue:
    """A value of a playbook with its templates compiled. What it gives is shared: not to be changed."""

    __slots__ = ("_run", "names", "paths", "static", "value")

    def __init__(self, value: Value, where: tuple[str | int, ...] = ()) -> None:
        self.value = plain(value)
        self.names: frozenset[str] = frozenset()
        self.paths: frozenset[Path] = frozenset()
        self.static = True
        self._run: Callable[[Scope], Value] = lambda scope: self.value
        if isinstance(value, str) and is_template(value):
            self._take(compile_template(value), where)
        elif isinstance(value, dict):
            self._join([CompiledValue(item, (*where, key)) for key, item in value.items()])
        elif isinstance(value, list):
            self._join([CompiledValue(item, (*where, index)) for index, item in enumerate(value)])

    def render(self, scope: Scope) -> Value:
        """The value with every template rendered; an error names the place and the path that is missing."""
        return self._run(scope)

    def truth(self, scope: Scope) -> bool:
        """Whether the value holds as a guard: a boolean, or the text of a template."""
        if self.static:
            return truth_of(self.value)
        return compile_template(self.value).truth(scope) if isinstance(self.value, str) else bool(self.value)

    def _take(self, template: Template, where: tuple[str | int, ...]) -> None:
        def run(scope: Scope) -> Value:
            try:
                return template.render(scope)
            except TemplateError as error:
                raise error.at(where) from None

        self.static, self.names, self.paths = False, template.names, template.paths
        self._run = run if where else template.render

    def _join(self, parts: list["CompiledValue"]) -> None:
        if all(part.static for part in parts):
            return
        runs = [part._run for part in parts]
        self.static = False
        self.names = frozenset().union(*(part.names for part in parts))
        self.paths = frozenset().union(*(part.paths for part in parts))
        if isinstance(self.value, dict):
            entries = list(zip(self.value, runs, strict=True))
            self._run = lambda scope: {key: run(scope) for key, run in entries}
        else:
            self._run = lambda scope: [run(scope) for run in runs]


def compile_value(value: Value) -> CompiledValue:
    """A whole tree of values with its templates compiled; keys are not templates."""
    return CompiledValue(value)

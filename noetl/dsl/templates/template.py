"""Templates compiled once, and values with templates in them.

A text that is exactly one `{{ … }}` gives the value of the expression with its type; any other text with
template marks gives text. Nothing here knows what a playbook is.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

import jinja2
from jinja2.exceptions import UndefinedError

from noetl.dsl.templates.fast import fast_expression, fast_text
from noetl.dsl.templates.fast_operations import PLAIN, Deopt
from noetl.dsl.templates.limits import RESULT_NODES, Budget, TemplateError, refuse_long
from noetl.dsl.templates.lowering import RESULT, lower_expression, lower_text
from noetl.dsl.templates.operators import RunContext
from noetl.dsl.templates.reads import Path, paths_read
from noetl.dsl.templates.syntax import ENVIRONMENT, is_template, only_expression, parse, sound_tree
from noetl.dsl.templates.values import to_json, truth_of
from noetl.dsl.yaml.one_line import shortened
from noetl.dsl.yaml.tree import Value, plain

TEMPLATES_KEPT = 8192
SHOWN_CHARS = 80

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
            self.native, self.paths, self.names = False, frozenset[Path](), frozenset[str]()
            return
        tree = sound_tree(text)
        expression = only_expression(text, tree)
        self.native, self.paths = expression is not None, paths_read(tree)
        self.names = frozenset(path[0] for path in self.paths)
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
        tree = parse(self.text)
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
            raise TemplateError(f"{self._excerpt} nests its values too deeply") from None
        except _AUTHORS_MISTAKES as error:
            raise TemplateError(f"{self._excerpt} cannot be computed: {error}") from None

    @property
    def _excerpt(self) -> str:
        return shortened(" ".join(self.text.split()), SHOWN_CHARS)


@lru_cache(TEMPLATES_KEPT)
def compile_template(text: str) -> Template:
    """The compiled form of a text, the same object for the same text; an error when it cannot be used."""
    return Template(text)


# ---- values with templates in them ----------------------------------------------------------------------


class CompiledValue:
    """A value of a playbook with its templates compiled. What it gives is shared: not to be changed."""

    __slots__ = ("_run", "names", "paths", "secrets", "static", "value")

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
        self.secrets = frozenset(path[1] for path in self.paths if path[0] == "keychain" and len(path) > 1)

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
        self.static = False
        self.names = frozenset().union(*(part.names for part in parts))
        self.paths = frozenset().union(*(part.paths for part in parts))
        if isinstance(self.value, dict):
            entries = list(zip(self.value, parts, strict=True))
            rendered = [(key, part._run) for key, part in entries if not part.static]
            self._run = lambda scope: self.value | {key: run(scope) for key, run in rendered}
        else:
            runs = [part._run for part in parts]
            self._run = lambda scope: [run(scope) for run in runs]


def compile_value(value: Value) -> CompiledValue:
    """A whole tree of values with its templates compiled; keys are not templates."""
    return CompiledValue(value)

"""The text of a template and its parsed form: tokens, nodes, and whether it is one expression and no more.

Everything that looks into a template starts here, so that all of it sees the same nodes.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError

from noetl.dsl.templates.environment import SealedEnvironment
from noetl.dsl.templates.limits import BRACKETS, SOURCE_CHARS, TemplateError
from noetl.dsl.templates.problems import Problem, problems
from noetl.dsl.yaml.one_line import seen

TREES_KEPT = 32_768
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

ENVIRONMENT: Final = SealedEnvironment()


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
    split = []
    position = 0
    try:
        for _, kind, value in ENVIRONMENT.lex(source):
            start = source.index(value, position)
            position = start + len(value)
            split.append(Token(kind, text[start:position], start))
    except TemplateSyntaxError as error:
        raise _syntax_error(error, text) from None
    return split


def syntax_tree(text: str) -> nodes.Template | None:
    """The parsed form of a template, to look at and not to change; None when it does not parse."""
    return _parsed(text)[0]


def template_problems(text: str) -> list[Problem]:
    """Everything that is wrong with a template before it is run: what, and what to do about it."""
    return list(_parsed(text)[1])


@lru_cache(TREES_KEPT)
def _parsed(text: str) -> tuple[nodes.Template | None, tuple[Problem, ...], int]:
    """A template's nodes, its problems, and the line of the first one where that is known."""
    try:
        tree = parse(text)
    except TemplateError as error:
        return None, ((error.message, error.hint),), error.line_offset
    return tree, problems(tree), 0


def parse(text: str) -> nodes.Template:
    """A fresh tree of a template, which the caller may change; an error when it does not parse."""
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
    for jinja_words, meant in _JINJA_WORDS.items():
        reason = reason.replace(jinja_words, meant)
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


def sound_tree(text: str) -> nodes.Template:
    """The parsed form of a template that may be run; an error for any other."""
    tree, wrong, line_offset = _parsed(text)
    if tree is None or wrong:
        message, hint = wrong[0]
        raise TemplateError(message, hint=hint, line_offset=line_offset)
    return tree

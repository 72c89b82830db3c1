"""Older spellings inside a template's text, replaced by the words of the language; the rest stays as it was.

Works on tokens, so that literals, filters, attributes of other values, text outside tags and white space are
never touched. A text that is no template, or that cannot be split into tokens, comes back unchanged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from jinja2 import nodes

from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.syntax import Token, is_template, syntax_tree, tokens

DONE: Final = ("step.done", "loop.done")
EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "call.done": DONE,
    "step.exit": DONE,
    "call.error": ("step.failed",),
}
_SCOPES = frozenset({"args", "ctx", "event", "input", "iter", "keychain", "step", "workload"})
_BINDING = ("~", "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", ">", "<=", ">=")


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a text and what replaces it."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Access:
    """One `.name` or `['name']` behind a value: its name, where it ends, and where the bare name stands."""

    name: str
    end: int
    name_start: int
    name_end: int


class _Tokens:
    """The tokens inside the tags of a template, without white space; a tag ends with a token of its own."""

    def __init__(self, text: str) -> None:
        hidden = ("whitespace", "data", "comment_begin", "comment", "comment_end")
        self.all = [token for token in tokens(text) if token.kind not in hidden]

    def at(self, position: int) -> Token:
        """A token, or an empty one beyond either end."""
        return self.all[position] if 0 <= position < len(self.all) else Token("end", "", 0)

    def is_operator(self, position: int, *signs: str) -> bool:
        """Whether one of these operators stands there."""
        token = self.at(position)
        return token.kind == "operator" and token.text in signs

    def is_name(self, position: int, *names: str) -> bool:
        """Whether one of these words stands there."""
        token = self.at(position)
        return token.kind == "name" and token.text in names

    def roots(self, name: str) -> Iterator[int]:
        """Where a name stands for a value from outside: no attribute, filter, test or argument."""
        bound = False
        for position in range(len(self.all)):
            if not self.is_name(position, name):
                continue
            bound = bound or self.is_name(position - 1, "set", "for")
            before = self.is_operator(position - 1, ".", "|") or self.is_name(position - 1, "is")
            tested = self.is_name(position - 1, "not") and self.is_name(position - 2, "is")
            argument = self.is_operator(position + 1, "=")
            if not (bound or before or tested or argument):
                yield position

    def stands_alone(self, first: int, last: int) -> bool:
        """Whether nothing next to these tokens belongs to the same comparison or operand."""
        before = not self.is_operator(first - 1, *_BINDING) and not self.is_operator(first - 1, ".")
        after = not self.is_operator(last + 1, *_BINDING, ".", "[", "(", "|") and not self.is_name(
            last + 1, "is"
        )
        return before and after

    def accesses(self, position: int) -> tuple[list[Access], int]:
        """The constant members read from the value at a position, and the position after them."""
        found = []
        position += 1
        while access := self._access(position):
            found.append(access)
            position += 2 if self.is_operator(position, ".") else 3
        return found, position

    def _access(self, position: int) -> Access | None:
        middle, closing = self.at(position + 1), self.at(position + 2)
        if self.is_operator(position, ".") and middle.kind == "name":
            end = middle.start + len(middle.text)
            return Access(middle.text, end, middle.start, end)
        if (
            self.is_operator(position, "[")
            and middle.kind == "string"
            and self.is_operator(position + 2, "]")
        ):
            inner = middle.start + 1, middle.start + len(middle.text) - 1
            return Access(middle.text[1:-1], closing.start + 1, *inner)
        return None


def respell_output(text: str) -> str:
    """`outcome` as `output`, its `result` as `data` and its `result_ref` as `ref`."""
    found = _tokens_with(text, "outcome")
    if found is None:
        return text
    edits = []
    for position in found.roots("outcome"):
        root = found.at(position)
        edits.append(_replacing(root, "output"))
        edits += _result_edits(root.start + len(root.text), found.accesses(position)[0])
    return _edited(text, edits)


def _result_edits(root_end: int, accesses: list[Access]) -> Iterator[Edit]:
    match accesses:
        case [Access(name="result") as first, Access(name="data"), *_]:
            yield Edit(root_end, first.end, "")
        case [Access(name="result") as first, *_]:
            yield Edit(first.name_start, first.name_end, "data")
        case [Access(name="result_ref") as first, *_]:
            yield Edit(first.name_start, first.name_end, "ref")
        case _:
            return


def rename_root(text: str, old: str, new: str) -> str:
    """A name that stands for a value from outside under another name, as `args` that becomes `input`."""
    found = _tokens_with(text, old)
    if found is None:
        return text
    return _edited(text, [_replacing(found.at(position), new) for position in found.roots(old)])


# ---- event names ----------------------------------------------------------------------------------------


def respell_event(text: str) -> str:
    """Older event names that `event.name` is compared with, as the names of today."""
    found = _tokens_with(text, *EVENTS)
    if found is None:
        return text
    edits: list[Edit] = []
    for position in found.roots("event"):
        accesses, after = found.accesses(position)
        if [access.name for access in accesses] == ["name"]:
            edits += _event_edits(text, found, position, after)
    return _edited(text, edits)


def _event_edits(text: str, found: _Tokens, first: int, after: int) -> Iterator[Edit]:
    if found.is_operator(after, "==", "!=") and found.at(after + 1).kind == "string":
        if found.stands_alone(first, after + 1):
            yield from _comparison(text, found.at(after), found.at(after + 1))
    elif found.is_operator(first - 1, "==", "!=") and found.at(first - 2).kind == "string":
        if found.stands_alone(first - 2, after - 1):
            yield from _reversed_comparison(text, found, first, after)
    elif found.is_name(after, "in"):
        yield from _membership(found, after + 1)
    elif found.is_name(after, "not") and found.is_name(after + 1, "in"):
        yield from _membership(found, after + 2)


def _comparison(text: str, sign: Token, literal: Token) -> Iterator[Edit]:
    names = EVENTS.get(_unquoted(literal))
    if names is None:
        return
    if len(names) > 1:
        before = "" if text[sign.start - 1].isspace() else " "
        after = "" if text[sign.start + len(sign.text)].isspace() else " "
        yield _replacing(sign, f"{before}{_membership_sign(sign)}{after}")
    yield _replacing(literal, _literal(names, literal))


def _reversed_comparison(text: str, found: _Tokens, first: int, after: int) -> Iterator[Edit]:
    literal, sign, last = found.at(first - 2), found.at(first - 1), found.at(after - 1)
    names = EVENTS.get(_unquoted(literal))
    if names is None:
        return
    if len(names) == 1:
        yield _replacing(literal, _literal(names, literal))
        return
    start, end = found.at(first).start, last.start + len(last.text)
    whole = f"{text[start:end]} {_membership_sign(sign)} {_literal(names, literal)}"
    yield Edit(literal.start, end, whole)


def _membership(found: _Tokens, opening: int) -> Iterator[Edit]:
    """The literals of `in [...]`: rewritten as a whole when all are literals, else one by one."""
    if not found.is_operator(opening, "[", "("):
        return
    items, closing = _literals(found, opening)
    if not any(_unquoted(item) in EVENTS for item in items):
        return
    if closing is None:
        yield from (_replacing(item, ", ".join(_today(item))) for item in items if _unquoted(item) in EVENTS)
        return
    names = dict.fromkeys(name for item in items for name in _today(item))
    comma = "," if len(names) == 1 and found.is_operator(opening, "(") else ""
    yield Edit(found.at(opening).start + 1, closing.start, ", ".join(names) + comma)


def _today(literal: Token) -> list[str]:
    """The literals that say the same today, in the same quotes."""
    name = _unquoted(literal)
    return [_quoted(today, literal) for today in EVENTS.get(name, (name,))]


def _literals(found: _Tokens, opening: int) -> tuple[list[Token], Token | None]:
    """The texts right inside a bracket; its end only when there is nothing else inside."""
    items = []
    only = True
    depth = 0
    position = opening
    while (token := found.at(position)).kind not in ("end", "variable_end", "block_end"):
        if found.is_operator(position, "(", "[", "{"):
            depth += 1
        elif found.is_operator(position, ")", "]", "}"):
            depth -= 1
        elif depth == 1 and token.kind == "string":
            items.append(token)
        elif not found.is_operator(position, ","):
            only = False
        if depth == 0:
            return items, token if only else None
        only = only and depth == 1
        position += 1
    return [], None


def _membership_sign(sign: Token) -> str:
    return "in" if sign.text == "==" else "not in"


def _literal(names: tuple[str, ...], like: Token) -> str:
    quoted = [_quoted(name, like) for name in names]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def _quoted(name: str, like: Token) -> str:
    return f"{like.text[0]}{name}{like.text[-1]}"


def _unquoted(literal: Token) -> str:
    return literal.text[1:-1]


# ---- a comparison that never holds ----------------------------------------------------------------------


def compares_with_success(text: str) -> bool:
    """Whether the status of an output is compared with 'success', which it never is: it is ok or error."""
    tree = syntax_tree(text) if is_template(text) else None
    if tree is None:
        return False
    return any(_is_about_success(comparison) for comparison in tree.find_all(nodes.Compare))


def _is_about_success(comparison: nodes.Compare) -> bool:
    sides = [comparison.expr, *(operand.expr for operand in comparison.ops)]
    constants = [node for side in sides for node in (side, *side.find_all(nodes.Const))]
    named = any(isinstance(node, nodes.Const) and node.value == "success" for node in constants)
    return named and any(map(_is_status, sides))


def _is_status(node: nodes.Node) -> bool:
    """`output.status`, or the status of a task or step by its name, filters aside."""
    while isinstance(node, nodes.Filter) and node.node is not None:
        node = node.node
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        owner, name = node.node, node.arg.value
    elif isinstance(node, nodes.Getattr):
        owner, name = node.node, node.attr
    else:
        return False
    return name == "status" and isinstance(owner, nodes.Name) and owner.name not in _SCOPES


# ---- text -----------------------------------------------------------------------------------------------


def _tokens_with(text: str, *words: str) -> _Tokens | None:
    """The tokens of a template in which one of the words stands; None when there is nothing to do."""
    if not is_template(text) or not any(word in text for word in words):
        return None
    try:
        return _Tokens(text)
    except TemplateError:
        return None


def _replacing(token: Token, text: str) -> Edit:
    return Edit(token.start, token.start + len(token.text), text)


def _edited(text: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text

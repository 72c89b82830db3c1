"""Templates inside the text: which names they read, and edits that keep how the text is quoted.

Nothing here knows which name becomes which; that is respelling.py and payloads.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from noetl.dsl.migrate.editable_tree import Collection, Node, Scalar, scalars
from noetl.dsl.migrate.rewriting import Rewriting
from noetl.dsl.older_spellings.respell import compares_with_success, rename_root, respell_output
from noetl.dsl.templates.facts import plain_path
from noetl.dsl.templates.reads import Path, paths_read
from noetl.dsl.templates.syntax import Token, is_template, syntax_tree, tokens

Edit = Callable[[str], str]
PathEdit = Callable[[Path], tuple[int, str] | None]  # how many segments are replaced, and by what

TEXTS_KEPT = 32_768
SCOPES = frozenset({"args", "ctx", "event", "input", "iter", "keychain", "step", "workload"})
NOT_A_VALUE = (".", "|", "is", "is not")  # what a field, a filter or a test comes after
SUCCESS = ("'success'", '"success"')


@lru_cache(TEXTS_KEPT)
def paths_in(text: str) -> frozenset[Path]:
    """Every dotted name that a template reads; none when it does not parse."""
    tree = syntax_tree(text) if is_template(text) else None
    return paths_read(tree) if tree is not None else frozenset()


def paths_of(node: Node) -> frozenset[Path]:
    """Every dotted name that the templates under a node read."""
    return frozenset(path for scalar in scalars(node) for path in paths_in(scalar.value))


def roots_in(text: str) -> frozenset[str]:
    """The root names that a template reads."""
    return frozenset(path[0] for path in paths_in(text))


def mentions(text: str, name: str) -> bool:
    """Whether a template reads a name."""
    return name in roots_in(text)


def whole_path(text: str) -> Path | None:
    """The path of a template that is exactly one dotted name."""
    return plain_path(text)


def rename(text: str, names: dict[str, str]) -> str:
    """A template with other root names."""
    for old, new in names.items():
        text = rename_root(text, old, new)
    return text


def name_output(text: str, label: str) -> str:
    """A template that reads the output of a task by the task's name."""
    return rename(respell_output(text), {"output": label})


# ---- dotted names -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dotted:
    """A dotted name of a template: where each segment ends, and the tokens it takes."""

    path: Path
    ends: tuple[int, ...]
    first: int
    after: int


def edit_paths(text: str, edit: PathEdit) -> str:
    """A template with the beginnings of some dotted names replaced; names it binds itself are not touched."""
    roots = roots_in(text)
    for found in reversed(list(_dotted(_words(text)))) if roots else ():
        change = edit(found.path) if found.path[0] in roots else None
        if change is not None:
            count, new = change
            start = found.ends[0] - len(found.path[0])
            text = text[:start] + new + text[found.ends[count - 1] :]
    return text


def compare_with_ok(text: str) -> str:
    """A template that compares a status with the word it has today."""
    if not compares_with_success(text):
        return text
    words = _words(text)
    statuses = [d for d in _dotted(words) if d.path[1:] == ("status",) and d.path[0] not in SCOPES]
    places = {token.start: token for status in statuses for token in _compared(words, status)}
    for start, token in sorted(places.items(), reverse=True):
        text = text[:start] + token.text.replace("success", "ok") + text[start + len(token.text) :]
    return text


def _compared(words: list[Token], status: Dotted) -> Iterator[Token]:
    """The texts 'success' that a status is compared with, on either side of it."""
    before, after = words[: status.first], words[status.after :]
    while len(after) > 1 and after[0].text == "|":
        after = after[2:]
    found: list[Token] = []
    if before and before[-1].text in ("==", "!="):
        found += before[-2:-1]
    if after and after[0].text in ("==", "!="):
        found += after[1:2]
    elif after and after[0].text in ("in", "not"):
        found += takewhile(lambda token: token.text not in ("]", ")"), after)
    yield from (token for token in found if token.text in SUCCESS)


def _words(text: str) -> list[Token]:
    """The tokens of a template that parses, without white space."""
    return [token for token in tokens(text) if token.kind not in ("whitespace", "data")]


def _dotted(words: list[Token]) -> Iterator[Dotted]:
    for index, token in enumerate(words):
        if token.kind == "name" and not _is_no_value(words, index):
            path, ends, after = [token.text], [token.start + len(token.text)], index + 1
            while segment := _segment(words, after):
                name, end, length = segment
                path.append(name)
                ends.append(end)
                after += length
            yield Dotted(tuple(path), tuple(ends), index, after)


def _is_no_value(words: list[Token], index: int) -> bool:
    """Whether a name is a field, a filter, a test or a keyword of a call."""
    before = words[index - 1].text if index else ""
    if before == "not" and index > 1 and words[index - 2].text == "is":
        before = "is"
    return before in NOT_A_VALUE or (index + 1 < len(words) and words[index + 1].text == "=")


def _segment(words: list[Token], index: int) -> tuple[str, int, int] | None:
    """A `.field` or `['field']` at a place: its name, where it ends, and how many tokens it takes."""
    part = words[index : index + 3]
    if len(part) > 1 and part[0].text == "." and part[1].kind == "name":
        return part[1].text, part[1].start + len(part[1].text), 2
    if len(part) > 2 and part[0].text == "[" and part[1].kind == "string" and part[2].text == "]":
        return part[1].text[1:-1], part[2].start + 1, 3
    return None


# ---- the text as it is quoted -----------------------------------------------------------------------------


def edit_scalar(scalar: Scalar, edit: Edit) -> bool:
    """Edit what a scalar says and keep how it is written; whether anything changed."""
    value = edit(scalar.value)
    if value == scalar.value:
        return False
    match scalar.style:
        case "single":
            scalar.text = _inside(
                scalar.text, "'", lambda raw: edit(raw.replace("''", "'")).replace("'", "''")
            )
        case "double" if "\\" in scalar.text:
            scalar.text = _inside(scalar.text, '"', lambda _: _escaped(value))
        case "double":
            scalar.text = _inside(scalar.text, '"', edit)
        case _:
            scalar.text = edit(scalar.text)
    scalar.value = value
    return True


def _inside(text: str, quote: str, edit: Edit) -> str:
    start = text.index(quote)
    return text[: start + 1] + edit(text[start + 1 : -1]) + quote


def _escaped(value: str) -> str:
    named = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "".join(
        named.get(char) or (char if char.isprintable() else f"\\U{ord(char):08x}") for char in value
    )


def templates_under(rw: Rewriting, node: Node) -> Iterator[Scalar]:
    """Every scalar under a node that is rendered; code that is never a template is left out."""
    if isinstance(node, Scalar) and is_template(node.value):
        yield node
    elif isinstance(node, Collection):
        verbatim = rw.verbatim(node)
        for entry in node.entries:
            if entry.key in verbatim:
                continue
            if entry.key in ("input", "args") and verbatim and isinstance(entry.value, Collection):
                kept = (value for value in entry.value.entries if value.key not in verbatim)
                yield from (scalar for value in kept for scalar in templates_under(rw, value.value))
            else:
                yield from templates_under(rw, entry.value)

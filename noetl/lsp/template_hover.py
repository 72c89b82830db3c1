"""What a word in a template means: a filter, a test, or a name of a scope, as the document itself uses it."""

import re
from collections.abc import Iterator, Mapping, Sequence

from noetl.dsl.templates import meanings
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.lsp import names
from noetl.lsp.completion import CLAIM, SCOPE_MEANINGS, field_meaning, path_before
from noetl.lsp.cursor import template_before
from noetl.lsp.names import Owner

SHOWN_CHARS = 80
WRITES_MAX = 5
_AFTER_BAR = re.compile(r"\|\s*$")
_AFTER_IS = re.compile(r"\bis\s+(?:not\s+)?$")


def meaning(lines: Sequence[str], line: int, start: int, word: str, root: Value) -> str | None:
    """Of the word that starts in a column; an empty text of a field that nothing is known of."""
    before = template_before(lines, line, start) or ""
    if _AFTER_BAR.search(before):
        return _of(meanings.FILTERS, "filter", word)
    if _AFTER_IS.search(before) and word in meanings.TESTS:
        return _of(meanings.TESTS, "test", word)
    way = path_before(before)
    if not way:
        return None
    owner, name = names.owner_around(root, line), ".".join((*way, word))
    said = _item(way, word, root, owner) or field_meaning(way, word, root, owner, line)
    rows = "".join(f"\n* {row}" for row in _written(way, word, root, owner))
    scope = SCOPE_MEANINGS.get(way[0], "") if rows else ""
    return f"**{name}**: {said or scope}\n{rows}".strip() if said or rows else ""


def _of(known: Mapping[str, meanings.Meaning], what: str, word: str) -> str:
    return f"{what} **{word}**: {known[word].shown}" if word in known else ""


def _item(way: Sequence[str], word: str, root: Value, owner: Owner | None) -> str:
    """Of the name that a loop gives its item: what the loop goes through."""
    if way[0] != "iter" or any(part != "parent" for part in way[1:]):
        return ""
    for loop in names.loops(root if owner is None else owner.body):
        if loop["iterator"] == word:
            source = loop.get("in")
            if isinstance(source, Map) and CLAIM in source:
                return "the row that this iteration has claimed"
            return f"the item of this iteration, out of `{_shown(source)}`"
    return ""


def _written(way: Sequence[str], word: str, root: Value, owner: Owner | None) -> Iterator[str]:
    """Where the document writes a name of a scope."""
    scope, name = way[0], ".".join((*(part for part in way[1:] if part != "parent"), word))
    if scope not in ("ctx", "step", "iter"):
        return
    here = names.owners(root) if scope == "ctx" or owner is None else [owner]
    found = [
        f"`{where.body.get('step') or where.body.get('name') or 'a block'}` {how} it: `{_shown(value)}`"
        for where in here
        for how, value in _writes(where.body, f"{scope}.{name}")
    ]
    yield from found[:WRITES_MAX]
    if len(found) > WRITES_MAX:
        yield f"{len(found) - WRITES_MAX} more"


def _writes(value: Value, target: str, above: str = "") -> Iterator[tuple[str, Value]]:
    if isinstance(value, Map):
        for key, item in value.items():
            if above in ("set", "reduce") and (key == target or key.startswith(f"{target}.")):
                yield ("merges into" if above == "reduce" else "sets"), item
            yield from _writes(item, target, key)
    elif isinstance(value, Seq):
        for item in value:
            yield from _writes(item, target, above)


def _shown(value: Value) -> str:
    text = " ".join(str(value).split()).replace("`", "'")
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"

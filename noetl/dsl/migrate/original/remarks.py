"""Words left beside a line: what a rewrite could not keep, for whoever reads the text next.

A remark is a comment above the entry it is about. Inside a flow collection there is no room for one; then the
note alone says it.
"""

from collections.abc import Mapping

from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.yaml.editable_tree import Collection, Entry, Node, Scalar

MOST_SHOWN = 60  # characters of a value that a remark repeats


def gone(rw: Rewriting, holder: Collection, entry: Entry, why: str) -> None:
    """Take out an entry that says nothing here, and leave what it said as a remark."""
    text = _excerpt(entry)
    at = holder.place(entry)
    holder.drop(entry)
    if not holder.flow:
        _comment(holder, at, f"{text} is gone: {why}")
    rw.review(entry.mark, f"'{entry.key}' is gone: {why}")


def drop_keys(rw: Rewriting, holder: Collection, reasons: Mapping[str, str]) -> None:
    """Take out the keys that say nothing here, each with its reason."""
    for key, why in reasons.items():
        entry = holder.entry(key)
        if entry is not None:
            gone(rw, holder, entry, why)


def remark(rw: Rewriting, holder: Collection, entry: Entry, message: str, hint: str | None = None) -> None:
    """Say beside an entry where it may differ from what it was."""
    if not holder.flow:
        _comment(holder, holder.place(entry), message)
    rw.review(entry.mark, message, hint)


def _comment(holder: Collection, at: int, message: str) -> None:
    following = holder.entries[at] if at < len(holder.entries) else None
    lines, column = (following.before, following.column) if following else (holder.trailing, holder.column)
    line = f"# noetl: {message}"
    if line not in map(str.strip, lines):
        lines.append(" " * column + line)


def _excerpt(entry: Entry) -> str:
    """An entry as it was written, when it is short and on one line."""
    value = _written(entry.value)
    text = f"'{entry.key}: {value}'" if value is not None else f"'{entry.key}'"
    return text if len(text) <= MOST_SHOWN else f"'{entry.key}'"


def _written(node: Node) -> str | None:
    text = node.text if isinstance(node, Scalar) else node.source if isinstance(node, Collection) else None
    return text if text and "\n" not in text and "#" not in text else None

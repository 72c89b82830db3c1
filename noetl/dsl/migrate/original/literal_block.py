"""Texts of several lines as literal blocks: making one, and editing the lines of one that is there."""

from collections.abc import Callable

from noetl.dsl.diagnostic import NOWHERE, Mark
from noetl.dsl.older_spellings.templates import escaped
from noetl.dsl.yaml.editable_tree import Scalar

INDENT = 2


def literal(text: str, column: int, *, mark: Mark = NOWHERE) -> Scalar:
    """A new literal block for an entry at a column; what a block cannot hold is quoted."""
    if not all(char.isprintable() or char in "\n\t" for char in text) or not text.strip():
        return Scalar(f'"{escaped(text)}"', text, "double", column, mark)
    lines = text.rstrip("\n").split("\n")
    pad = " " * (column + INDENT)
    # A first line that begins with a space would be read as the block's indentation.
    head = f"|{INDENT}" if lines[0][:1] in (" ", "\t") or not lines[0] else "|"
    head += "" if text.endswith("\n") else "-"
    body = [pad + line if line.strip() else "" for line in lines]
    return Scalar("\n".join([head, *body]), text, "block", column, mark)


def edit_lines(scalar: Scalar, edit: Callable[[str], str]) -> Scalar:
    """The scalar with another text: a literal block keeps its indentation, anything else becomes one."""
    text = edit(scalar.value)
    if text == scalar.value:
        return scalar
    if "\n" not in text.rstrip("\n") and scalar.style != "block":
        text = text.rstrip("\n") + "\n"
    return literal(text if text.endswith("\n") else text + "\n", scalar.column, mark=scalar.mark)

"""Templates inside the text: which names they read, and edits that keep how the text is quoted.

Nothing here knows which name becomes which; that is respelling.py and payloads.py.
"""

from collections.abc import Callable, Iterator

from noetl.dsl.older_spellings.respell import paths_in, rename_root, respell_output, roots_in
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.templates.reads import Path
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.yaml.editable_tree import Collection, Node, Scalar, scalars

Edit = Callable[[str], str]


def paths_of(node: Node) -> frozenset[Path]:
    """Every dotted name that the templates under a node read."""
    return frozenset(path for scalar in scalars(node) for path in paths_in(scalar.value))


def mentions(text: str, name: str) -> bool:
    """Whether a template reads a name."""
    return name in roots_in(text)


def rename(text: str, names: dict[str, str]) -> str:
    """A template with other root names."""
    for old, new in names.items():
        text = rename_root(text, old, new)
    return text


def name_output(text: str, label: str) -> str:
    """A template that reads the output of a task by the task's name."""
    return rename(respell_output(text), {"output": label})


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
            scalar.text = _inside(scalar.text, '"', lambda _: escaped(value))
        case "double":
            scalar.text = _inside(scalar.text, '"', edit)
        case _:
            scalar.text = edit(scalar.text)
    scalar.value = value
    return True


def _inside(text: str, quote: str, edit: Edit) -> str:
    start = text.index(quote)
    return text[: start + 1] + edit(text[start + 1 : -1]) + quote


def escaped(value: str) -> str:
    """A text as it stands between double quotes."""
    named = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "".join(
        named.get(char) or (char if char.isprintable() else f"\\U{ord(char):08x}") for char in value
    )


def templates_under(rw: Rewriting, node: Node | None) -> Iterator[Scalar]:
    """Every scalar under a node that is rendered; code that is never a template is left out."""
    if isinstance(node, Scalar) and is_template(node.value):
        yield node
    elif isinstance(node, Collection):
        verbatim = rw.verbatim(node)
        for entry in node.entries:
            if entry.key in verbatim:
                continue
            if entry.key in ("input", "args") and verbatim and isinstance(entry.value, Collection):
                values = (value for value in entry.value.entries if value.key not in verbatim)
                yield from (scalar for value in values for scalar in templates_under(rw, value.value))
            else:
                yield from templates_under(rw, entry.value)

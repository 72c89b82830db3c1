"""Older names inside templates: where they are, and today's names in their place, in the text as it is quoted.

What a template reads comes from expression.py, the respelling of outcome and events from respell.py. Which name
becomes which is decided here for what no single text can tell: vars, result, and the status a text is compared with.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from noetl.dsl.expression import Path, plain_path, reads
from noetl.dsl.migrate.rewriting import Rewriting
from noetl.dsl.migrate.tasks import tasks_of
from noetl.dsl.migrate.text import Collection, Node, Scalar, mapping, scalars
from noetl.dsl.migrate.writes import written
from noetl.dsl.respell import respell_event, respell_output
from noetl.dsl.template import is_template

Edit = Callable[[str], str]
PathEdit = Callable[[Path], tuple[int, str] | None]  # how many segments are replaced, and by what

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
CODE = re.compile(rf"\{{\{{(?:{QUOTED}|(?!\}}\}}).)*\}}\}}|\{{%(?:{QUOTED}|(?!%\}}).)*%\}}", re.DOTALL)
DOTTED = re.compile(
    rf"(?P<skip>{QUOTED}|\|\s*\w+|\.\s*\w+|\bis\s+(?:not\s+)?\w+|\b\w+\s*=(?!=)|\d[\w.]*)"
    r"|(?P<path>[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*|\[\s*(?:'\w+'|\"\w+\")\s*\])*)"
)
SEGMENT = re.compile(r"\w+")
STATUS = r"(?P<path>\b\w+\.status)"
WORD = r"(?P<quote>['\"])success(?P=quote)"
COMPARED = (
    re.compile(rf"{STATUS}(?P<op>\s*[!=]=\s*){WORD}"),
    re.compile(rf"{WORD}(?P<op>\s*[!=]=\s*){STATUS}"),
)


def paths_of(node: Node) -> frozenset[Path]:
    """Every dotted name that the templates under a node read."""
    return frozenset(read.path for scalar in scalars(node) for read in reads(scalar.value))


def mentions(text: str, name: str) -> bool:
    """Whether a template reads a name."""
    return any(read.path[0] == name for read in reads(text))


def whole_path(text: str) -> Path | None:
    """The path of a template that is exactly one dotted name."""
    return plain_path(text)


def rename(text: str, names: dict[str, str]) -> str:
    """A template with other root names."""
    return edit_paths(text, lambda path: (1, names[path[0]]) if path[0] in names else None)


def name_output(text: str, label: str) -> str:
    """A template that reads the output of a task by the task's name."""
    return rename(respell_output(text), {"output": label})


def edit_paths(text: str, edit: PathEdit) -> str:
    """A template with the beginnings of some dotted names replaced."""
    if not is_template(text):
        return text
    return CODE.sub(lambda code: DOTTED.sub(lambda found: _edited(found, edit), code.group()), text)


def _edited(found: re.Match[str], edit: PathEdit) -> str:
    text = found["path"]
    if text is None:
        return found.group()
    segments = list(SEGMENT.finditer(text))
    change = edit(tuple(segment.group() for segment in segments))
    if change is None:
        return text
    count, new = change
    end = segments[count - 1].end()
    closing = re.match(r"['\"]\s*\]", text[end:])
    return new + text[end + (closing.end() if closing else 0) :]


# ---- the text as it is quoted -----------------------------------------------------------------------------


def edit_scalar(scalar: Scalar, edit: Edit) -> bool:
    """Edit what a scalar says and keep how it is written; whether anything changed."""
    value = edit(scalar.value)
    if value == scalar.value:
        return False
    match scalar.style:
        case "single":
            scalar.text = _inside(
                scalar.text, "'", lambda text: edit(text.replace("''", "'")).replace("'", "''")
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
    if isinstance(node, Scalar):
        if is_template(node.value):
            yield node
    elif isinstance(node, Collection):
        kind = rw.kind_of(node) if node.kind == "map" else None
        for entry in node.entries:
            values = entry.value
            if entry.key == "input" and kind is not None and isinstance(values, Collection):
                for value in values.entries:
                    if value.key not in kind.untemplated:
                        yield from templates_under(rw, value.value)
            else:
                yield from templates_under(rw, values)


# ---- what the names mean in one step ------------------------------------------------------------------------


@dataclass(slots=True)
class Names:
    """What older root names stand for in one step or block."""

    variables: dict[str, str]  # name under vars -> where it is now
    defined: frozenset[str]  # names that mean something of their own here
    args: bool = False  # whether args is still to be read as input

    def edit(self, path: Path) -> tuple[int, str] | None:
        """Today's beginning of a dotted name."""
        root = path[0]
        if root in self.defined:
            return None
        if root == "vars":
            return (2, self.variables.get(path[1], f"step.{path[1]}")) if len(path) > 1 else (1, "step")
        if root in ("result", "result_ref"):
            return 1, "output.data" if root == "result" else "output.ref"
        if path[:3] == ("output", "py", "exception"):
            return 3, "output.py.exception_type"
        return (1, "input") if root == "args" and self.args else None


def respell(rw: Rewriting, root: Collection, owner: Collection, *, args: bool = False) -> None:
    """Bring every template of a step or block to today's names."""
    names = Names(_variables(rw, owner), _defined(root, owner), args)
    edited: list[tuple[Scalar, str]] = []
    for scalar in templates_under(rw, owner):
        before = scalar.value
        if edit_scalar(scalar, lambda text: _today(text, names)):
            edited.append((scalar, before))
    if edited:
        numbers = sorted({scalar.mark.line for scalar, _ in edited})
        lines = f"line{'s' if len(numbers) > 1 else ''} " + ", ".join(map(str, numbers))
        first = min((scalar.mark for scalar, _ in edited), key=lambda mark: (mark.line, mark.column))
        rw.changed(first, f"templates {_difference(edited)} ({lines})")


def _today(text: str, names: Names) -> str:
    text = respell_event(respell_output(text))
    text = edit_paths(text, names.edit)
    return CODE.sub(lambda code: _compare_with_ok(code.group()), text)


def _compare_with_ok(code: str) -> str:
    for pattern in COMPARED:
        code = pattern.sub(lambda found: found.group().replace("success", "ok"), code)
    return code


def _difference(edited: list[tuple[Scalar, str]]) -> str:
    old = {read.path[0] for _, before in edited for read in reads(before)}
    old -= {read.path[0] for scalar, _ in edited for read in reads(scalar.value)}
    names = ", ".join(f"'{name}'" for name in sorted(old))
    return f"read today's names instead of {names}" if old else "use today's words"


def _variables(rw: Rewriting, owner: Collection) -> dict[str, str]:
    mine = set()
    for node in _setting(owner):
        mine |= written(node, "step")
    found = {name: f"workload.{name}" for name in rw.root_vars}
    found |= {name: f"ctx.{name}" for name in rw.shared}
    return found | {name: f"step.{name}" for name in mine}


def _setting(node: Node) -> Iterator[Collection]:
    """Every `set` under a node."""
    if isinstance(node, Collection):
        for entry in node.entries:
            if entry.key == "set" and isinstance(entry.value, Collection):
                yield entry.value
            yield from _setting(entry.value)


def _defined(root: Collection, owner: Collection) -> frozenset[str]:
    """Names that templates of a step can read because the document defines them."""
    found = set((root.map_at("workload") or mapping()).keys()) | set(
        (owner.map_at("input") or mapping()).keys()
    )
    found |= {str(task.word("name")) for task in tasks_of(owner)}
    found |= {str(key) for task in tasks_of(owner) for key in (task.map_at("input") or mapping()).keys()}
    for step in (root.list_at("workflow") or mapping()).values():
        found |= {str(step.word("step"))} if isinstance(step, Collection) else set()
    loop = owner.map_at("loop")
    while loop is not None:
        found.add(str(loop.word("iterator")))
        loop = loop.map_at("loop")
    return frozenset(found) - {"args"}

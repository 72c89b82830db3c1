"""What every group of rewrites shares: the document being edited, the kinds, and the notes made so far.

A note says what was changed or what the author must look at, at its line of the original text.
"""

from dataclasses import dataclass, field

from noetl.dsl.migrate.editable_tree import Alias, Collection, Node, Scalar
from noetl.dsl.migrate.read_tree import Document
from noetl.dsl.tool_kind import Kind, Kinds
from noetl.dsl.yaml.tree import Mark


@dataclass(frozen=True, slots=True)
class Note:
    """What was changed at a place of the original text, or (`look`) what its author must look at there."""

    mark: Mark
    message: str
    hint: str | None = None
    look: bool = False

    @property
    def line(self) -> int:
        """The 1-based line."""
        return self.mark.line


@dataclass(slots=True)
class Rewriting:
    """One migration under way."""

    document: Document
    kinds: Kinds
    anchors: dict[str, Node]
    notes: list[Note] = field(default_factory=list)
    inside_eval: bool = False  # what changes inside is part of one change that is noted already
    shared: set[str] = field(default_factory=set)  # names written by set_shared: their readers read ctx
    root_vars: set[str] = field(default_factory=set)  # names of the root vars: their readers read workload

    def changed(self, mark: Mark, message: str) -> None:
        """Note what was rewritten."""
        if not self.inside_eval:
            self.notes.append(Note(mark, message))

    def review(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Note what the author must look at."""
        self.notes.append(Note(mark, message, hint, look=True))

    def seen(self, node: Node | None) -> Node | None:
        """The node itself, or the one an alias stands for."""
        return self.anchors.get(node.text[1:]) if isinstance(node, Alias) else node

    def kind_of(self, task: Collection) -> Kind | None:
        """The kind of a task, when it is known."""
        node = task.get("kind")
        return self.kinds.get(node.value) if isinstance(node, Scalar) else None

    def verbatim(self, node: Collection) -> tuple[str, ...]:
        """Inputs of a task that are never templates; none when the node is no task."""
        kind = self.kind_of(node) if node.kind == "map" else None
        return kind.untemplated if kind is not None else ()

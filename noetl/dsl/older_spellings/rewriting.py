"""What every group of rewrites shares: the document being edited, the kinds, the notes and findings so far.

A note says what `migrate` changed or what the author must look at, at its line of the original text. A
finding is what `load` has to say about an older spelling: a deprecated one runs and is a warning (an error
under strict), a legacy one is refused with what replaces it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from noetl.dsl.diagnostic import NOWHERE, Code, Diagnostic, Mark
from noetl.dsl.tool_kind import Kind, Kinds
from noetl.dsl.yaml.editable_tree import Alias, Collection, Entry, Node, Scalar


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
    """One document under way to today's spelling.

    Both `migrate` and `load` rewrite what is certain. Where the author has a choice, `migrate` proposes
    (`review`), while `load` does not guess: it leaves the text to the grammar, or takes out what it refuses.
    """

    root: Collection
    kinds: Kinds
    anchors: dict[str, Node] = field(default_factory=dict)
    loading: bool = False
    notes: list[Note] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)
    inside_eval: bool = False  # what changes inside is part of one change that is noted already
    shared: set[str] = field(default_factory=set)  # names written by set_shared: their readers read ctx
    passed_on: set[str] = field(default_factory=set)  # names under vars that other steps read: they are ctx
    root_vars: set[str] = field(default_factory=set)  # names of the root vars: their readers read workload

    def changed(self, mark: Mark, message: str) -> None:
        """Note what was rewritten."""
        if not self.inside_eval:
            self.notes.append(Note(mark, message))

    def changed_lines(self, scalars: Iterable[Scalar], message: str, *, always: bool = False) -> None:
        """Note where templates were rewritten, with their lines; those that a rewrite made have none."""
        marks = sorted(scalar.mark for scalar in scalars if scalar.mark is not NOWHERE)
        if marks:
            numbers = sorted({mark.line for mark in marks})
            lines = "lines" if len(numbers) > 1 or always else "line"
            self.changed(marks[0], f"{message} ({lines} {', '.join(map(str, numbers))})")

    def review(self, mark: Mark, message: str, hint: str | None = None) -> None:
        """Note what the author must look at."""
        self.notes.append(Note(mark, message, hint, look=True))

    def deprecated(self, code: Code, mark: Mark, message: str, write: str) -> None:
        """Say that a spelling is an older one that still runs."""
        if not self.inside_eval:
            self.findings.append(code.at(mark, message, f"write: {write}"))

    def legacy(self, code: Code, mark: Mark, message: str, write: str) -> None:
        """Say that a spelling is refused."""
        if not self.inside_eval:
            hint = f"write: {write}; `noetl migrate FILE` rewrites it"
            self.findings.append(code.at(mark, message, hint))

    def leave(self, holder: Collection, entry: Entry, message: str, hint: str | None = None) -> None:
        """Leave an entry to its author; for `load`, which has refused it, it is gone."""
        if self.loading:
            holder.drop(entry)
        else:
            self.review(entry.mark, message, hint)

    def silent(self) -> "Rewriting":
        """A rewriting of the same document whose notes and findings nobody reads."""
        return Rewriting(self.root, self.kinds, self.anchors, self.loading)

    def resolved(self, node: Node | None) -> Node | None:
        """The node itself, or the one an alias stands for."""
        return self.anchors.get(node.text[1:]) if isinstance(node, Alias) else node

    def kind_of(self, task: Collection) -> Kind | None:
        """The kind of a task, when it is known."""
        return self.kinds.get(task.word("kind") or "")

    def verbatim(self, node: Collection) -> tuple[str, ...]:
        """Inputs of a task that are never templates; none when the node is no task."""
        kind = self.kind_of(node) if node.kind == "map" else None
        return kind.untemplated if kind is not None else ()

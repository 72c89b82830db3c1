"""The YAML scanner's events -> the positioned tree, within limits.

The scanner is libyaml's. Its own tree builder is not used: it recurses (deep nesting kills the process),
keeps the last of two equal keys silently, and bounds nothing. Scalars are those of YAML 1.2. What a playbook
may not use is refused where it stands, and reading goes on while it makes
sense: an entry that cannot be kept is left out, a value that cannot be held is replaced, so that one mistake
is one finding.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from yaml import CBaseLoader, events
from yaml.error import MarkedYAMLError, YAMLError

from noetl.dsl.diagnostic import Diagnostic, Mark, in_order
from noetl.dsl.yaml import refusal
from noetl.dsl.yaml.one_line import json_type
from noetl.dsl.yaml.scalar import NotANumber, leads_with_zero, read_plain
from noetl.dsl.yaml.scanner import Event, is_a
from noetl.dsl.yaml.syntax_error import YAML_SYNTAX, after, explain
from noetl.dsl.yaml.tree import Map, Seq, Value

_TEMPLATE_STARTS: Final = ("{{", "{%", "{#")
_TEMPLATE_CHARS: Final = 80
_TAG_DIRECTIVE: Final = re.compile(r"(?:\A|[\r\n])(?=%TAG)")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read. 10 000 steps are 1 to 5 MiB and up to 600 000 nodes; a depth over 20 is rare."""

    size: int = 8 * 1024 * 1024  # bytes of UTF-8
    depth: int = 50
    nodes: int = 1_000_000  # keys and values, those that aliases repeat included
    aliased: int = 100_000  # keys and values that are there only through aliases
    findings: int = 100


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was read: the tree, or None when the text cannot be used, and every finding by position."""

    tree: Value
    diagnostics: tuple[Diagnostic, ...]


def assemble(source: str, limits: Limits) -> Parsed:
    """The tree of a text of allowed characters, and every finding about it."""
    directive = _TAG_DIRECTIVE.search(source)
    if directive:
        # The scanner compares each declaration with all before it.
        return Parsed(None, (refusal.TAG_DIRECTIVE.at(after(source[: directive.end()])),))
    return _Assembly(source, limits).run()


class _Stop(Exception):
    """Reading cannot go on; the finding says why."""

    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding.message)
        self.finding = finding


class _Dropped:
    """Stands for the key of an entry that is read but not kept."""


_DROPPED: Final = _Dropped()


class _Frame:
    """An open mapping or list, and the key whose value comes next (None: a mapping waits for a key)."""

    __slots__ = (
        "before", "event", "height", "is_template", "key", "key_mark", "mark", "node", "path", "reported",
    )  # fmt: skip

    def __init__(self, node: Map | Seq, event: Event, before: int, reported: int) -> None:
        self.node = node
        self.mark = node.mark
        self.path = node.mark.path
        self.event = event
        self.key: str | _Dropped | None = None if isinstance(node, Map) else _DROPPED
        self.key_mark = node.mark
        self.before = before  # nodes counted when it opened
        self.reported = reported  # findings when it opened
        self.height = 1
        self.is_template = False


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A value with an anchor: how many keys and values it holds and how deep it is."""

    value: Value
    nodes: int = 1
    height: int = 0


class _Assembly:
    """Takes the scanner's events one by one. One assembly reads one text."""

    def __init__(self, source: str, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.findings: list[Diagnostic] = []
        self.stack: list[_Frame] = []
        self.frame: _Frame | None = None
        self.anchors: dict[str, _Anchored | None] = {}  # None: still open
        self.good_keys: set[str] = set()  # unquoted keys known to be text
        self.nodes = 0
        self.aliased = 0
        self.documents = 0
        self.root: Value = None
        self.is_empty = True
        self.last: Event | None = None

    def run(self) -> Parsed:
        """Read to the end or to what stops it."""
        tree: Value = None
        try:
            self._consume()
            tree = self.root
            if self.is_empty:
                self.findings.append(refusal.EMPTY.at(Mark()))
        except _Stop as stop:
            self.findings.append(stop.finding)
        except MarkedYAMLError as error:
            self._refuse_syntax(error)
        except YAMLError as error:
            self.findings.append(YAML_SYNTAX.at(Mark(), f"the text cannot be read: {error}"))
        return Parsed(tree, in_order(self.findings))

    def _consume(self) -> None:
        handlers: dict[type[object], Callable[[Event], None]] = {
            events.ScalarEvent: self._scalar,
            events.MappingStartEvent: self._open,
            events.SequenceStartEvent: self._open,
            events.MappingEndEvent: self._close,
            events.SequenceEndEvent: self._close,
            events.AliasEvent: self._alias,
            events.DocumentStartEvent: self._document,
        }
        next_event: Callable[[], Event | None] = CBaseLoader(self.source).get_event  # type: ignore[assignment]
        while (event := next_event()) is not None:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
                self.last = event

    # ---- events -----------------------------------------------------------------------------------------

    def _document(self, event: Event) -> None:
        self.documents += 1
        if self.documents > 1:
            raise _Stop(refusal.SECOND_DOCUMENT.at(self._mark(event)))

    def _scalar(self, event: Event) -> None:
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            raise _Stop(self._too_many(event))
        frame = self.frame
        if frame is not None and frame.key is None:
            self._scalar_key(frame, event)
            return
        mark = self._mark(event)
        value = self._read(event, mark)
        if frame is None:
            self.is_empty = value is None and not event.value
        self._give(value, mark)

    def _open(self, event: Event) -> None:
        mark = self._mark(event)
        node = Map(mark=mark) if is_a(event, events.MappingStartEvent) else Seq(mark=mark)
        frame = _Frame(node, event, self.nodes, len(self.findings))
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            raise _Stop(self._too_many(event))
        if len(self.stack) >= self.limits.depth:
            raise _Stop(refusal.TOO_DEEP.at(mark, depth=self.limits.depth))
        if event.tag is not None:
            self._report(_tag(event.tag, mark))
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.is_empty = False
        self.stack.append(frame)
        self.frame = frame

    def _close(self, event: Event) -> None:
        frame = self.stack.pop()
        parent = self.frame = self.stack[-1] if self.stack else None
        value: Value = self._template_text(frame, event) if frame.is_template else frame.node
        if frame.event.anchor is not None:
            self.anchors[frame.event.anchor] = _Anchored(value, self.nodes - frame.before, frame.height)
        if parent is None:
            self.root = value
            return
        parent.height = max(parent.height, frame.height + 1)
        if parent.key is None:
            self._collection_key(parent, frame, value)
        else:
            self._give(value, frame.mark)

    def _alias(self, event: Event) -> None:
        mark = self._mark(event)
        name = event.anchor or ""
        anchored = self.anchors.get(name)
        if anchored is None:
            refused = refusal.CIRCULAR_ALIAS if name in self.anchors else refusal.UNKNOWN_ALIAS
            self._report(refused.at(mark, name=name))
            anchored = _Anchored(None)
        self._count_repeated(anchored, event, mark)
        frame = self.frame
        if frame is not None and frame.key is None:
            self._alias_key(frame, anchored.value, mark)
        else:
            self._give(_copy(anchored.value), mark)

    def _count_repeated(self, anchored: _Anchored, event: Event, mark: Mark) -> None:
        self.nodes += anchored.nodes
        self.aliased += anchored.nodes
        if self.aliased > self.limits.aliased:
            raise _Stop(refusal.TOO_MANY_REPEATS.at(mark, most=self.limits.aliased))
        if self.nodes > self.limits.nodes:
            raise _Stop(self._too_many(event))
        if len(self.stack) + anchored.height > self.limits.depth:
            raise _Stop(refusal.TOO_DEEP.at(mark, depth=self.limits.depth))
        if self.frame is not None:
            self.frame.height = max(self.frame.height, anchored.height + 1)

    # ---- keys -------------------------------------------------------------------------------------------

    def _scalar_key(self, frame: _Frame, event: Event) -> None:
        key: str = event.value
        spot = event.start_mark
        mark = _key_mark(frame, key, spot.line + 1, spot.column + 1)
        if event.style or event.tag is not None:
            key = self._read(event, mark)
        elif key == "<<":
            self._report(refusal.MERGE_KEY.at(mark))
            frame.key, frame.key_mark = _DROPPED, mark
            return
        else:
            if key not in self.good_keys:
                self._check_plain_key(key, mark)
            if event.anchor is not None:
                self.anchors[event.anchor] = _Anchored(key)
        self._take_key(frame, key, mark)

    def _check_plain_key(self, key: str, mark: Mark) -> None:
        try:
            meaning = read_plain(key)
        except NotANumber:
            meaning = 0
        if type(meaning) is str:
            self.good_keys.add(key)
        else:
            refused = refusal.KEY_NOT_TEXT if key else refusal.KEY_EMPTY
            self._report(refused.at(mark, key=key, type=json_type(meaning)))

    def _collection_key(self, parent: _Frame, frame: _Frame, value: Value) -> None:
        mark = frame.mark
        begins, inside = parent.event.start_mark.index, frame.event.start_mark.index
        if type(value) is str:
            self._take_key(parent, value, _key_mark(parent, value, mark.line, mark.column))
            return
        if inside == begins + 1 and self.source.startswith("{{", begins):
            parent.is_template = True
        else:
            self._report(refusal.KEY_NOT_SCALAR.at(mark, type=json_type(value)))
        parent.key = _DROPPED

    def _alias_key(self, frame: _Frame, value: Value, mark: Mark) -> None:
        if type(value) is str:
            self._take_key(frame, value, _key_mark(frame, value, mark.line, mark.column))
            return
        if value is not None:
            self._report(refusal.KEY_NOT_SCALAR.at(mark, type=json_type(value)))
        frame.key = _DROPPED

    def _take_key(self, frame: _Frame, key: str, mark: Mark) -> None:
        frame.key = key
        frame.key_mark = mark
        node = frame.node
        if key in node and isinstance(node, Map):
            self._report(refusal.DUPLICATE_KEY.at(mark, key=key, line=node.at_key(key).line))
            frame.key = _DROPPED

    # ---- values -----------------------------------------------------------------------------------------

    def _give(self, value: Value, mark: Mark) -> None:
        """Put a value where the open mapping or list waits for one."""
        frame = self.frame
        if frame is None:
            self.root = value
            return
        node = frame.node
        if isinstance(node, Seq):
            node.append(value)
            node.item_marks.append(mark)
            return
        key = frame.key
        if type(key) is str:
            node[key] = value
            node.key_marks[key] = frame.key_mark
            node.value_marks[key] = mark
        frame.key = None

    def _read(self, event: Event, mark: Mark) -> Value:
        value: Value = event.value
        if event.tag is not None:
            self._report(_tag(event.tag, mark))
        elif not event.style:
            value = self._read_plain(value, mark)
        elif "\0" in value:
            self._report(refusal.NUL.at(mark))
            value = value.replace("\0", "\ufffd")
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value)
        return value

    def _read_plain(self, text: str, mark: Mark) -> Value:
        try:
            value = read_plain(text)
        except NotANumber as error:
            self._report(refusal.NUMBER.at(mark, text=text, why=error))
            return 0
        if type(value) is int and leads_with_zero(text):
            self._report(refusal.LEADING_ZERO.at(mark, text=text, value=value))
        return value

    def _template_text(self, frame: _Frame, event: Event) -> str:
        """The text of an unquoted template as if it were quoted; findings inside it are beside the point."""
        text = self.source[frame.event.start_mark.index : event.end_mark.index]
        del self.findings[frame.reported :]
        self._report(_unquoted(text, frame.mark))
        return text

    # ---- places and findings ----------------------------------------------------------------------------

    def _mark(self, event: Event) -> Mark:
        """Where an event stands; its path is that of the value that the open mapping or list waits for."""
        frame, spot = self.frame, event.start_mark
        if frame is None:
            path = ""
        elif isinstance(frame.node, Seq):
            path = f"{frame.path}/{len(frame.node)}"
        else:
            path = frame.path if frame.key is None else frame.key_mark.path
        return Mark(spot.line + 1, spot.column + 1, path)

    def _report(self, finding: Diagnostic) -> None:
        if len(self.findings) < self.limits.findings:
            self.findings.append(finding)

    def _too_many(self, event: Event) -> Diagnostic:
        most = self.limits.nodes
        return refusal.TOO_LARGE.at(self._mark(event), seen=f"more than {most} keys and values", most=most)

    def _refuse_syntax(self, error: MarkedYAMLError) -> None:
        """Say what stopped the scanner; an unquoted template is the likelier cause wherever one is near."""
        for frame in self.stack:
            begins = frame.event.start_mark.index
            if self.source.startswith(_TEMPLATE_STARTS, begins):
                del self.findings[frame.reported :]
                self.findings.append(_unquoted(self.source[begins:], frame.mark))
                return
        finding = explain(error, self.last, self.source, self.frame.path if self.frame else "")
        template = refusal.UNQUOTED_TEMPLATE.name
        if not any(earlier.code == template and earlier.line == finding.line for earlier in self.findings):
            self.findings.append(finding)


def _tag(name: str, mark: Mark) -> Diagnostic:
    return refusal.TAG.at(mark, name=name.replace("tag:yaml.org,2002:", "!!"))


def _unquoted(text: str, mark: Mark) -> Diagnostic:
    return refusal.TEMPLATE.at(mark, text=text[:_TEMPLATE_CHARS].splitlines()[0].rstrip())


def _key_mark(frame: _Frame, key: str, line: int, column: int) -> Mark:
    if "/" in key or "~" in key:
        key = key.replace("~", "~0").replace("/", "~1")
    return Mark(line, column, f"{frame.path}/{key}")


def _copy(value: Value) -> Value:
    """The same value once more, with the same marks: where its text stands."""
    if isinstance(value, Map):
        fresh = Map(((key, _copy(item)) for key, item in value.items()), value.mark)
        fresh.key_marks, fresh.value_marks = dict(value.key_marks), dict(value.value_marks)
        return fresh
    if isinstance(value, Seq):
        items = Seq((_copy(item) for item in value), value.mark)
        items.item_marks = list(value.item_marks)
        return items
    return value

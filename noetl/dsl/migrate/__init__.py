"""Older playbook text to canonical text: comments, order and style stay. The one door is `migrate`.

text --read--> editable tree --rewrite_text--> today's spelling --write--> text

A text that is canonical already comes back byte for byte; migrating twice is migrating once.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from noetl.dsl.diagnostic import Diagnostic, Mark, has_errors
from noetl.dsl.older_spellings.findings import DEPRECATIONS
from noetl.dsl.older_spellings.rewriting import Note, Rewriting
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map
from noetl.errors import InvariantViolation, PlaybookError

INDENTATION = re.compile(r"\n([ \t]+)\S")
PROMISE = "`noetl migrate FILE`"  # the hint of a finding that says so
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Migrated:
    """The canonical text, whether it differs, and what was changed or needs a look, in order of position."""

    text: str
    notes: tuple[Note, ...]
    changed: bool


def migrate(text: str | bytes, *, kinds: Kinds) -> Migrated:
    """Rewrite a playbook of any age; raises PlaybookError with its diagnostics when it is not valid YAML."""
    findings = parse(text).diagnostics
    if has_errors(findings):
        raise PlaybookError(findings, "the text is not valid YAML and cannot be migrated")
    original = text.decode() if isinstance(text, bytes) else text
    body = original.removeprefix(BYTE_ORDER_MARK)
    ending = "\r\n" if "\r\n" in body else "\n"
    plain = body.replace(ending, "\n")
    new, notes = _rewritten(plain, kinds)
    if not any(note.look for note in notes):
        notes += _left(new, kinds)
    if new == plain:
        return Migrated(original, _in_order(notes), False)
    lead = original[: len(original) - len(body)]
    new = _as_json(new, like=plain) if _is_json(plain) else new
    return Migrated(lead + new.replace("\n", ending), _in_order(notes), True)


def _rewritten(text: str, kinds: Kinds) -> tuple[str, list[Note]]:
    from noetl.dsl.migrate.rewrite_text import rewrite_text
    from noetl.dsl.yaml.editable_tree import as_map, shape
    from noetl.dsl.yaml.read_editable import UnusualLayout, read
    from noetl.dsl.yaml.write_editable import write

    try:
        document = read(text)
    except UnusualLayout as unusual:
        return text, [_untouched(unusual.line, unusual.what)]
    root = as_map(document.root)
    if root is None:
        return text, []
    if write(document) != text:
        return text, [_untouched(1, "a layout that cannot be kept")]
    before = shape(root)
    rewriting = Rewriting(root, kinds, document.anchored())
    rewrite_text(rewriting, root)
    if shape(root) == before:
        return text, rewriting.notes
    new = write(document)
    if has_errors(parse(new).diagnostics):
        raise InvariantViolation(
            "migrating gave a text that is not valid YAML", hint="please report the playbook"
        )
    return new, rewriting.notes


def _left(text: str, kinds: Kinds) -> list[Note]:
    """What is still an older spelling: a migration that leaves something never seems to be done."""
    from noetl.dsl.older_spellings.loading import rewrite_tree

    tree = parse(text).tree
    findings = rewrite_tree(tree, kinds)[1] if isinstance(tree, Map) else ()
    return [
        _left_note(finding)
        for finding in findings
        if finding.code in DEPRECATIONS or PROMISE in (finding.hint or "")
    ]


def _left_note(finding: Diagnostic) -> Note:
    hint = (finding.hint or "").partition(f"; {PROMISE}")[0] or None
    return Note(finding.mark, f"left as it is: {finding.message}", hint, look=True)


def _is_json(text: str) -> bool:
    """Whether a text is also valid JSON, which has to stay JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _as_json(text: str, *, like: str) -> str:
    """A migrated text as JSON, indented as the original was."""
    indented = INDENTATION.search(like)
    written = json.dumps(parse(text).tree, indent=indented[1] if indented else None, ensure_ascii=False)
    return written + like[len(like.rstrip()) :]


def _untouched(line: int, what: str) -> Note:
    return Note(
        Mark(line),
        f"the file was left as it is: it uses {what}",
        "rewrite that line and try again",
        look=True,
    )


def _in_order(notes: Iterable[Note]) -> tuple[Note, ...]:
    return tuple(sorted(dict.fromkeys(notes), key=lambda note: (note.mark.line, note.mark.column)))

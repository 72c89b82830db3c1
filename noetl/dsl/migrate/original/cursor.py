"""A loop over a cursor, as the original had it: workers that took rows of a table, a frame of them at a time.

It becomes a loop that claims its items (`in: {claim: …, until: empty}`).
"""

import re

from noetl.dsl.migrate.original.remarks import gone, remark
from noetl.dsl.migrate.original.sql import SQL, number_ids
from noetl.dsl.migrate.original.task import rewrite_original_task
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.templates import edit_scalar
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry

FRAME_ROWS = re.compile(r"\b__frame_max_rows\b")
FRAME = ("frame", "frame_policy")
REPEATED = (
    "a claim that is made again after its worker was lost takes other rows, "
    "unless the query first takes back those of {{ claim.key }}"
)
TAKE_BACK = (
    "let the query note the key (set claimed_by = '{{ claim.key }}') and first take the rows that have it: "
    "docs/how-to/work-through-a-table.md"
)
NOT_OFFERED = "a loop over this cursor is not offered"
HINT = "write: in: {claim: {kind: …, input: …}, until: empty}, with a task of any kind that gives rows"


def rewrite_cursor(rw: Rewriting, loop: Collection) -> None:
    """Let the loop claim its items with the query that its cursor had."""
    entry, cursor = loop.entry("cursor"), loop.map_at("cursor")
    if entry is None:
        return
    query = cursor.entry("claim") if cursor is not None else None
    if cursor is None or query is None or cursor.word("kind") not in SQL or "in" in loop:
        remark(rw, loop, entry, NOT_OFFERED, HINT)
        return
    _rewrite_claim(rw, cursor, query)
    _schedule(rw, loop, cursor)
    entry.rename("in")
    claim = tree.pair("claim", cursor, mark=entry.mark)
    cursor.indent = None
    entry.value = tree.mapping([claim, tree.pair("until", tree.word("empty"))], flow=cursor.flow)
    rw.changed(entry.mark, "'cursor' of the loop is now a claim under 'in'")
    remark(rw, loop, entry, REPEATED, TAKE_BACK)


def _rewrite_claim(rw: Rewriting, cursor: Collection, query: Entry) -> None:
    """The task that claims: its statement is an input of the kind, as of any task."""
    options, text = cursor.entry("options"), cursor.scalar_at("claim")
    query.rename("query")
    if options is not None:
        gone(rw, cursor, options, "a claim is a task; its time limit is spec.timeout")
    if text is not None:
        edit_scalar(text, lambda written: FRAME_ROWS.sub("claim.batch", written))
    rewrite_original_task(rw, cursor)
    number_ids(rw, cursor)


def _schedule(rw: Rewriting, loop: Collection, cursor: Collection) -> None:
    """What cursors had to schedule their workers, as loops have it."""
    spec = loop.child("spec")
    mode = spec.entry("mode")
    if mode is None:
        spec.insert(0, tree.pair("mode", tree.word("parallel")))
    else:
        mode.value = tree.word("parallel", mode.mark)
    for key in FRAME:
        frame, inside = spec.entry(key), spec.map_at(key)
        if frame is not None:
            rows = inside.entry("max_rows") if inside is not None else None
            if inside is not None and rows is not None:
                inside.pull(rows)
                rows.rename("batch")
                cursor.add(rows)
            _widen(spec, inside)
            gone(rw, spec, frame, "a worker holds what it works on by its lease; a claim has 'batch'")
    if "policy" not in spec:
        spec.add(tree.pair("policy", tree.mapping_of({"exec": "distributed"}, flow=True)))


def _widen(spec: Collection, frame: Collection | None) -> None:
    """Each worker of a cursor worked on several rows at once: so many are in flight together."""
    wide, most = frame.word("row_concurrency") if frame is not None else None, spec.scalar_at("max_in_flight")
    if wide is not None and most is not None and wide.isdigit() and most.value.isdigit():
        most.say(str(int(wide) * int(most.value)))

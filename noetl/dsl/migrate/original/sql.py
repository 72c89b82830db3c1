"""SQL as the original ran it: from a file, and with execution ids that were numbers."""

import re

from noetl.dsl.migrate.original.code import holders
from noetl.dsl.migrate.original.remarks import remark
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.tasks import as_pipeline, free_label, tasks_of
from noetl.dsl.older_spellings.templates import edit_scalar
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Data

SQL = ("postgres", "duckdb", "sqlite")
BARE_ID = re.compile(r"(?<![\w'\":/}-])\{\{\s*(?:job\.uuid|(?:job\.)?execution_id)\s*\}\}(?![\w'\":/{-])")
NUMBER = "{{ execution_id[-15:] | int(0, 16) }}"


def rewrite_sql(rw: Rewriting, owner: Collection, name: str) -> None:
    """Bring the SQL tasks of a step or block to text that runs here."""
    for task in [*tasks_of(owner)]:
        if task.word("kind") in SQL:
            number_ids(rw, task)
            _read_script(rw, owner, task, name)


def number_ids(rw: Rewriting, task: Collection) -> None:
    """The id of an execution is a text here; where it stood as a number, one made of it does."""
    message = "the id of an execution is a text here; a number made of it stands for it"
    for holder in holders(task):
        for key in ("command", "query"):
            entry, text = holder.entry(key), holder.scalar_at(key)
            if entry is None or text is None or "execution_id" not in text.value:
                continue
            if edit_scalar(text, _with_numbers):
                remark(rw, holder, entry, message)


def _with_numbers(text: str) -> str:
    def number(match: re.Match[str]) -> str:
        before = text[: match.start()]
        return match[0] if before.count("'") % 2 or before.count('"') % 2 else NUMBER

    return BARE_ID.sub(number, text)


def _read_script(rw: Rewriting, owner: Collection, task: Collection, name: str) -> None:
    """`script: {uri, source}`: a task before it reads the statements."""
    entry, uri = task.entry("script"), task.scalar_at("script", "uri")
    source = task.get("script", "source", "type")
    if entry is None or uri is None or not (source is None or tree.says(source, "file", "http")):
        return
    tasks = as_pipeline(owner, name)
    place = next((i for i, each in enumerate(tasks.values()) if each is task), None)
    if place is None:
        hint = "read the file before, and use its text"
        remark(rw, task, entry, "'script' is read by a task of its own", hint)
        return
    label = free_label(tasks, f"{task.word('name')}_script")
    inputs: dict[str, Data] = {"action": "read", "path": uri, "format": "text"}
    if tree.says(source, "http"):
        inputs = {"url": uri, "response": "text"}
    uri.column = 0
    kind = "http" if tree.says(source, "http") else "file"
    reader = tree.mapping_of({"name": label, "kind": kind, "input": tree.mapping_of(inputs, flow=True)})
    tasks.insert(place, tree.item(reader, mark=entry.mark))
    entry.rename("command")
    entry.value, entry.gap = tree.quoted("{{ " + label + ".data }}", entry.mark), " "
    rw.changed(entry.mark, f"the statements of 'script' are now read by a task '{label}'")


def share_database(rw: Rewriting, steps: list[Collection]) -> None:
    """DuckDB tasks without a database shared one in an execution; today each has its own in memory."""
    owners = {id(task): step for step in steps for task in tasks_of(step) if task.word("kind") == "duckdb"}
    tasks = [task for step in steps for task in tasks_of(step) if id(task) in owners]
    loose = [task for task in tasks if "database" not in task.keys_at("input")]
    if len(loose) < 2 or any("loop" in owners[id(task)] for task in loose) or not _makes_table(loose):
        return
    for task in loose:
        inputs = task.map_at("input")
        if inputs is not None and inputs.entries:
            first = inputs.entries[0]
            entry = tree.pair("database", tree.quoted("{{ execution_id }}.duckdb"), mark=first.mark)
            entry.column = first.column
            inputs.insert(0, entry)
            remark(rw, inputs, entry, "tasks of an execution shared one database: here it is a file")


def _makes_table(tasks: list[Collection]) -> bool:
    texts = [scalar.value.lower() for task in tasks for scalar in tree.scalars(task)]
    return any("create " in text and "table" in text for text in texts)

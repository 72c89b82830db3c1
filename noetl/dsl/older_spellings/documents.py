"""The root of a document of any age: `vars`, `executor.kind`, `workbook.tasks`; then its steps and blocks."""

from noetl.dsl.grammar.playbook import PROFILES
from noetl.dsl.older_spellings.findings import EXECUTOR_KIND, LEGACY_VARS, WORKBOOK_TASKS
from noetl.dsl.older_spellings.positioned import positioned
from noetl.dsl.older_spellings.respelling import defined_by, note_older_names, passed_on
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.steps import rewrite_body, rewrite_step
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry, Node
from noetl.dsl.yaml.one_line import flow

Blocks = list[tuple[str, Collection]]


def rewrite_document(rw: Rewriting, root: Collection) -> tuple[list[Collection], Blocks]:
    """Bring a whole playbook to today's spelling, in place; its steps, and its blocks by name."""
    steps, blocks = root.maps_at("workflow"), blocks_of(root)
    if rw.loading:  # first, so that hints show today's names
        defined = defined_by(root)
        for owner in (*steps, *(block for _, block in blocks)):
            note_older_names(rw, defined, owner)
    else:
        rw.passed_on = passed_on([*steps, *(block for _, block in blocks)])
    _rewrite_vars(rw, root)
    _rewrite_executor(rw, root)
    _rewrite_workbook(rw, root)
    for step in steps:
        rewrite_step(rw, step)
    for name, block in blocks:
        rewrite_body(rw, block, name)
    return steps, blocks


def _rewrite_vars(rw: Rewriting, root: Collection) -> None:
    """Variables of the document: what nothing writes is input."""
    entry = root.entry("vars")
    if entry is None:
        return
    message = "'vars' is not a section of a playbook: inputs are 'workload', shared state is 'ctx'"
    rw.legacy(LEGACY_VARS, entry.mark, message, f"workload: {flow(positioned(entry.value))}")
    if rw.loading:
        root.drop(entry)
        return
    values, workload = entry.as_map, root.map_at("workload")
    if values is None or ("workload" in root and workload is None):
        rw.review(entry.mark, "'vars' was left as it is", "put the values under workload")
        return
    rw.root_vars = set(values.names)
    if workload is None:
        entry.rename("workload")
    else:
        for value in workload.take(values):
            rw.review(value.mark, f"'{value.key}' of 'vars' is gone: 'workload' has a value of that name")
        root.drop(entry)
    rw.review(
        entry.mark, "'vars' is now part of 'workload', which no step can change", "what steps write is ctx"
    )


def _rewrite_executor(rw: Rewriting, root: Collection) -> None:
    executor, entry = root.map_at("executor"), root.entry("executor", "kind")
    if executor is None or entry is None:
        return
    if "profile" in executor:
        if not rw.loading:
            executor.drop(entry)
            rw.review(entry.mark, "'executor.kind' is gone: 'profile' says the same")
        return
    message = "'executor.kind' is an older spelling of 'executor.profile'"
    rw.deprecated(EXECUTOR_KIND, entry.mark, message, f"profile: {flow(positioned(entry.value))}")
    entry.rename("profile")
    rw.changed(entry.mark, "'executor.kind' is now 'executor.profile'")
    if not tree.says(entry.value, *PROFILES):
        rw.review(entry.mark, f"the profile must be one of {', '.join(PROFILES)}")


def _rewrite_workbook(rw: Rewriting, root: Collection) -> None:
    entry = root.entry("workbook")
    while entry is not None and (inside := _wrapped(entry.value)) is not None:
        book = entry.value
        assert isinstance(book, Collection)
        tasks = book.entries[0]
        message = "'workbook.tasks' is an older spelling: blocks stand directly under 'workbook'"
        rw.deprecated(WORKBOOK_TASKS, tasks.mark, message, f"workbook: {flow(positioned(inside))}")
        inside.end_with(book.trailing)
        _unwrap_tasks(entry, tasks, inside)
        rw.changed(tasks.mark, "the blocks of 'workbook.tasks' now stand directly under 'workbook'")
    if not rw.loading:
        blocks = root.list_at("workbook")
        if entry is not None and blocks is not None and not blocks.entries:
            root.drop(entry)  # a list without blocks says nothing
        for _, block in blocks_of(root):
            _wrap_task(rw, block)


def _unwrap_tasks(entry: Entry, tasks: Entry, inside: Collection) -> None:
    """Put the blocks in the place of `tasks`; what was said about it goes above the first of them."""
    if not inside.entries or inside.flow:
        entry.before += tree.indented(tasks.comments, entry.column)
        entry.gap = " "
    else:
        inside.entries[0].lead_with(tasks.comments)
    entry.value = inside


def _wrapped(book: Node | None) -> Collection | None:
    """What stands under the `tasks` of an older workbook; a block may be called `tasks`, too."""
    holder = tree.as_map(book)
    inside = holder.get("tasks") if holder is not None and holder.names == ["tasks"] else None
    if not isinstance(inside, Collection) or isinstance(inside.get("tool"), Collection):
        return None
    return inside


def _wrap_task(rw: Rewriting, block: Collection) -> None:
    """A named task of the older catalogue is a block with that one task."""
    if "kind" not in block or "tool" in block:
        return
    inside = tree.mapping([entry for entry in block.entries if entry.key != "name"], flow=block.flow)
    inside.column = block.column
    name = [entry for entry in block.entries if entry.key == "name"]
    block.entries = [*name, tree.pair("tool", inside, mark=block.mark)]
    rw.changed(block.mark, "a task of the workbook is now a block with that task")


def blocks_of(root: Collection) -> Blocks:
    """Every block of the workbook with its name; a list of named blocks counts too."""
    book = root.get("workbook")
    while (inside := _wrapped(book)) is not None:
        book = inside
    if tree.as_list(book) is not None:
        return [(block.word("name") or "block", block) for block in tree.maps(book)]
    return [(str(entry.key), block) for entry in tree.entries(book) if (block := entry.as_map) is not None]


def entry_step(root: Collection, steps: list[Collection]) -> str | None:
    names = [step.word("step") for step in steps]
    first = "start" if "start" in names else names[0] if names else None
    return root.word("executor", "spec", "entry_step") or first

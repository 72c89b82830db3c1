"""Tasks of every age: label maps, `args`, tool inputs beside `kind`; and where the tasks of a step are."""

from collections.abc import Iterator

from noetl.dsl.grammar_task import SUGAR, TASK
from noetl.dsl.kind import Kind
from noetl.dsl.migrate.policies import rewrite_eval, rewrite_guard, rewrite_policy
from noetl.dsl.migrate.rewriting import Rewriting
from noetl.dsl.migrate.text import (
    Alias,
    Collection,
    Entry,
    Scalar,
    as_list,
    as_map,
    item,
    listing,
    mapping,
    pair,
    plain,
    says,
)
from noetl.dsl.migrate.writes import OLDER, rewrite_set
from noetl.dsl.nearest import nearest

OWN_KEYS = frozenset({*TASK.keys, *SUGAR, *OLDER, "set_prev", "args", "eval", "pipe"})


def rewrite_tool(rw: Rewriting, owner: Collection) -> None:
    """Bring the tasks of a step or block to named tasks with `input`."""
    entry = owner.entry("tool")
    if entry is None:
        return
    _unwrap_pipe(rw, entry)
    _list_labels(rw, entry)
    loop = owner.map_at("loop")
    if isinstance(entry.value, Collection) and entry.value.kind == "map":
        _rewrite_item(rw, entry, loop)
    else:
        rewrite_tasks(rw, as_list(entry.value), loop)


def rewrite_tasks(rw: Rewriting, tasks: Collection | None, loop: Collection | None) -> None:
    """Bring a list of tasks to today's spelling."""
    if tasks is None:
        return
    _splice_pipes(rw, tasks)
    for entry in tasks.entries:
        _rewrite_item(rw, entry, loop)


def pipelines(node: Collection) -> Iterator[Collection]:
    """Every list of tasks of a step or block, the insides of sugar included; a single task is a list of one."""
    tool = node.get("tool")
    if as_map(tool) is not None:
        yield listing([Entry(tool)])  # type: ignore[arg-type]
    for tasks in [as_list(tool)] if as_list(tool) is not None else []:
        yield from _nested(tasks)  # type: ignore[arg-type]


def as_pipeline(owner: Collection, name: str) -> Collection:
    """The tasks of a step or block as a list that more can be put into, each still called what it was called."""
    holder = owner.entry("tool")
    assert holder is not None
    tasks = as_list(holder.value)
    if tasks is None:
        tasks = listing([item(holder.value)], flow=isinstance(holder.value, Collection) and holder.value.flow)
        holder.value, holder.gap = tasks, " "
        _name_one(as_map(tasks.entries[0].value), f"{name}_task")
    for index, task in enumerate(map(as_map, tasks.values())):
        _name_one(task, f"task_{index}")
    return tasks


def _name_one(task: Collection | None, label: str) -> None:
    if task is not None and task.entry("name") is None and task.entry("kind") is not None:
        name = pair("name", plain(label))
        first = task.entries[0]
        name.before, name.column, first.before = first.before, first.column, []
        task.insert(0, name)


def free_label(tasks: Collection, wanted: str) -> str:
    """A label that no task of a pipeline has."""
    taken = {task.word("name") for task in map(as_map, tasks.values()) if task is not None}
    while wanted in taken:
        wanted += "_"
    return wanted


def tasks_of(node: Collection) -> Iterator[Collection]:
    """Every task of a step or block."""
    for tasks in pipelines(node):
        yield from (task for task in map(as_map, tasks.values()) if task is not None)


def _nested(tasks: Collection) -> Iterator[Collection]:
    yield tasks
    for task in map(as_map, tasks.values()):
        for inner in _insides(task) if task is not None else ():
            if inner.kind == "list":
                yield from _nested(inner)
            else:
                yield listing([Entry(inner)])


def _insides(task: Collection) -> Iterator[Collection]:
    """The task lists inside a sugar item, and the request of `paginate`."""
    for sugar in (task.map_at("while"), task.map_at("until"), task.map_at("paginate")):
        for key in ("do", "each", "request") if sugar is not None else ():
            found = sugar.get(key)  # type: ignore[union-attr]
            if isinstance(found, Collection):
                yield found
    for branch in map(as_map, (task.list_at("choose") or listing()).values()):
        for key in ("then", "else") if branch is not None else ():
            found = branch.list_at(key)  # type: ignore[union-attr]
            if found is not None:
                yield found


def _unwrap_pipe(rw: Rewriting, entry: Entry) -> None:
    """`tool: {pipe: [...]}`: the list is the pipeline."""
    tool = as_map(entry.value)
    inner = tool.entry("pipe") if tool is not None else None
    if tool is not None and inner is not None and len(tool.entries) == 1 and as_list(inner.value) is not None:
        entry.value = inner.value
        rw.changed(inner.mark, "'pipe' is gone: a list under 'tool' is the pipeline")


def _splice_pipes(rw: Rewriting, tasks: Collection) -> None:
    """`- pipe: [...]` inside a pipeline: its tasks take its place."""
    for entry in list(tasks.entries):
        body = as_map(entry.value)
        inner = body.entry("pipe") if body is not None else None
        found = as_list(inner.value) if inner is not None else None
        if body is None or found is None or len(body.entries) != 1:
            continue
        at = tasks.place(entry)
        tasks.drop(entry)
        tasks.entries[at:at] = found.entries
        rw.changed(entry.mark, "'pipe' inside a pipeline is gone: its tasks stand in its place")


def _list_labels(rw: Rewriting, entry: Entry) -> None:
    """`tool: {a: {kind: …}, b: {kind: …}}`: several labelled tasks in one mapping are a list."""
    tool = as_map(entry.value)
    if tool is None or len(tool.entries) < 2 or not all(_is_labelled(e) for e in tool.entries):
        return
    tasks = listing(flow=tool.flow)
    for labelled in list(tool.entries):
        tool.pull(labelled)
        before, labelled.before = labelled.before, []
        wrapped = item(mapping([labelled], flow=tool.flow), mark=labelled.mark)
        wrapped.before, wrapped.column = before, labelled.column
        tasks.add(wrapped)
    tasks.trailing, tasks.column = tool.trailing, tool.column
    entry.value = tasks


def _is_labelled(entry: Entry) -> bool:
    """Whether a key is the label of the task under it; a task may be labelled `paginate`, as sugar is called."""
    body = as_map(entry.value)
    if entry.key in SUGAR:
        return body is not None and "kind" in body.keys()
    return entry.key not in OWN_KEYS and (body is not None or isinstance(entry.value, Alias))


def _rewrite_item(rw: Rewriting, entry: Entry, loop: Collection | None) -> None:
    task = as_map(entry.value)
    if task is None:
        return
    if len(task.entries) == 1 and _is_labelled(task.entries[0]):
        task = _name_task(rw, entry, task.entries[0])
    if task is not None:
        rewrite_task(rw, task, loop)


def _name_task(rw: Rewriting, entry: Entry, labelled: Entry) -> Collection | None:
    """A label map becomes the task itself, with the label as its name."""
    body = as_map(labelled.value)
    if body is None:
        rw.review(
            labelled.mark, f"task '{labelled.key}' is an alias and keeps its label map", "write the task out"
        )
        return None
    _give_up_name(rw, body, str(labelled.key))
    name = Entry(Scalar(labelled.key_text.rstrip(), str(labelled.key)), "name", "name", mark=labelled.mark)
    name.column = body.column
    if body.flow:
        entry.after = entry.after or labelled.after
    else:
        name.after = labelled.after
    body.insert(0, name)
    entry.value = body
    rw.changed(labelled.mark, f"task '{labelled.key}' is now named by 'name'")
    return body


def _give_up_name(rw: Rewriting, body: Collection, label: str) -> None:
    """Under a label, `name` can only be an input of the tool."""
    entry = body.entry("name")
    if entry is None:
        return
    if says(entry.value, label):
        body.drop(entry)
        return
    values = body.map_at("input")
    if values is None:
        values = mapping(flow=body.flow)
        body.insert(body.place(entry), pair("input", values, mark=entry.mark))
    values.add(body.pull(entry))
    rw.changed(entry.mark, f"'name' under the label '{label}' is now input.name")


def rewrite_task(rw: Rewriting, task: Collection, loop: Collection | None) -> None:
    """Bring one task, or one sugar item, to today's spelling."""
    rw.quiet = rewrite_eval(rw, task)  # one note for the whole of it is enough
    rewrite_policy(rw, task, loop)
    rw.quiet = False
    rewrite_set(rw, task, loop)
    _rewrite_sugar(rw, task, loop)
    _fold_inputs(rw, task)


def _rewrite_sugar(rw: Rewriting, task: Collection, loop: Collection | None) -> None:
    for body in (task.map_at("while"), task.map_at("until")):
        if body is not None:
            rewrite_guard(rw, body)
    for branch in map(as_map, (task.list_at("choose") or listing()).values()):
        if branch is not None:
            rewrite_guard(rw, branch)
    for inside in _insides(task):
        if inside.kind == "list":
            rewrite_tasks(rw, inside, loop)
        else:
            rewrite_task(rw, inside, loop)


def _fold_inputs(rw: Rewriting, task: Collection) -> None:
    """Put `args` and the tool inputs beside `kind` under `input`."""
    kind, args = rw.kind_of(task), task.entry("args")
    beside = [entry for entry in task.entries if kind is not None and _is_input(str(entry.key), kind)]
    if args is not None and as_map(args.value) is None:
        rw.review(
            args.mark,
            "'args' of a task is not a mapping and was left as it is",
            "write: input: {name: value}",
        )
        args = None
    folded = [entry for entry in task.entries if entry in beside or entry is args]
    if not folded:
        return
    given = task.entry("input")
    if given is not None and as_map(given.value) is None:
        rw.review(given.mark, "'input' is not a mapping, so the inputs beside it were left where they are")
        return
    _note_folding(rw, args, beside)
    if given is None and folded == [args] and args is not None:
        args.key = args.key_text = "input"
        return
    _fold(rw, task, folded, args)


def _note_folding(rw: Rewriting, args: Entry | None, beside: list[Entry]) -> None:
    if args is not None:
        rw.changed(args.mark, "'args' of the task is now 'input'")
    if beside:
        names = ", ".join(f"'{entry.key}'" for entry in beside)
        rw.changed(
            beside[0].mark, f"{names} {'now stands' if len(beside) == 1 else 'now stand'} under 'input'"
        )


def _is_input(key: str, kind: Kind) -> bool:
    if key in kind.beside or key in OWN_KEYS:
        return False
    if key in kind.inputs:
        return True
    # A misspelt task key must not turn into a variable of an open kind.
    return kind.open_input and not kind.beside and nearest(key, TASK.keys) is None


def _fold(rw: Rewriting, task: Collection, folded: list[Entry], args: Entry | None) -> None:
    values = task.map_at("input")
    if values is None:
        values = mapping(flow=task.flow)
        holder = task.insert(task.place(folded[0]), pair("input", values, mark=folded[0].mark))
        _lift_blank_lines(folded[0], holder)
    for entry in folded:
        if entry is args:
            _open_args(task, entry, values)
        else:
            task.pull(entry)
        for value in as_map(entry.value).entries if entry is args else [entry]:  # type: ignore[union-attr]
            if values.entry(str(value.key)) is not None:
                rw.review(
                    value.mark,
                    f"'{value.key}' is given twice; the one under 'input' wins and this one is gone",
                )
            else:
                values.add(value)


def _open_args(task: Collection, args: Entry, values: Collection) -> None:
    """Take `args` out of the task; what was said about it goes above its first value."""
    task.pull(args)
    inside = as_map(args.value)
    if inside is not None and inside.entries:
        first = inside.entries[0]
        first.before[:0] = [" " * first.column + line.strip() for line in args.comments]
    if inside is not None:
        values.trailing += inside.trailing


def _lift_blank_lines(entry: Entry, holder: Entry) -> None:
    holder.column = entry.column
    while entry.before and not entry.before[0].strip():
        holder.before.append(entry.before.pop(0))

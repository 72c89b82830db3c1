"""Tasks of every age: label maps, `args`, tool inputs beside `kind`; and where the tasks of a step are."""

from collections.abc import Iterator

from noetl.dsl.grammar.task import SUGAR, TASK
from noetl.dsl.migrate.editable_tree import (
    Alias,
    Collection,
    Entry,
    Scalar,
    as_list,
    as_map,
    at,
    indented,
    item,
    listing,
    mapping,
    maps,
    pair,
    plain,
    says,
)
from noetl.dsl.migrate.policies import rewrite_eval, rewrite_guard, rewrite_policy
from noetl.dsl.migrate.rewriting import Rewriting
from noetl.dsl.migrate.set_spellings import OLDER, rewrite_set
from noetl.dsl.nearest import nearest
from noetl.dsl.tool_kind import Kind

OWN_KEYS = frozenset({*TASK.keys, *SUGAR, *OLDER, "set_prev", "args", "eval", "pipe"})

# ---- where tasks are --------------------------------------------------------------------------------------


def tasks_of(owner: Collection) -> Iterator[Collection]:
    """Every task of a step or block, those inside sugar included."""
    tool = owner.get("tool")
    single = as_map(tool)
    for task in [single] if single is not None else maps(tool):
        yield from _with_insides(task)


def _with_insides(task: Collection) -> Iterator[Collection]:
    yield task
    for inside in _insides(task):
        for inner in maps(inside) if inside.kind == "list" else [inside]:
            yield from _with_insides(inner)


def _insides(task: Collection) -> Iterator[Collection]:
    """The task lists inside a sugar item, and the one task that `paginate` asks with."""
    places = (("while", "do"), ("until", "do"), ("paginate", "each"), ("paginate", "request"))
    found = [at(task, *place) for place in places]
    found += [branch.get(key) for branch in maps(task.get("choose")) for key in ("then", "else")]
    yield from (node for node in found if isinstance(node, Collection))


def as_pipeline(owner: Collection, name: str) -> Collection:
    """The tasks of a step or block as a list, each still called what it was called."""
    holder = owner.entry("tool") or owner.add(pair("tool", listing(flow=owner.flow)))
    tasks = as_list(holder.value)
    if tasks is None:
        flow = isinstance(holder.value, Collection) and holder.value.flow
        tasks = listing([item(holder.value)], flow=flow)
        holder.value = tasks
        _name_one(as_map(tasks.entries[0].value), f"{name}_task")
    for index, task in enumerate(map(as_map, tasks.values())):
        _name_one(task, f"task_{index}")
    return tasks


def _name_one(task: Collection | None, label: str) -> None:
    if task is None or "name" in task or not task.entries or _is_label_map(task):
        return
    name, first = pair("name", plain(label)), task.entries[0]
    name.column, name.before, first.before = first.column, first.before, []
    task.insert(0, name)


def free_label(tasks: Collection, wanted: str) -> str:
    """A label that no task of a pipeline has."""
    taken = {task.word("name") for task in maps(tasks)}
    while wanted in taken:
        wanted += "_"
    return wanted


# ---- lists and labels -------------------------------------------------------------------------------------


def rewrite_tool(rw: Rewriting, owner: Collection) -> None:
    """Bring the tasks of a step or block to named tasks with `input`."""
    entry = owner.entry("tool")
    if entry is None:
        return
    _unwrap_pipe(rw, entry)
    _list_labels(entry)
    loop = owner.map_at("loop")
    tasks = as_list(entry.value)
    if tasks is None:
        _rewrite_item(rw, entry, loop)
    else:
        _rewrite_tasks(rw, tasks, loop)


def _rewrite_tasks(rw: Rewriting, tasks: Collection, loop: Collection | None) -> None:
    _splice_pipes(rw, tasks)
    for entry in tasks.entries:
        _rewrite_item(rw, entry, loop)


def _unwrap_pipe(rw: Rewriting, entry: Entry) -> None:
    """`tool: {pipe: [...]}`: the list is the pipeline."""
    inner = _only_pipe(as_map(entry.value))
    if inner is not None:
        entry.value = inner.value
        entry.before += indented(inner.comments, entry.column)
        rw.changed(inner.mark, "'pipe' is gone: a list under 'tool' is the pipeline")


def _only_pipe(node: Collection | None) -> Entry | None:
    """The entry of a mapping that holds a `pipe` list and nothing else."""
    inner = node.entry("pipe") if node is not None and len(node.entries) == 1 else None
    return inner if inner is not None and as_list(inner.value) is not None else None


def _splice_pipes(rw: Rewriting, tasks: Collection) -> None:
    """`- pipe: [...]` inside a pipeline: its tasks take its place."""
    for entry in list(tasks.entries):
        inner = _only_pipe(as_map(entry.value))
        found = as_list(inner.value) if inner is not None else None
        if found is not None:
            place = tasks.place(entry)
            tasks.drop(entry)
            tasks.entries[place:place] = found.entries
            rw.changed(entry.mark, "'pipe' inside a pipeline is gone: its tasks stand in its place")


def _list_labels(entry: Entry) -> None:
    """`tool: {a: {kind: …}, b: {kind: …}}`: several labelled tasks in one mapping are a list."""
    tool = as_map(entry.value)
    if tool is None or len(tool.entries) < 2 or not all(map(_is_labelled, tool.entries)):
        return
    tasks = listing(flow=tool.flow)
    for labelled in list(tool.entries):
        tool.pull(labelled)
        wrapped = item(mapping([labelled], flow=tool.flow), mark=labelled.mark)
        wrapped.before, wrapped.column, labelled.before = labelled.before, labelled.column, []
        tasks.add(wrapped)
    tasks.trailing, tasks.column = tool.trailing, tool.column
    entry.value = tasks


def _is_label_map(task: Collection) -> bool:
    return len(task.entries) == 1 and _is_labelled(task.entries[0])


def _is_labelled(entry: Entry) -> bool:
    """Whether a key is the label of the task under it; a task may be called `paginate`, as sugar is."""
    body = as_map(entry.value)
    if entry.key in SUGAR:
        return body is not None and "kind" in body
    return entry.key not in OWN_KEYS and (body is not None or isinstance(entry.value, Alias))


def _rewrite_item(rw: Rewriting, entry: Entry, loop: Collection | None) -> None:
    task = as_map(entry.value)
    if task is not None and _is_label_map(task):
        trailing = task.trailing
        task = _name_task(rw, entry, task.entries[0])
        if task is not None:
            task.end_with(trailing)
    if task is not None:
        rewrite_task(rw, task, loop)


def _name_task(rw: Rewriting, entry: Entry, labelled: Entry) -> Collection | None:
    """A label map becomes the task itself, with the label as its name."""
    body, label = as_map(labelled.value), str(labelled.key)
    if body is None:
        rw.review(labelled.mark, f"task '{label}' is an alias and keeps its label", "write the task out")
        return None
    _give_up_name(rw, body, label)
    name = Entry(Scalar(labelled.key_text.rstrip(), label), "name", "name", mark=labelled.mark)
    name.column = body.column
    if body.flow:
        entry.after = entry.after or labelled.after
    else:
        name.after = labelled.after
    body.insert(0, name)
    entry.value = body
    rw.changed(labelled.mark, f"task '{label}' is now named by 'name'")
    return body


def _give_up_name(rw: Rewriting, body: Collection, label: str) -> None:
    """Under a label, `name` can only be an input of the tool."""
    entry = body.entry("name")
    if entry is None:
        return
    if says(entry.value, label):
        body.drop(entry)
        return
    place = body.place(entry)
    body.pull(entry)
    if "input" not in body:
        body.insert(place, pair("input", mapping(flow=body.flow), mark=entry.mark))
    body.child("input").add(entry)
    rw.changed(entry.mark, f"'name' under the label '{label}' is now input.name")


# ---- one task ---------------------------------------------------------------------------------------------


def rewrite_task(rw: Rewriting, task: Collection, loop: Collection | None) -> None:
    """Bring one task, or one sugar item, to today's spelling."""
    rw.inside_eval = rewrite_eval(rw, task)
    rewrite_policy(rw, task, loop)
    rw.inside_eval = False
    rewrite_set(rw, task, loop)
    for guarded in (task.map_at("while"), task.map_at("until"), *maps(task.get("choose"))):
        if guarded is not None:
            rewrite_guard(rw, guarded)
    for inside in _insides(task):
        if inside.kind == "list":
            _rewrite_tasks(rw, inside, loop)
        else:
            rewrite_task(rw, inside, loop)
    _fold_inputs(rw, task)


def _fold_inputs(rw: Rewriting, task: Collection) -> None:
    """Put `args` and the tool inputs beside `kind` under `input`."""
    kind, args = rw.kind_of(task), task.entry("args")
    beside = [entry for entry in task.entries if kind is not None and _is_input(str(entry.key), kind)]
    if args is not None and as_map(args.value) is None:
        rw.review(args.mark, "'args' is not a mapping and was left as it is", "write: input: {name: value}")
        args = None
    folded = [entry for entry in task.entries if entry in beside or entry is args]
    given = task.entry("input")
    if not folded:
        return
    if given is not None and as_map(given.value) is None:
        rw.review(given.mark, "'input' is not a mapping: the inputs beside it were left where they are")
        return
    _note_folding(rw, args, beside)
    if given is None and args is not None and not beside:
        args.rename("input")
    else:
        _fold(rw, task, folded, args)


def _note_folding(rw: Rewriting, args: Entry | None, beside: list[Entry]) -> None:
    if args is not None:
        rw.changed(args.mark, "'args' of the task is now 'input'")
    if beside:
        names = ", ".join(f"'{entry.key}'" for entry in beside)
        verb = "now stands" if len(beside) == 1 else "now stand"
        rw.changed(beside[0].mark, f"{names} {verb} under 'input'")


def _is_input(key: str, kind: Kind) -> bool:
    if key in kind.beside or key in OWN_KEYS:
        return False
    if key in kind.inputs:
        return True
    # A misspelt task key must not turn into a variable of an open kind.
    return kind.open_input and not kind.beside and nearest(key, TASK.keys) is None


def _fold(rw: Rewriting, task: Collection, folded: list[Entry], args: Entry | None) -> None:
    if "input" not in task:
        holder = pair("input", mapping(flow=task.flow), mark=folded[0].mark)
        task.insert(task.place(folded[0]), holder)
        _lift_blank_lines(folded[0], holder)
    values = task.child("input")
    for entry in folded:
        task.pull(entry)
        for value in _opened(entry, values) if entry is args else [entry]:
            if str(value.key) in values:
                rw.review(value.mark, f"'{value.key}' is given twice; 'input' wins and this one is gone")
            else:
                values.add(value)


def _opened(args: Entry, values: Collection) -> list[Entry]:
    """The values of `args`; what was said about it goes above the first of them."""
    inside = as_map(args.value) or mapping()
    if inside.entries:
        inside.entries[0].lead_with(args.comments)
    values.end_with(inside.trailing)
    return inside.entries


def _lift_blank_lines(entry: Entry, holder: Entry) -> None:
    holder.column = entry.column
    while entry.before and not entry.before[0].strip():
        holder.before.append(entry.before.pop(0))

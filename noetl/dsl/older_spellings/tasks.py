"""Tasks of every age: label maps, `args`, tool inputs beside `kind`; and where the tasks of a step are."""

import re
from collections.abc import Container, Iterator

from noetl.dsl.grammar.claim import CLAIM_BOUNDS
from noetl.dsl.grammar.task import SUGAR, TASK
from noetl.dsl.nearest import nearest
from noetl.dsl.older_spellings.findings import ARGS, INPUT_BESIDE_KIND, LABEL_MAP, LEGACY_CASE, LEGACY_PIPE
from noetl.dsl.older_spellings.policies import rewrite_decisions, rewrite_guard
from noetl.dsl.older_spellings.positioned import positioned
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.set_spellings import OLDER, rewrite_set
from noetl.dsl.tool_kind import Kind
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Alias, Collection, Entry, Node, Scalar
from noetl.dsl.yaml.one_line import flow
from noetl.json_value import Json

NO_PIPE = "'pipe' is not part of the language: a list under 'tool' is the pipeline"
NO_CASE = "'case' is not part of the language: guards stand on the arcs, decisions in a task's policy"
OWN_KEYS = frozenset({*TASK.keys, *SUGAR, *OLDER, "set_prev", "args", "case", "eval", "pipe"})
# Words of the language that a task was often called: a task with a kind stands under its label.
LABELS_TOO = frozenset({*SUGAR, "case", "pipe"})

# ---- where tasks are --------------------------------------------------------------------------------------


def tasks_of(owner: Collection) -> Iterator[Collection]:
    """Every task of a step or block, those inside sugar included."""
    for task in outer_tasks(owner):
        yield from _with_insides(task)


def outer_tasks(owner: Collection) -> list[Collection]:
    """The tasks of a step or block, whether it has a list of them or one alone."""
    task = owner.map_at("tool")
    return [task] if task is not None else owner.maps_at("tool")


def _with_insides(task: Collection) -> Iterator[Collection]:
    yield task
    for inside in _insides(task):
        for inner in tree.maps(inside) if inside.kind == "list" else [inside]:
            yield from _with_insides(inner)


def _insides(task: Collection) -> Iterator[Collection]:
    """The task lists inside a sugar item, and the one task that `paginate` asks with."""
    places = (("while", "do"), ("until", "do"), ("paginate", "each"), ("paginate", "request"))
    inside = [task.get(*place) for place in places]
    inside += [branch.get(key) for branch in task.maps_at("choose") for key in ("then", "else")]
    yield from (node for node in inside if isinstance(node, Collection))


def as_pipeline(owner: Collection, name: str) -> Collection:
    """The tasks of a step or block as a list, each still called what it was called."""
    holder = owner.entry("tool") or owner.add(tree.pair("tool", tree.listing(flow=owner.flow)))
    tasks = holder.as_list
    if tasks is None:
        flow = isinstance(holder.value, Collection) and holder.value.flow
        tasks = tree.listing([tree.item(holder.value)], flow=flow)
        holder.value = tasks
        _name_one(tree.as_map(tasks.entries[0].value), f"{name}_task")
    for index, task in enumerate(map(tree.as_map, tasks.values())):
        _name_one(task, f"task_{index}")
    return tasks


def _name_one(task: Collection | None, label: str) -> None:
    if task is None or "name" in task or not task.entries or _is_label_map(task):
        return
    name, first = tree.pair("name", tree.word(label)), task.entries[0]
    name.column, name.before, first.before = first.column, first.before, []
    task.insert(0, name)


def free_label(tasks: Collection, label: str) -> str:
    """A label that no task of a pipeline has."""
    return free_name(label, {task.word("name") for task in tree.maps(tasks)})


def free_name(name: str, names: Container[str | None]) -> str:
    """The name, longer where it is taken."""
    while name in names:
        name += "_"
    return name


def name_like(text: str, noun: str) -> str:
    """A name like a text that is none: `fetch-page` is `fetch_page`; one that is nothing else is the noun."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or noun
    return name if not name[0].isdigit() else f"{noun}_{name}"


# ---- lists and labels -------------------------------------------------------------------------------------


def rewrite_tool(rw: Rewriting, owner: Collection) -> None:
    """Bring the tasks of a step or block to named tasks with `input`."""
    entry = owner.entry("tool")
    if entry is None:
        return
    _unwrap_pipe(rw, entry)
    if not rw.loading:
        _list_labels(entry)
    loop = owner.map_at("loop")
    tasks = entry.as_list
    if tasks is None:
        _rewrite_item(rw, entry, loop)
    else:
        _rewrite_tasks(rw, tasks, loop)


def _rewrite_tasks(rw: Rewriting, tasks: Collection, loop: Collection | None) -> None:
    if not rw.loading:
        _splice_pipes(rw, tasks)
    for entry in tasks.entries:
        _rewrite_item(rw, entry, loop)


def _unwrap_pipe(rw: Rewriting, entry: Entry) -> None:
    """`tool: {pipe: [...]}`: the list is the pipeline."""
    tool = entry.as_map
    inner = _refused_pipe(rw, tool) if rw.loading else _only_pipe(tool)
    if inner is not None:
        entry.value = inner.value
        entry.before += tree.indented(inner.comments, entry.column)
        rw.changed(inner.mark, "'pipe' is gone: a list under 'tool' is the pipeline")


def _refused_pipe(rw: Rewriting, tool: Collection | None) -> Entry | None:
    """The `pipe` of a `tool` that is no task, whatever stands beside it."""
    inner = tool.entry("pipe") if tool is not None and "kind" not in tool else None
    if inner is not None and _is_labelled(inner):
        return None
    if inner is not None:
        rw.legacy(LEGACY_PIPE, inner.mark, NO_PIPE, f"tool: {pipeline_hint(inner.value)}")
    return inner


def pipeline_hint(node: Node) -> str:
    """The tasks of a `pipe` as a hint shows them under `tool`."""
    tasks = positioned(node)
    if not isinstance(tasks, list) or not tasks:
        return "[{name: …, kind: …}, …]"
    return flow([_task_hint(task) for task in tasks])


def _task_hint(task: Json) -> Json:
    label, body = next(iter(task.items())) if isinstance(task, dict) and len(task) == 1 else (None, None)
    return {"name": label, **body} if isinstance(body, dict) else task


def _only_pipe(node: Collection | None) -> Entry | None:
    """The entry of a mapping that holds a `pipe` list and nothing else."""
    inner = node.entry("pipe") if node is not None and len(node.entries) == 1 else None
    return inner if inner is not None and inner.as_list is not None else None


def _splice_pipes(rw: Rewriting, tasks: Collection) -> None:
    """`- pipe: [...]` inside a pipeline: its tasks take its place."""
    for entry in list(tasks.entries):
        inner = _only_pipe(entry.as_map)
        if inner is not None:
            place = tasks.place(entry)
            tasks.drop(entry)
            tasks.entries[place:place] = inner.entries
            rw.changed(entry.mark, "'pipe' inside a pipeline is gone: its tasks stand in its place")


def _list_labels(entry: Entry) -> None:
    """`tool: {a: {kind: …}, b: {kind: …}}`: several labelled tasks in one mapping are a list."""
    tool = entry.as_map
    if tool is None or len(tool.entries) < 2 or not all(map(_is_labelled, tool.entries)):
        return
    tasks = tree.listing(flow=tool.flow)
    for labelled in list(tool.entries):
        tool.pull(labelled)
        wrapped = tree.item(tree.mapping([labelled], flow=tool.flow), mark=labelled.mark)
        wrapped.before, wrapped.column, labelled.before = labelled.before, labelled.column, []
        tasks.add(wrapped)
    tasks.trailing, tasks.column = tool.trailing, tool.column
    entry.value = tasks


def _is_label_map(task: Collection) -> bool:
    return len(task.entries) == 1 and _is_labelled(task.entries[0])


def _is_labelled(entry: Entry) -> bool:
    """Whether a key is the label of the task under it; a task may be called `paginate`, as sugar is."""
    body = entry.as_map
    if entry.key in LABELS_TOO:
        return body is not None and "kind" in body
    return entry.key not in OWN_KEYS and (body is not None or isinstance(entry.value, Alias))


def _rewrite_item(rw: Rewriting, entry: Entry, loop: Collection | None) -> None:
    task = entry.as_map
    if task is not None and _is_label_map(task):
        trailing = task.trailing
        task = _name_task(rw, entry, task.entries[0])
        if task is not None:
            task.end_with(trailing)
    if task is not None:
        rewrite_task(rw, task, loop)


def _name_task(rw: Rewriting, entry: Entry, labelled: Entry) -> Collection | None:
    """A label map becomes the task itself, with the label as its name."""
    body, label = labelled.as_map, str(labelled.key)
    if body is None:
        rw.review(labelled.mark, f"task '{label}' is an alias and keeps its label", "write the task out")
        return None
    rw.deprecated(LABEL_MAP, labelled.mark, f"task '{label}' is labelled by a key", f"name: {label}")
    _give_up_name(rw, body, label)
    name = Entry(_label(labelled), "name", "name", mark=labelled.mark)
    name.column = body.column
    if body.flow:
        entry.after = entry.after or labelled.after
    else:
        name.after = labelled.after
    body.insert(0, name)
    entry.value = body
    rw.changed(labelled.mark, f"task '{label}' is now named by 'name'")
    return body


def _label(labelled: Entry) -> Scalar:
    """The label as a value, in the quotes that its author gave it."""
    text, label = labelled.key_text.rstrip(), str(labelled.key)
    if text[:1] not in ("'", '"'):
        return tree.word(label)
    return Scalar(text, label, "single" if text[0] == "'" else "double")


def _give_up_name(rw: Rewriting, body: Collection, label: str) -> None:
    """Under a label, `name` can only be an input of the tool."""
    entry = body.entry("name")
    if entry is None:
        return
    if tree.says(entry.value, label):
        body.drop(entry)
        return
    inputs = body.entry("input")
    if inputs is not None and inputs.as_map is None:
        rw.review(entry.mark, f"'name' under the label '{label}' is gone: 'input' is not a mapping")
        body.drop(entry)
        return
    place = body.place(entry)
    body.pull(entry)
    if inputs is not None and "name" in body.child("input"):
        rw.review(entry.mark, "'name' is given twice; 'input' wins and this one is gone")
        return
    if inputs is None:
        body.insert(place, tree.pair("input", tree.mapping(flow=body.flow), mark=entry.mark))
    body.child("input").add(entry)
    rw.changed(entry.mark, f"'name' under the label '{label}' is now input.name")


# ---- one task ---------------------------------------------------------------------------------------------


def rewrite_task(rw: Rewriting, task: Collection, loop: Collection | None) -> None:
    """Bring one task, or one sugar item, to today's spelling."""
    _refuse_case(rw, task)
    rewrite_decisions(rw, task, loop)
    rewrite_set(rw, task, loop)
    for guarded in (task.map_at("while"), task.map_at("until"), *task.maps_at("choose")):
        if guarded is not None:
            rewrite_guard(rw, guarded)
    for branch in task.maps_at("choose"):
        _shape_else(rw, branch)
    for inside in _insides(task):
        if inside.kind == "list":
            _rewrite_tasks(rw, inside, loop)
        else:
            rewrite_task(rw, inside, loop)
    _fold_inputs(rw, task)


def _refuse_case(rw: Rewriting, task: Collection) -> None:
    """A `case` of a task is refused; only its author knows the rules it stands for."""
    entry = task.entry("case")
    if entry is not None and rw.loading:
        write = 'spec: {policy: {rules: [{when: "{{ … }}", then: {do: …}}, {else: {then: {do: …}}}]}}'
        rw.legacy(LEGACY_CASE, entry.mark, NO_CASE, write)
        task.drop(entry)


def _shape_else(rw: Rewriting, branch: Collection) -> None:
    """Bring `else: {then: [...]}` and `else:` beside `then:` of a choice to `else: [...]`."""
    entry, beside = branch.entry("else"), branch.entry("then")
    if entry is None:
        return
    body = entry.as_map
    if beside is not None and tree.is_nothing(entry.value):
        branch.drop(entry)
        beside.rename("else")
    elif body is not None and body.names == ["then"]:
        entry.before += tree.indented(body.entries[0].comments, entry.column)
        entry.value, entry.gap = body.entries[0].value, body.entries[0].gap
    else:
        return
    rw.changed(entry.mark, "'else' of 'choose' now holds its tasks")


def rewrite_claim(rw: Rewriting, claim: Collection) -> None:
    """Bring the task that claims the items of a loop to today's spelling."""
    rewrite_decisions(rw, claim, None)
    _fold_inputs(rw, claim, CLAIM_BOUNDS.keys)


def _fold_inputs(rw: Rewriting, task: Collection, own: Container[str] = ()) -> None:
    """Put `args` and the tool inputs beside `kind` under `input`; what is the task's `own` stays."""
    kind, args = rw.kind_of(task), task.entry("args")
    beside = [
        entry
        for entry in task.entries
        if kind is not None and entry.key not in own and _is_input(rw, str(entry.key), kind)
    ]
    if args is not None and args.as_map is None:
        rw.review(args.mark, "'args' is not a mapping and was left as it is", "write: input: {name: value}")
        args = None
    folded = [entry for entry in task.entries if entry in beside or entry is args]
    inputs = task.entry("input")
    if not folded:
        return
    if inputs is not None and inputs.as_map is None:
        rw.review(inputs.mark, "'input' is not a mapping: the inputs beside it were left where they are")
        return
    _note_folding(rw, args, beside, task.word("kind"))
    if inputs is None and args is not None and not beside:
        args.rename("input")
    else:
        _fold(rw, task, folded, args)


def _note_folding(rw: Rewriting, args: Entry | None, beside: list[Entry], kind: str | None) -> None:
    if args is not None:
        write = f"input: {flow(positioned(args.value))}"
        rw.deprecated(ARGS, args.mark, "'args' of a task is an older spelling of 'input'", write)
        rw.changed(args.mark, "'args' of the task is now 'input'")
    if beside:
        names, single = ", ".join(f"'{entry.key}'" for entry in beside), len(beside) == 1
        message = f"{names} of kind '{kind}' {'stands' if single else 'stand'} beside 'kind'"
        write = f"input: {flow({entry.key: positioned(entry.value) for entry in beside})}"
        rw.deprecated(INPUT_BESIDE_KIND, beside[0].mark, message, write)
        rw.changed(beside[0].mark, f"{names} now {'stands' if single else 'stand'} under 'input'")


def _is_input(rw: Rewriting, key: str, kind: Kind) -> bool:
    if key in kind.beside or key in OWN_KEYS:
        return False
    if key in kind.inputs:
        return True
    # A misspelt task key must not turn into a variable of an open kind.
    return not rw.loading and kind.open_input and not kind.beside and nearest(key, TASK.keys) is None


def _fold(rw: Rewriting, task: Collection, folded: list[Entry], args: Entry | None) -> None:
    if "input" not in task:
        holder = tree.pair("input", tree.mapping(flow=task.flow), mark=folded[0].mark)
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
    inside = args.as_map or tree.mapping()
    if inside.entries:
        inside.entries[0].lead_with(args.comments)
    values.end_with(inside.trailing)
    return inside.entries


def _lift_blank_lines(entry: Entry, holder: Entry) -> None:
    holder.column = entry.column
    while entry.before and not entry.before[0].strip():
        holder.before.append(entry.before.pop(0))

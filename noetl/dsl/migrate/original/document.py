"""The root of a playbook of the original: keys it had and the language has not; the order of its rewrites."""

from collections.abc import Mapping

from noetl.dsl.grammar.playbook import EXECUTOR, EXECUTOR_SPEC, METADATA, ROUTER_SPEC
from noetl.dsl.migrate.original.code import child_before, code_of, take_templates, variables_of
from noetl.dsl.migrate.original.cursor import rewrite_cursor
from noetl.dsl.migrate.original.keychain import rewrite_keychain
from noetl.dsl.migrate.original.names import rewrite_names
from noetl.dsl.migrate.original.remarks import drop_keys, gone
from noetl.dsl.migrate.original.sql import rewrite_sql
from noetl.dsl.migrate.original.task import drop_output_options, rewrite_original_task
from noetl.dsl.older_spellings.documents import blocks_of
from noetl.dsl.older_spellings.respell import roots_in
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.tasks import tasks_of
from noetl.dsl.older_spellings.templates import templates_under
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry

ROOT_IDLE = {
    "tracing": "every task is traced, see executor.spec.trace",
    "spec": "what holds for the whole execution stands under executor.spec",
    "description": "it stands under metadata.description",
}
STEP_IDLE = ("assert", "description", "title", "labels")
BLOCK_IDLE = ("desc", "description", "assert", "title")
LOOP_WORDS = {"collection": "in", "items": "in", "over": "in", "element": "iterator", "as": "iterator"}
SCHEDULING = ("mode", "max_in_flight", "chunk", "policy")


def rewrite_original(rw: Rewriting, root: Collection) -> None:
    """Bring the spellings of the original to those that the other rewrites know."""
    _rewrite_metadata(rw, root)
    drop_keys(rw, root, ROOT_IDLE)
    _rewrite_executor(rw, root)
    rewrite_keychain(rw, root)
    steps = root.maps_at("workflow")
    _drop_uncalled(rw, root, steps)
    blocks = [block for _, block in blocks_of(root)]
    for step in steps:
        _rewrite_step(rw, step)
    for block in blocks:
        _rewrite_block(rw, block)
    for owner in [*steps, *blocks]:
        for task in _tasks(owner):
            if task.word("kind") == "python":
                names = {*_readable(root, steps, owner, owner.keys_at("input"))}
                iterator = owner.scalar_at("loop", "iterator")
                take_templates(rw, task, names | {"iter", iterator.value} if iterator else names)
            rewrite_original_task(rw, task)
            _give_names(rw, root, steps, owner, task)
        rewrite_sql(rw, owner, owner.word("step") or owner.word("name") or "block")
    _share_writes(rw, root, steps)
    rewrite_names(rw, root, steps)


def _tasks(owner: Collection) -> list[Collection]:
    """The tasks of a step or block, those under a label too."""
    tasks = []
    for task in tasks_of(owner):
        inner = [entry.as_map for entry in task.entries] if "kind" not in task else []
        tasks += [each for each in inner if each is not None and "kind" in each] or [task]
    return tasks


def _drop_uncalled(rw: Rewriting, root: Collection, steps: list[Collection]) -> None:
    """A block that calls no playbook in particular, and that nobody calls, could never run."""
    called = {str(task.word(key)) for step in steps for task in _tasks(step) for key in ("name", "block")}
    holder, book = root.entry("workbook"), root.list_at("workbook")
    if holder is None or book is None:
        return
    for entry in list(book.entries):
        block = entry.as_map or tree.mapping()
        nowhere = block.word("tool", "kind") == "playbook" and block.get("tool", "path") is None
        if nowhere and str(block.word("name")) not in called:
            book.drop(entry)
            message = f"block '{block.word('name')}' is gone: it names no playbook, and nobody calls it"
            rw.review(entry.mark, message)
    if not book.entries:
        root.drop(holder)


# ---- the root ---------------------------------------------------------------------------------------------


def _rewrite_metadata(rw: Rewriting, root: Collection) -> None:
    metadata = root.map_at("metadata")
    if metadata is None:
        return
    for key, other in (("path", "name"), ("name", "path")):
        value = metadata.word(other)
        if key not in metadata and value is not None:
            new = value if key == "path" else value.rstrip("/").rpartition("/")[2]
            metadata.add(tree.pair(key, tree.word(new or "playbook")))
            rw.review(metadata.mark, f"'metadata.{key}' was missing and is now '{new}'")
    _drop_unknown(rw, metadata, {*METADATA.keys}, "it is no part of metadata; labels hold words of your own")


def _rewrite_executor(rw: Rewriting, root: Collection) -> None:
    executor = root.map_at("executor")
    if executor is None:
        return
    requires, tools = executor.map_at("requires"), {"tools"}
    _drop_unknown(rw, requires, tools, "only the kinds that must be there can be asked for")
    _drop_empty(executor, "requires")
    defaults = executor.map_at("defaults") or tree.mapping()
    for key in ("timeout_s", "timeout", "timeout_seconds"):
        entry = defaults.entry(key)
        if entry is not None and move_to_spec(executor, defaults, entry, "timeout"):
            rw.changed(entry.mark, f"'executor.defaults.{key}' is now 'executor.spec.timeout'")
    _drop_empty(executor, "defaults")
    _drop_unknown(rw, executor, {*EXECUTOR.keys, "kind"}, "it decides nothing here")
    keys = {*EXECUTOR_SPEC.keys, *rw.kinds, "next_mode"}
    _drop_unknown(rw, executor.map_at("spec"), keys, "it decides nothing here")


def move_to_spec(owner: Collection, holder: Collection, entry: Entry, key: str) -> bool:
    """Move an entry under a key of its owner's `spec`; whether there was room for it."""
    if owner.get("spec", key) is not None:
        return False
    holder.pull(entry)
    entry.rename(key)
    owner.child("spec").add(entry)
    return True


def _drop_unknown(rw: Rewriting, holder: Collection | None, keys: set[str], why: str) -> None:
    for entry in list(holder.entries) if holder is not None else []:
        if entry.key not in keys:
            gone(rw, holder or tree.mapping(), entry, why)


def _drop_empty(holder: Collection, key: str) -> None:
    """Drop a mapping in which nothing is left."""
    entry, inside = holder.entry(key), holder.map_at(key)
    if entry is not None and inside is not None and not inside.entries:
        holder.drop(entry)


# ---- steps and blocks -------------------------------------------------------------------------------------


def _rewrite_step(rw: Rewriting, step: Collection) -> None:
    drop_keys(rw, step, dict.fromkeys(STEP_IDLE, "a step has no such key; its description is 'desc'"))
    drop_output_options(rw, step)
    _move_to_task(rw, step)
    router, routing = step.map_at("next"), step.map_at("next", "spec")
    if router is not None and routing is not None and routing.entries:
        _drop_unknown(rw, routing, {*ROUTER_SPEC.keys}, "a token that no arc takes ends there")
        _drop_empty(router, "spec")
    _rewrite_loop(rw, step)


def _move_to_task(rw: Rewriting, step: Collection) -> None:
    """`retry` and `timeout` of a step with one task."""
    task, retry, timeout = step.map_at("tool"), step.entry("retry"), step.entry("timeout")
    if retry is not None and task is not None and "retry" not in task:
        task.add(step.pull(retry))
    if timeout is not None and timeout.text is not None and move_to_spec(step, step, timeout, "timeout"):
        rw.changed(timeout.mark, "'timeout' of the step is now 'spec.timeout'")


def _rewrite_loop(rw: Rewriting, step: Collection) -> None:
    loop = step.map_at("loop")
    if loop is None:
        return
    for old, new in LOOP_WORDS.items():
        entry = loop.entry(old)
        if entry is not None and new not in loop:
            entry.rename(new)
            rw.changed(entry.mark, f"'{old}' of the loop is now '{new}'")
    for key in SCHEDULING:
        entry = loop.entry(key)
        if entry is not None and move_to_spec(loop, loop, entry, key):
            rw.changed(entry.mark, f"'{key}' of the loop now stands in its spec")
    rewrite_cursor(rw, loop)


def _rewrite_block(rw: Rewriting, block: Collection) -> None:
    drop_keys(rw, block, dict.fromkeys(BLOCK_IDLE, "a block is its tool, input, loop, set and output"))
    drop_output_options(rw, block)
    for task in [block, *_tasks(block)]:
        for entry in tree.entries(task.map_at("input")) if _is_older_task(rw, task) else []:
            place = code_of(task)
            read = place is not None and str(entry.key) in place[1].read_names
            if read and tree.is_nothing(entry.value) and entry.text is not None:
                entry.value, entry.gap = tree.quoted("{{ input." + str(entry.key) + " }}", entry.mark), " "
                rw.changed(entry.mark, f"the input '{entry.key}' is now handed on from the caller")


def _is_older_task(rw: Rewriting, task: Collection) -> bool:
    """Whether inputs of a task stand beside its kind: a null of today's input is a null."""
    kind = rw.kind_of(task)
    return kind is not None and any(key in kind.inputs for key in task.names)


# ---- names that reached the tool --------------------------------------------------------------------------


def _give_names(
    rw: Rewriting, root: Collection, steps: list[Collection], owner: Collection, task: Collection
) -> None:
    """Hand a task what it found without being given it: the step's input, the workload, results."""
    kind = rw.kind_of(task)
    outer = owner.keys_at("input") + owner.keys_at("args")
    if kind is None or kind.name != "python":
        _give_inputs(rw, task, outer)
        return
    place = code_of(task)
    if place is None:
        return
    code, variables = place[1], {*variables_of(task)}
    templates = _readable(root, steps, owner, outer)
    _give(rw, task, {name: templates[name] for name in sorted(code.free & templates.keys() - variables)})
    if "context" in code.free and "context" not in variables:
        names = sorted(code.keys_of("context") & templates.keys())
        _give_context(rw, task, {name: templates[name] for name in names})


def _give_inputs(rw: Rewriting, task: Collection, outer: list[str]) -> None:
    """The inputs of its step reached the tool; of today's task only what it cannot do without is certain."""
    kind, older = rw.kind_of(task), _is_older_task(rw, task)
    fields = kind.inputs if kind is not None else {}
    names = [name for name in outer if name in fields and not _has(task, name)]
    certain = [name for name in names if older or fields[name].required]
    _give(rw, task, {name: "{{ input." + name + " }}" for name in certain})


def _has(task: Collection, name: str) -> bool:
    return name in task or name in task.keys_at("input") or name in task.keys_at("spec")


def _readable(
    root: Collection, steps: list[Collection], owner: Collection, outer: list[str]
) -> Mapping[str, str]:
    """Every name that code could find, with the template that gives it."""
    names = [str(step.word("step")) for step in steps]
    templates = {name: "{{ " + name + " | default({}) }}" for name in names}
    templates |= {name: "{{ workload." + name + " }}" for name in root.keys_at("workload")}
    templates |= {name: "{{ " + name + " }}" for name in ("execution_id", "workload", "ctx")}
    return templates | {name: "{{ input." + name + " }}" for name in outer}


def _give(rw: Rewriting, task: Collection, templates: Mapping[str, str]) -> None:
    values = child_before(task, "input", task.entries[-1], flow=task.flow) if templates else None
    if values is None:
        return
    for name, template in templates.items():
        values.add(tree.pair(name, tree.quoted(template)))
    rw.changed(task.mark, f"the task is now given what it read: {', '.join(templates)}")


def _give_context(rw: Rewriting, task: Collection, templates: Mapping[str, str]) -> None:
    values = child_before(task, "input", task.entries[-1], flow=task.flow)
    if values is None:
        return
    values.add(tree.pair("context", tree.mapping_of(templates, flow=not templates)))
    names = ", ".join(templates) or "nothing"
    rw.review(task.mark, f"'context' of the code now holds only what it names: {names}")


# ---- writes that other steps read -------------------------------------------------------------------------


def _share_writes(rw: Rewriting, root: Collection, steps: list[Collection]) -> None:
    """A bare name that a step sets and another one reads is `ctx`, not the step's own."""
    defined = {*root.keys_at("workload"), *(str(step.word("step")) for step in steps)}
    reads = [{name for s in templates_under(rw, step) for name in roots_in(s.value)} for step in steps]
    for index, step in enumerate(steps):
        elsewhere = set().union(*(reads[:index] + reads[index + 1 :])) if len(reads) > 1 else set()
        for write in _bare_writes(step):
            if str(write.key) in elsewhere - defined and "loop" not in step:
                key = str(write.key)
                write.rename(f"ctx.{key}")
                rw.changed(write.mark, f"'{key}' is read by other steps and now set as 'ctx.{key}'")


def _bare_writes(node: Collection) -> list[Entry]:
    bare: list[Entry] = []
    for entry in node.entries:
        if entry.key == "set":
            writes = tree.entries(entry.as_map)
            bare += [each for each in writes if str(each.key).isidentifier() and each.as_map is None]
        elif isinstance(entry.value, Collection):
            bare += _bare_writes(entry.value)
    return [each for each in bare if each.key not in ("ctx", "step", "iter")]

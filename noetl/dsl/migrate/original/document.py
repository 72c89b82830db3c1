"""The root of a playbook of the original: keys it had and the language has not; the order of its rewrites."""

from collections.abc import Mapping

from noetl.dsl.grammar.playbook import EXECUTOR, EXECUTOR_SPEC, METADATA, STEP
from noetl.dsl.migrate.original.code import code_of, inputs_of, take_templates, variables_of
from noetl.dsl.migrate.original.keychain import rewrite_keychain
from noetl.dsl.migrate.original.names import rewrite_names
from noetl.dsl.migrate.original.remarks import gone, remark
from noetl.dsl.migrate.original.sql import rewrite_sql
from noetl.dsl.migrate.original.task import drop_output_options, rewrite_original_task
from noetl.dsl.older_spellings.respell import roots_in
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.tasks import tasks_of
from noetl.dsl.older_spellings.templates import templates_under
from noetl.dsl.yaml.editable_tree import (
    Collection,
    Entry,
    Scalar,
    as_list,
    as_map,
    at,
    entries,
    is_nothing,
    keys,
    mapping,
    maps,
    pair,
    quoted,
    word,
)

ROOT_IDLE = {
    "tracing": "every task is traced, see executor.spec.trace",
    "spec": "what holds for the whole execution stands under executor.spec",
    "description": "it stands under metadata.description",
}
STEP_IDLE = ("assert", "description", "title", "labels")
LOOP_WORDS = {"collection": "in", "items": "in", "over": "in", "element": "iterator", "as": "iterator"}
SCHEDULING = ("mode", "max_in_flight", "chunk", "policy")


def rewrite_original(rw: Rewriting, root: Collection) -> None:
    """Bring the spellings of the original to those that the other rewrites know."""
    _rewrite_metadata(rw, root)
    _rewrite_root(rw, root)
    _rewrite_executor(rw, root)
    rewrite_keychain(rw, root)
    steps = maps(root.get("workflow"))
    _drop_uncalled(rw, root, steps)
    blocks = _blocks(root)
    for step in steps:
        _rewrite_step(rw, step)
    for block in blocks:
        _rewrite_block(rw, block)
    for owner in [*steps, *blocks]:
        for task in _tasks(owner):
            if task.word("kind") == "python":
                take_templates(
                    rw, task, {*_known(root, steps, owner, keys(owner.get("input"))), *_iterators(owner)}
                )
            rewrite_original_task(rw, task)
            _give_names(rw, root, steps, owner, task)
        rewrite_sql(rw, owner, owner.word("step") or owner.word("name") or "block")
    _share_writes(rw, root, steps)
    rewrite_names(rw, root, steps)


def _tasks(owner: Collection) -> list[Collection]:
    """The tasks of a step or block, those under a label too."""
    found = []
    for task in tasks_of(owner):
        inner = [as_map(entry.value) for entry in task.entries] if "kind" not in task else []
        found += [each for each in inner if each is not None and "kind" in each] or [task]
    return found


def _blocks(root: Collection) -> list[Collection]:
    book = root.get("workbook")
    tasks = at(book, "tasks")
    book = tasks if isinstance(tasks, Collection) else book
    if as_list(book) is not None:
        return maps(book)
    return [block for entry in entries(book) if (block := as_map(entry.value)) is not None]


def _drop_uncalled(rw: Rewriting, root: Collection, steps: list[Collection]) -> None:
    """A block that calls no playbook in particular, and that nobody calls, could never run."""
    called = {str(task.word(key)) for step in steps for task in _tasks(step) for key in ("name", "block")}
    book = as_list(root.get("workbook"))
    for entry in list(book.entries) if book is not None else []:
        block = as_map(entry.value)
        task = block.map_at("tool") if block is not None else None
        nowhere = task is not None and task.word("kind") == "playbook" and "path" not in task
        if book is not None and block is not None and nowhere and str(block.word("name")) not in called:
            book.drop(entry)
            rw.review(
                entry.mark, f"block '{block.word('name')}' is gone: it names no playbook, and nobody calls it"
            )
    if book is not None and not book.entries:
        holder = root.entry("workbook")
        if holder is not None:
            root.drop(holder)


# ---- the root ---------------------------------------------------------------------------------------------


def _rewrite_metadata(rw: Rewriting, root: Collection) -> None:
    holder = root.entry("metadata")
    metadata = as_map(holder.value) if holder is not None else None
    if metadata is None:
        return
    for key, other in (("path", "name"), ("name", "path")):
        value = metadata.word(other)
        if key not in metadata and value is not None:
            new = value if key == "path" else value.rstrip("/").rpartition("/")[2]
            metadata.add(pair(key, word(new or "playbook")))
            rw.review(metadata.mark, f"'metadata.{key}' was missing and is now '{new}'")
    _drop_unknown(rw, metadata, {*METADATA.keys}, "it is no part of metadata; labels hold words of your own")


def _rewrite_root(rw: Rewriting, root: Collection) -> None:
    for key, why in ROOT_IDLE.items():
        entry = root.entry(key)
        if entry is not None:
            gone(rw, root, entry, why)


def _rewrite_executor(rw: Rewriting, root: Collection) -> None:
    executor = root.map_at("executor")
    if executor is None:
        return
    requires = executor.entry("requires")
    wanted = as_map(requires.value) if requires is not None else None
    if requires is not None and wanted is not None:
        _drop_unknown(rw, wanted, {"tools"}, "only the kinds that must be there can be asked for")
        if not wanted.entries:
            executor.drop(requires)
    defaults = executor.entry("defaults")
    given = as_map(defaults.value) if defaults is not None else None
    if defaults is not None and given is not None:
        _lift_defaults(rw, executor, defaults, given)
    _drop_unknown(rw, executor, {*EXECUTOR.keys, "kind"}, "it decides nothing here")
    spec = executor.map_at("spec")
    if spec is not None:
        known = {*EXECUTOR_SPEC.keys, *rw.kinds, "next_mode"}
        _drop_unknown(rw, spec, known, "it decides nothing here")


def _lift_defaults(rw: Rewriting, executor: Collection, holder: Entry, given: Collection) -> None:
    for key in ("timeout_s", "timeout", "timeout_seconds"):
        entry = given.entry(key)
        if entry is not None and at(executor, "spec", "timeout") is None:
            given.pull(entry)
            entry.rename("timeout")
            executor.child("spec").add(entry)
            rw.changed(entry.mark, f"'executor.defaults.{key}' is now 'executor.spec.timeout'")
    if not given.entries:
        executor.drop(holder)


def _drop_unknown(rw: Rewriting, holder: Collection, known: set[str], why: str) -> None:
    for entry in list(holder.entries):
        if entry.key not in known:
            gone(rw, holder, entry, why)


# ---- steps and blocks -------------------------------------------------------------------------------------


def _rewrite_step(rw: Rewriting, step: Collection) -> None:
    for key in STEP_IDLE:
        entry = step.entry(key)
        if entry is not None and key not in STEP.keys:
            gone(rw, step, entry, "a step has no such key; its description is 'desc'")
    drop_output_options(rw, step)
    _move_to_task(rw, step)
    routing = at(step, "next", "spec")
    router = as_map(routing)
    if router is not None and router.entries:
        _drop_unknown(rw, router, {"mode", "policy"}, "a token that no arc takes ends there")
        holder = step.map_at("next")
        empty = holder.entry("spec") if holder is not None else None
        if holder is not None and empty is not None and not router.entries:
            holder.drop(empty)
    _rewrite_loop(rw, step)


def _move_to_task(rw: Rewriting, step: Collection) -> None:
    """`retry` and `timeout` of a step with one task."""
    task, retry, timeout = step.map_at("tool"), step.entry("retry"), step.entry("timeout")
    if retry is not None and task is not None and "retry" not in task:
        task.add(step.pull(retry))
    if timeout is not None and isinstance(timeout.value, Scalar) and at(step, "spec", "timeout") is None:
        step.pull(timeout)
        step.child("spec").add(timeout)
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
        if entry is not None and at(loop, "spec", key) is None:
            loop.pull(entry)
            loop.child("spec").add(entry)
            rw.changed(entry.mark, f"'{key}' of the loop now stands in its spec")
    cursor = loop.entry("cursor")
    if cursor is not None:
        message = "a loop over a cursor is not offered"
        remark(rw, loop, cursor, message, "write: in: a list, such as the rows of a query that claims them")


def _rewrite_block(rw: Rewriting, block: Collection) -> None:
    for key in ("desc", "description", "assert", "title"):
        entry = block.entry(key)
        if entry is not None:
            gone(rw, block, entry, "a block is its tool, input, loop, set and output")
    drop_output_options(rw, block)
    for task in [block, *_tasks(block)]:
        for entry in entries(as_map(task.get("input"))) if _is_older_task(rw, task) else []:
            found = code_of(task)
            read = found is not None and str(entry.key) in found[2].read_names
            if read and is_nothing(entry.value) and isinstance(entry.value, Scalar):
                entry.value, entry.gap = quoted("{{ input." + str(entry.key) + " }}", entry.mark), " "
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
    outer = keys(owner.get("input")) + keys(owner.get("args"))
    if kind is None or kind.name != "python":
        _give_inputs(rw, task, outer)
        return
    found = code_of(task)
    if found is None:
        return
    code, given = found[2], {*variables_of(task)}
    known = _known(root, steps, owner, outer)
    asked = {name: known[name] for name in sorted(code.free & known.keys() - given)}
    _give(rw, task, asked)
    if "context" in code.free and "context" not in given:
        _give_context(
            rw, task, {name: known[name] for name in sorted(code.keys_of("context") & known.keys())}
        )


def _give_inputs(rw: Rewriting, task: Collection, outer: list[str]) -> None:
    """The inputs of its step reached the tool; of today's task only what it cannot do without is certain."""
    kind, older = rw.kind_of(task), _is_older_task(rw, task)
    fields = kind.inputs if kind is not None else {}
    wanted = [name for name in outer if name in fields and not _has(task, name)]
    certain = [name for name in wanted if older or fields[name].required]
    _give(rw, task, {name: "{{ input." + name + " }}" for name in certain})


def _has(task: Collection, name: str) -> bool:
    return name in task or name in keys(task.get("input")) or name in keys(task.get("spec"))


def _known(
    root: Collection, steps: list[Collection], owner: Collection, outer: list[str]
) -> Mapping[str, str]:
    """Every name that code could find, with the template that gives it."""
    found = {str(step.word("step")): "{{ " + str(step.word("step")) + " | default({}) }}" for step in steps}
    found |= {name: "{{ workload." + name + " }}" for name in keys(root.get("workload"))}
    found |= {"execution_id": "{{ execution_id }}", "workload": "{{ workload }}", "ctx": "{{ ctx }}"}
    return found | {name: "{{ input." + name + " }}" for name in outer}


def _iterators(owner: Collection) -> list[str]:
    iterator = at(owner, "loop", "iterator")
    return ["iter", iterator.value] if isinstance(iterator, Scalar) else []


def _give(rw: Rewriting, task: Collection, wanted: Mapping[str, str]) -> None:
    values = inputs_of(task, task.entries[-1]) if wanted else None
    if values is None:
        return
    for name, template in wanted.items():
        values.add(pair(name, quoted(template)))
    rw.changed(task.mark, f"the task is now given what it read: {', '.join(wanted)}")


def _give_context(rw: Rewriting, task: Collection, wanted: Mapping[str, str]) -> None:
    values = inputs_of(task, task.entries[-1])
    if values is None:
        return
    inside = mapping([pair(name, quoted(template)) for name, template in wanted.items()])
    inside.flow = not inside.entries
    values.add(pair("context", inside))
    rw.review(
        task.mark, f"'context' of the code now holds only what it names: {', '.join(wanted) or 'nothing'}"
    )


# ---- writes that other steps read -------------------------------------------------------------------------


def _share_writes(rw: Rewriting, root: Collection, steps: list[Collection]) -> None:
    """A bare name that a step sets and another one reads is `ctx`, not the step's own."""
    defined = {*keys(root.get("workload")), *(str(step.word("step")) for step in steps)}
    reads = [{name for s in templates_under(rw, step) for name in roots_in(s.value)} for step in steps]
    for index, step in enumerate(steps):
        elsewhere = set().union(*(reads[:index] + reads[index + 1 :])) if len(reads) > 1 else set()
        for write in _bare_writes(step):
            if str(write.key) in elsewhere - defined and "loop" not in step:
                key = str(write.key)
                write.rename(f"ctx.{key}")
                rw.changed(write.mark, f"'{key}' is read by other steps and now set as 'ctx.{key}'")


def _bare_writes(node: Collection) -> list[Entry]:
    found: list[Entry] = []
    for entry in node.entries:
        if entry.key == "set":
            writes = entries(as_map(entry.value))
            found += [each for each in writes if str(each.key).isidentifier() and as_map(each.value) is None]
        elif isinstance(entry.value, Collection):
            found += _bare_writes(entry.value)
    return [each for each in found if each.key not in ("ctx", "step", "iter")]

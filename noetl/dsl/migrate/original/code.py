"""Python code as the original ran it: modules named by `libs`, names that were simply there, a bare `return`.

Only what the code needs to find the same names is written; the code itself stays as it is.
"""

from collections.abc import Container, Iterator

from noetl.dsl.migrate.original.code_names import Code, indented_main, without_templates
from noetl.dsl.migrate.original.literal_block import edit_lines
from noetl.dsl.migrate.original.remarks import remark
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry, Node, Scalar

OWN = ("code", "script", "timeout", "libs")  # what stands under `input` and is no variable
ALL_INPUTS = ("input_data", "args")  # names under which the code found all of its inputs


def holders(task: Collection) -> Iterator[Collection]:
    """Where inputs can stand: beside `kind`, and under `input`."""
    yield task
    inside = task.map_at("input")
    if inside is not None:
        yield inside


def code_of(task: Collection) -> tuple[Entry, Code] | None:
    """Where the code of a task stands, and what can be told of it; none when it does not parse."""
    for holder in holders(task):
        entry = holder.entry("code")
        if entry is not None and entry.text is not None:
            code = Code.read(entry.text)
            return (entry, code) if code is not None else None
    return None


def python_of(task: Collection) -> Code | None:
    """What can be told of the code of a python task; none of another."""
    place = code_of(task) if task.word("kind") == "python" else None
    return place[1] if place is not None else None


def variables_of(task: Collection) -> list[str]:
    """The names that the inputs of a task give its code."""
    names = [*task.keys_at("input"), *task.keys_at("args")]
    return [*dict.fromkeys(name for name in names if name not in OWN)]


def rewrite_code(rw: Rewriting, task: Collection) -> None:
    """Give the code of a task the names it read from nowhere."""
    place = code_of(task)
    if place is None:
        _keep_libs(rw, task)
        return
    entry, original = place
    lines = _imports(rw, task, original)
    code = original.after(lines)
    names = variables_of(task)
    lines += _modules(rw, entry, code, names)
    _rename_timeout(rw, task, entry, code, lines)
    lines += _all_inputs(rw, task, entry, code, variables_of(task))
    if lines:
        entry.value = edit_lines(_scalar(entry), lambda text: original.lead(lines))
    if code.returns:
        parameters = variables_of(task)
        entry.value = edit_lines(_scalar(entry), lambda text: indented_main(text, parameters))
        rw.changed(entry.mark, "code that returns a value is now 'def main'")


def take_templates(rw: Rewriting, task: Collection, names: Container[str]) -> None:
    """Templates in the code, which is never one: what they read becomes inputs."""
    entry, code = code_of(task) or (None, None)
    if entry is None or code is None or "{{" not in code.text:
        return
    text, read = without_templates(code.text, names)
    inputs = child_before(task, "input", entry, flow=task.flow) if read else None
    if inputs is None:
        return
    entry.value = edit_lines(_scalar(entry), lambda _: text)
    for name, path in read.items():
        if name not in inputs:
            inputs.add(tree.pair(name, tree.quoted("{{ " + path + " }}")))
    rw.changed(entry.mark, f"templates in the code are now inputs that it reads: {', '.join(read)}")


def child_before(task: Collection, key: str, entry: Entry, *, flow: bool) -> Collection | None:
    """The mapping under a key, made before an entry when there is none; none when it is no mapping."""
    if tree.is_nothing(task.get(key)):
        empty = task.entry(key)
        place = next((i for i, each in enumerate(task.entries) if each in (empty, entry)), len(task.entries))
        if empty is not None:
            task.drop(empty)
        task.insert(place, tree.pair(key, tree.mapping(flow=flow), mark=entry.mark))
    return task.map_at(key)


def _scalar(entry: Entry) -> Scalar:
    assert isinstance(entry.value, Scalar)
    return entry.value


# ---- modules ----------------------------------------------------------------------------------------------


def _imports(rw: Rewriting, task: Collection, code: Code) -> list[str]:
    """The import lines that `libs` stands for."""
    lines: list[str] = []
    for holder in holders(task):
        entry = holder.entry("libs")
        if entry is None or (holder is not task and "libs" in code.read_names):
            continue
        bindings = [*_bindings(entry.value)]
        lines += [line for name, line in bindings if line and name not in code.bound]
        left = [name for name, line in bindings if not line and name.partition("-")[0] not in code.bound]
        holder.drop(entry)
        rw.changed(entry.mark, "'libs' is now import lines in the code")
        if left:
            rw.review(entry.mark, f"packages that the workers must have: {', '.join(left)}")
    return lines


def _bindings(node: Node) -> list[tuple[str, str]]:
    """Each name that `libs` binds with its import line; a package that is only installed has none."""
    bindings: list[tuple[str, str]] = []
    items = tree.as_list(node)
    if isinstance(node, Scalar) and not tree.is_nothing(node):
        return [_package(node.value)]
    for value in items.values() if items is not None else []:
        inner = tree.as_map(value)
        bindings += [_bound(each) for each in tree.entries(inner)] if inner is not None else []
        bindings += [_package(value.value)] if isinstance(value, Scalar) else []
    bindings += [_bound(each) for each in tree.entries(tree.as_map(node))]
    return bindings


def _bound(entry: Entry) -> tuple[str, str]:
    """`name: module`, `name: {from: module, import: name}`."""
    name, parts = str(entry.key), entry.as_map
    source = parts.word("from") if parts is not None else None
    member = (
        parts.word("import") if parts is not None else None if tree.is_nothing(entry.value) else entry.text
    )
    line = f"from {source} import {member or name}" if source is not None else f"import {member or name}"
    return name, line + (f" as {name}" if member not in (None, name) else "")


def _package(word: str) -> tuple[str, str]:
    """A package that is listed: its import line where the code can read it under that name."""
    name = word.strip()
    return (name, f"import {name}") if name.replace(".", "").isidentifier() else (name, "")


def _modules(rw: Rewriting, entry: Entry, code: Code, names: list[str]) -> list[str]:
    """Modules that were there without being imported."""
    lines = [line for name, line in code.missing_modules() if name not in names]
    if lines:
        rw.changed(entry.mark, f"the code imports what was simply there: {'; '.join(lines)}")
    return lines


def _keep_libs(rw: Rewriting, task: Collection) -> None:
    entry = task.entry("libs")
    if entry is not None:
        remark(rw, task, entry, "'libs' imports nothing", "write import lines in the code or script")


# ---- inputs -----------------------------------------------------------------------------------------------


def _rename_timeout(rw: Rewriting, task: Collection, entry: Entry, code: Code, lines: list[str]) -> None:
    """`timeout` under `input` is the tool's own: a variable of that name comes under another one."""
    own = task.entry("input", "timeout")
    if own is None or "timeout" not in code.read_names:
        return
    own.rename("timeout_value")
    lines.append("timeout = timeout_value")
    rw.changed(own.mark, "the input 'timeout' is now 'timeout_value', which the code calls 'timeout'")


def _all_inputs(rw: Rewriting, task: Collection, entry: Entry, code: Code, names: list[str]) -> list[str]:
    """`input_data` and `args`: a mapping of all inputs."""
    lines = []
    for whole in ALL_INPUTS:
        if whole in names:
            continue
        if whole in code.parameters:
            _give_whole(rw, task, entry, whole, code.parameters & {*names})
        elif whole in code.free:
            inside = ", ".join(f'"{name}": {name}' for name in names)
            lines.append(f"{whole} = {{{inside}}}")
            rw.changed(entry.mark, f"'{whole}', all inputs of the code, is now written out")
    return lines


def _give_whole(rw: Rewriting, task: Collection, entry: Entry, whole: str, others: frozenset[str]) -> None:
    """`def main(input_data)`: the inputs become one that holds them."""
    if others:
        names = ", ".join(sorted(others))
        rw.review(entry.mark, f"'main' takes '{whole}', all inputs, beside {names}", f"hand on '{whole}' too")
        return
    inner = tree.mapping()
    for holder in (task.map_at("input") or tree.mapping(), task.map_at("args") or tree.mapping()):
        for part in [part for part in holder.entries if part.key not in OWN]:
            inner.add(holder.pull(part))
    inner.flow = not inner.entries
    inputs = child_before(task, "input", entry, flow=task.flow)
    if inputs is not None:
        inputs.add(tree.pair(whole, inner))
        rw.changed(entry.mark, f"'{whole}', all inputs of the code, is now the input that holds them")

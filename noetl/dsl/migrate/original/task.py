"""Tasks as the original NoETL spelt them: keys beside `kind` that have another name or place today.

Comes before inputs are folded under `input`. What a request sends, `retry` and python code have files
of their own.
"""

from collections.abc import Mapping

from noetl.dsl.grammar.task import TASK, TASK_SPEC
from noetl.dsl.migrate.original.code import child_before, holders, rewrite_code
from noetl.dsl.migrate.original.http import rewrite_request
from noetl.dsl.migrate.original.literal_block import literal
from noetl.dsl.migrate.original.nats import rewrite_message
from noetl.dsl.migrate.original.remarks import drop_keys, gone, remark
from noetl.dsl.migrate.original.retry import rewrite_retry
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.tasks import OWN_KEYS
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.tool_kind import Kind
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Scalar

# The input of a kind that went by another name.
RENAMED: Mapping[str, Mapping[str, str]] = {
    "http": {"verify_ssl": "verify", "endpoint": "url", "query": "params"},
    "nats": {"operation": "action", "data": "value", "pattern": "key"},
    "shell": {"cmds": "command", "cmd": "command", "commands": "command"},
    "duckdb": {"commands": "command", "sql": "command"},
    "sqlite": {"commands": "command", "sql": "command"},
    "postgres": {"commands": "command", "sql": "command"},
    "playbook": {"payload": "input", "data": "input"},
}
TIMEOUTS = ("timeout", "timeout_s", "timeout_seconds")
# What stood beside `kind` and decides nothing here.
IDLE: Mapping[str, str] = {
    "return_step": "the answer is the output of the child's last step, or of its executor.spec.final_step",
    "task": "a task is called by its name",
    "description": "a task has no description",
    "assert": "nothing checked it; spec.validate takes a JSON Schema",
    "cache": "nothing is kept between executions",
}
OUTPUT_OPTIONS = frozenset({"store", "select", "output_select", "ttl", "compression", "format", "scope"})
OUTPUT_CHOICES = frozenset({"store", "select", "output_select"})  # one of them is there, or it is a value


def rewrite_original_task(rw: Rewriting, task: Collection) -> None:
    """Bring the keys of one task of the original to where they stand today."""
    kind = rw.kind_of(task)
    if kind is None:
        return
    _lift_spec(rw, task, kind)
    _rename(rw, task, kind)
    _join_lines(rw, task, kind)
    _move_timeout(rw, task)
    _name_auth(rw, task)
    _drop_idle(rw, task, kind)
    drop_output_options(rw, task)
    rewrite_retry(rw, task)
    if kind.name == "http":
        rewrite_request(rw, task)
    if kind.name == "nats":
        rewrite_message(rw, task)
    if kind.name == "transfer":
        _name_places(rw, task)
    if kind.name == "python":
        _take_script(rw, task)
        rewrite_code(rw, task)


def _lift_spec(rw: Rewriting, task: Collection, kind: Kind) -> None:
    """Inputs under `spec` stand beside `kind`, whence they are folded with the others."""
    holder, spec = task.entry("spec"), task.map_at("spec")
    if holder is None or spec is None:
        return
    beside = {*kind.beside, *RENAMED.get(kind.name, {}), "input", "args", "auth", "libs", "payload"}
    inputs = {*kind.inputs, *beside} - {*TASK_SPEC.keys, *kind.knobs}
    lifted = [entry for entry in spec.entries if entry.key in inputs]
    for entry in lifted:
        if str(entry.key) not in task:
            task.insert(task.place(holder), spec.pull(entry))
    if lifted:
        names = ", ".join(f"'{entry.key}'" for entry in lifted)
        rw.changed(holder.mark, f"inputs under 'spec' now stand under 'input': {names}")
    if lifted and not spec.entries:
        task.drop(holder)


def _rename(rw: Rewriting, task: Collection, kind: Kind) -> None:
    for old, new in RENAMED.get(kind.name, {}).items():
        if old in kind.inputs:
            continue
        for holder in [task] if kind.beside else holders(task):
            entry = holder.entry(old)
            if entry is None:
                continue
            if new in holder:
                remark(rw, holder, entry, f"'{old}' stands beside '{new}'", f"keep one of them, as '{new}'")
                continue
            entry.rename(new)
            rw.changed(entry.mark, f"'{old}' is now '{new}'")


def _join_lines(rw: Rewriting, task: Collection, kind: Kind) -> None:
    """A list of command lines or statements is one text, run from top to bottom."""
    if kind.name not in ("shell", "postgres", "duckdb", "sqlite"):
        return
    for holder in holders(task):
        entry, lines = holder.entry("command"), holder.list_at("command")
        if entry is None or lines is None or not _are_lines(lines, kind):
            continue
        texts = [node.value.strip() for node in lines.values() if isinstance(node, Scalar)]
        if kind.name == "shell":
            text = "\n".join(["set -e", *texts] if len(texts) > 1 else texts)
        else:
            text = "\n".join(line if line.endswith(";") else f"{line};" for line in texts)
        entry.value = literal(text, entry.column, mark=entry.mark)
        rw.changed(entry.mark, "a list of commands is now one text with a line each")


def _are_lines(lines: Collection, kind: Kind) -> bool:
    """Whether a list holds commands, and is not the words of one."""
    texts = [node.value for node in lines.values() if isinstance(node, Scalar)]
    if len(texts) != len(lines.entries) or not texts:
        return False
    return kind.name != "shell" or (" " in texts[0].strip() and any(" " in text.strip() for text in texts))


def _move_timeout(rw: Rewriting, task: Collection) -> None:
    for key in TIMEOUTS:
        entry = task.entry(key)
        if entry is None:
            continue
        spec = child_before(task, "spec", entry, flow=True)
        if spec is None or "timeout" in spec:
            gone(rw, task, entry, "'spec.timeout' is given")
            continue
        task.pull(entry)
        entry.rename("timeout")
        spec.add(entry)
        rw.changed(entry.mark, f"'{key}' is now 'spec.timeout'")


# ---- credentials ------------------------------------------------------------------------------------------


def _name_auth(rw: Rewriting, task: Collection) -> None:
    """`auth` is the name of a keychain entry or credential."""
    for key in ("credential", "credentials"):
        entry = task.entry(key)
        if entry is not None and isinstance(entry.value, Scalar) and "auth" not in task:
            entry.rename("auth")
            rw.changed(entry.mark, f"'{key}' is now 'auth'")
    entry, auth = task.entry("auth"), task.map_at("auth")
    if entry is None or auth is None:
        return
    name = _credential(auth)
    if name is None:
        hint = "declare it under keychain and name it"
        remark(rw, task, entry, "'auth' is the name of one credential", hint)
        return
    entry.value, entry.gap = name, " "
    name.column = entry.column
    rw.changed(entry.mark, "'auth' is now the name of the credential alone")


def _credential(auth: Collection) -> Scalar | None:
    """The one credential that a mapping names."""
    inner = [tree.as_map(node) for node in auth.values()]
    if len(inner) == 1 and inner[0] is not None:
        return _credential(inner[0])
    names = [auth.get(key) for key in ("credential", "key", "name") if key in auth]
    return names[0] if names and isinstance(names[0], Scalar) and not names[0].empty else None


# ---- what decides nothing ---------------------------------------------------------------------------------


def _drop_idle(rw: Rewriting, task: Collection, kind: Kind) -> None:
    for entry in list(task.entries):
        key = str(entry.key)
        if key == "pool" and kind.name in ("postgres", "duckdb"):
            gone(rw, task, entry, "a worker has one pool per credential; its size is spec.pool_size")
        elif key in IDLE.keys() - kind.inputs.keys() and (kind.name, key) != ("python", "task"):
            gone(rw, task, entry, IDLE[key])
        elif _is_unknown(key, kind):
            hint = f"its inputs are: {', '.join(kind.inputs)}"
            remark(rw, task, entry, f"'{key}' is no input of kind '{kind.name}'", hint)


def _is_unknown(key: str, kind: Kind) -> bool:
    own = key in OWN_KEYS or key in TASK.keys or key in kind.inputs or key in kind.beside
    later = key in ("libs", "retry", "payload", "data", "output_select", "script", *TIMEOUTS)
    return not (own or later or kind.open_input)


def drop_output_options(rw: Rewriting, holder: Collection) -> None:
    """Where a result is kept, and what of it is shown, decides nothing: large ones are kept by reference."""
    output = holder.map_at("output")
    options = ["output"] if output is not None and _are_options(output) else []
    why = "all of the data can be read, large results by reference"
    drop_keys(rw, holder, dict.fromkeys(("output_select", "result_store", *options), why))


def _are_options(output: Collection) -> bool:
    """Whether an `output` says where a result is kept; one with a template in it is a value of today."""
    names = frozenset(output.names)
    is_option = names <= OUTPUT_OPTIONS and not names.isdisjoint(OUTPUT_CHOICES)
    return is_option and not any(is_template(scalar.value) for scalar in tree.scalars(output))


# ---- kinds ------------------------------------------------------------------------------------------------


def _name_places(rw: Rewriting, task: Collection) -> None:
    """The places of a transfer say `kind`; what concerns both stands beside them."""
    for holder in holders(task):
        for side in ("source", "target"):
            place, old = holder.map_at(side), holder.entry(side, "type")
            if place is None or old is None or "kind" in place:
                continue
            old.rename("kind")
            rw.changed(old.mark, f"'type' of the {side} is now 'kind'")
            drop_keys(rw, place, {"method": "rows are read with GET and sent with POST"})
            for key in ("mapping", "mode", "keys", "chunk_size"):
                shared = place.entry(key)
                if shared is not None and key not in holder:
                    holder.add(place.pull(shared))
                    rw.changed(shared.mark, f"'{key}' of the {side} now stands beside it")


def _take_script(rw: Rewriting, task: Collection) -> None:
    """`script: {uri, source: {type: file}}` is the file's name."""
    for holder in holders(task):
        entry, uri = holder.entry("script"), holder.scalar_at("script", "uri")
        if entry is None or uri is None:
            continue
        source = holder.get("script", "source", "type")
        if source is not None and not tree.says(source, "file"):
            hint = "fetch it before, or put the code under 'code'"
            remark(rw, holder, entry, "'script' is a file here", hint)
            continue
        uri.column = entry.column
        entry.value, entry.gap = uri, " "
        rw.changed(entry.mark, "'script' is now the file itself")

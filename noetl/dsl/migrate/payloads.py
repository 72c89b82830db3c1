"""`args` of arcs: written with `set` on the arc under the target's name, read by the target through its `input`.

A name that every token brings becomes an input of the step. Where some token may come without one, the templates read
`ctx` themselves, so that a default written in them still holds.
"""

from noetl.dsl.migrate.rewriting import Rewriting
from noetl.dsl.migrate.templates import edit_scalar, paths_of, rename, whole_path
from noetl.dsl.migrate.text import Collection, Entry, Scalar, as_map, mapping, pair, quoted
from noetl.dsl.migrate.tokens import Arc, Tokens, several_in_flight, tokens_of
from noetl.dsl.migrate.writes import merge_set, retarget

BOUNDARY = ("set", "spec", "output")  # where a task's own input stands over the step's


def rewrite_payloads(rw: Rewriting, steps: list[Collection], entry: str | None) -> None:
    """Replace the args of every arc, and every reading of args."""
    tokens = tokens_of(steps, entry)
    crowded = several_in_flight(tokens)
    roots = {name: _root(tokens, name) for name in tokens.steps}
    for name, step in tokens.steps.items():
        _read_anew(rw, tokens, name, step, roots[name])
    for arc in tokens.arcs:
        _write_on_arc(rw, tokens, arc, roots)
        if arc.args is not None and arc.target in crowded:
            _warn_crowded(rw, arc)
    for name, step in tokens.steps.items():
        if roots[name] == "input":
            _add_inputs(tokens, name, step)


def _root(tokens: Tokens, name: str) -> str:
    """Where the templates of a step read what was in args: `input`, or `ctx.<step>` where input cannot hold it."""
    given = tokens.steps[name].map_at("input") or mapping()
    clash = any(
        key in given.keys() and not _passes(given.get(key), key, "args") for key in tokens.needed[name]
    )
    safe = tokens.needed[name] <= tokens.certain[name] and not tokens.opaque(name) and not clash
    return "input" if safe else f"ctx.{name}"


def _passes(node: object, key: str, root: str) -> bool:
    """Whether a value hands on one name as it is, `{{ args.key }}`."""
    return isinstance(node, Scalar) and whole_path(node.value) == (root, key)


# ---- reading --------------------------------------------------------------------------------------------


def _read_anew(rw: Rewriting, tokens: Tokens, name: str, step: Collection, root: str) -> None:
    if any(path[0] == "args" for path in paths_of(step)):
        rw.changed(step.mark, f"templates of step '{name}' read '{root}' instead of 'args'")
    elif root == "input" or not tokens.arriving[name]:
        return
    own = f"ctx.{name}"
    bare = {} if root == "input" else _bare_names(rw, tokens, name, step)
    for entry in step.entries:
        here = own if entry.key == "input" else root
        _rename_under(rw, entry.value, {"args": here, **bare}, {"args": own, **bare}, tokens.needed[name])


def _bare_names(rw: Rewriting, tokens: Tokens, name: str, step: Collection) -> dict[str, str]:
    """What a bare name of args becomes where input does not hold it."""
    loop = step.map_at("loop")
    hidden = {
        loop.word("iterator") if loop is not None else None,
        *(step.map_at("input") or mapping()).keys(),
    }
    workload = as_map(rw.document.root.get("workload")) if isinstance(rw.document.root, Collection) else None
    known = set(workload.keys()) if workload is not None else set()
    read = {path[0] for path in paths_of(step)} & tokens.arriving[name] - hidden
    return {
        key: f"(ctx.{name}.{key} | default({key}))" if key in known else f"ctx.{name}.{key}"
        for key in sorted(read)
    }


def _rename_under(
    rw: Rewriting, node: object, names: dict[str, str], over: dict[str, str], needed: frozenset[str]
) -> None:
    """Rename roots in every template; in a task whose own input hides a needed name, `over` applies to its boundary."""
    if isinstance(node, Scalar):
        edit_scalar(node, lambda text: rename(text, names))
        return
    if not isinstance(node, Collection):
        return
    hides = _hides(node, needed)
    verbatim = _verbatim(rw, node)
    for entry in node.entries:
        if entry.key == "input" and verbatim and isinstance(entry.value, Collection):
            for value in entry.value.entries:
                if value.key not in verbatim:
                    _rename_under(rw, value.value, names, over, needed)
        else:
            _rename_under(rw, entry.value, over if hides and entry.key in BOUNDARY else names, over, needed)


def _hides(node: Collection, needed: frozenset[str]) -> bool:
    values = node.map_at("input") if node.kind == "map" and "kind" in node.keys() else None
    return values is not None and any(
        key in needed and not _passes(values.get(key), key, "args") for key in values.keys()
    )


def _verbatim(rw: Rewriting, node: Collection) -> tuple[str, ...]:
    kind = rw.kind_of(node) if node.kind == "map" else None
    return kind.untemplated if kind is not None else ()


# ---- writing --------------------------------------------------------------------------------------------


def _write_on_arc(rw: Rewriting, tokens: Tokens, arc: Arc, roots: dict[str, str]) -> None:
    if arc.args is not None:
        _turn_into_set(rw, arc, arc.args)
    if arc.source == arc.target:
        return  # what an earlier token brought is still under the step's name
    for key in sorted((tokens.needed.get(arc.target, frozenset()) - arc.keys) & tokens.arriving[arc.source]):
        surely = key in tokens.certain[arc.source]
        value = f"{roots[arc.source]}.{key}" + ("" if surely else " | default(none)")
        _set_of(arc).add(pair(f"ctx.{arc.target}.{key}", quoted("{{ " + value + " }}")))
        rw.changed(
            arc.node.mark, f"'{key}', which travelled with the token, is handed on to '{arc.target}' by 'set'"
        )


def _turn_into_set(rw: Rewriting, arc: Arc, args: Entry) -> None:
    values = as_map(args.value)
    if values is None:
        values = mapping([pair(f"ctx.{arc.target}", args.value)], flow=arc.node.flow)
        args.value = values
        message = (
            f"'args' of the arc to '{arc.target}' is one template; it now replaces all of 'ctx.{arc.target}'"
        )
        rw.review(args.mark, message)
    else:
        for write in values.entries:
            retarget(write, f"ctx.{arc.target}.{_kept_name(write)}")
        rw.changed(args.mark, f"'args' of the arc is now 'set' under 'ctx.{arc.target}'")
    merge_set(rw, arc.node, args, values)


def _kept_name(write: Entry) -> str:
    """The name a value is kept under: a reference must be called one."""
    path = whole_path(write.value.value) if isinstance(write.value, Scalar) else None
    is_reference = path is not None and path[-1] in ("ref", "result_ref")
    key = str(write.key)
    return f"{key}_ref" if is_reference and not key.endswith("_ref") else key


def _set_of(arc: Arc) -> Collection:
    found = arc.node.map_at("set")
    if found is None:
        found = mapping(flow=True)
        arc.node.add(pair("set", found))
    return found


def _add_inputs(tokens: Tokens, name: str, step: Collection) -> None:
    written = {key for arc in tokens.into(name) for key in (arc.node.map_at("set") or mapping()).keys()}
    values = step.map_at("input")
    missing = [key for key in sorted(tokens.needed[name]) if values is None or values.entry(key) is None]
    if not missing:
        return
    if values is None:
        values = mapping(flow=True)
        step.insert(_place_of_input(step), pair("input", values))
    for key in missing:
        kept = key if f"ctx.{name}.{key}" in written else f"{key}_ref"
        values.add(pair(key, quoted("{{ " + _path(name, kept) + " }}")))


def _path(name: str, key: str) -> str:
    return f"ctx.{name}.{key}" if key.isidentifier() else f"ctx.{name}['{key}']"


def _place_of_input(step: Collection) -> int:
    """After the name and the description."""
    places = [index for index, entry in enumerate(step.entries) if entry.key in ("step", "desc")]
    return max(places, default=-1) + 1


def _warn_crowded(rw: Rewriting, arc: Arc) -> None:
    message = f"step '{arc.target}' may have several tokens in flight, and 'ctx.{arc.target}' holds the last one's values"
    rw.review(arc.node.mark, message, "give each branch its own step, or join the branches first")

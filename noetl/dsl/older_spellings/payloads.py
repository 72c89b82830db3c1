"""`args` of arcs: written by the arc's `set` under the target's name, read by the target through its `input`.

A name that every token brings becomes an input of the step. Where some token may come without one, the
templates read `ctx` themselves, so that a default written in them still holds.
"""

from dataclasses import dataclass

from noetl.dsl.older_spellings.arc_args import Arc, Tokens, several_in_flight, tokens_of
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.set_spellings import can_merge, merge_set, retarget, take_reference
from noetl.dsl.older_spellings.templates import edit_scalar, paths_of, rename
from noetl.dsl.templates.facts import plain_path
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry, Node, Scalar

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
        else:
            _warn_references(rw, tokens, name, step)


def _root(tokens: Tokens, name: str) -> str:
    """Where a step reads what was in args: `input`, or `ctx.<step>` where input cannot hold it."""
    inputs = tokens.steps[name].map_at("input") or tree.mapping()
    clash = any(key in inputs and not _passes(inputs.get(key), key) for key in tokens.needed[name])
    safe = tokens.needed[name] <= tokens.certain[name] and not tokens.opaque(name) and not clash
    return "input" if safe else f"ctx.{name}"


def _passes(node: Node | None, key: str) -> bool:
    """Whether a value hands on one name as it is, `{{ args.key }}`."""
    return isinstance(node, Scalar) and plain_path(node.value) in (("args", key), (key,))


# ---- reading --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reader:
    """How the templates of one step read what was in args."""

    rw: Rewriting
    needed: frozenset[str]
    names: dict[str, str]  # root name -> what it becomes
    hidden: dict[str, str]  # the same where a task's own input hides the step's

    def read(self, node: Node, names: dict[str, str]) -> None:
        """Rename roots in every template under a node."""
        if isinstance(node, Scalar):
            edit_scalar(node, lambda text: rename(text, names))
        elif isinstance(node, Collection):
            hides, verbatim = self._hides(node), self.rw.verbatim(node)
            for entry in node.entries:
                inside = self.hidden if hides and entry.key in BOUNDARY else names
                untouched = verbatim if entry.key == "input" else ()
                for value in entry.entries if untouched else [entry]:
                    if value.key not in untouched:
                        self.read(value.value, inside)

    def _hides(self, node: Collection) -> bool:
        values = node.map_at("input") if node.kind == "map" and "kind" in node else None
        return values is not None and any(
            key in self.needed and not _passes(values.get(key), key) for key in values.names
        )


def _read_anew(rw: Rewriting, tokens: Tokens, name: str, step: Collection, root: str) -> None:
    read = {path[0] for path in paths_of(step)}
    bare = _bare_names(rw, tokens, name, read)
    if "args" in read:
        rw.changed(step.mark, f"templates of step '{name}' read '{root}' instead of 'args'")
    elif not bare:
        return
    from_ctx = {"args": f"ctx.{name}", **bare}
    names = {"args": "input"} if root == "input" else from_ctx
    reader = Reader(rw, tokens.needed[name], names, {"args": f"ctx.{name}"} if root == "input" else from_ctx)
    for entry in step.entries:
        # The step's input cannot read itself.
        reader.read(entry.value, from_ctx if entry.key == "input" else names)


def _bare_names(rw: Rewriting, tokens: Tokens, name: str, read: set[str]) -> dict[str, str]:
    """What a bare name of args becomes where input does not hold it."""
    iterator, workload = tokens.steps[name].word("loop", "iterator"), rw.root.keys_at("workload")
    names = {}
    for key in sorted(read & tokens.arriving[name] - {iterator}):
        fallback = f"(ctx.{name}.{key} | default({key}))"
        certain = key in tokens.certain[name] or key not in workload
        names[key] = f"ctx.{name}.{key}" if certain else fallback
    return names


# ---- writing --------------------------------------------------------------------------------------------


def _write_on_arc(rw: Rewriting, tokens: Tokens, arc: Arc, roots: dict[str, str]) -> None:
    if not can_merge(arc.node):
        rw.review(arc.node.mark, "the 'set' of the arc is not a mapping, so nothing could be added to it")
        return
    if arc.args is not None:
        _turn_into_set(rw, tokens, arc, arc.args)
    if arc.source == arc.target:
        return  # what an earlier token brought is still under the step's name
    for key in sorted((tokens.needed.get(arc.target, frozenset()) - arc.keys) & tokens.arriving[arc.source]):
        default = "" if key in tokens.certain[arc.source] else " | default(none)"
        value = tree.quoted("{{ " + f"{roots[arc.source]}.{key}{default}" + " }}")
        arc.set().add(tree.pair(f"ctx.{arc.target}.{tokens.ctx_name(key)}", value))
        rw.changed(
            arc.node.mark, f"'{key}', which came with the token, is handed on to '{arc.target}' by 'set'"
        )


def _turn_into_set(rw: Rewriting, tokens: Tokens, arc: Arc, args: Entry) -> None:
    values, target = args.as_map, arc.target
    if values is None:
        values = tree.mapping_of({f"ctx.{target}": args.value}, flow=arc.node.flow)
        args.value = values
        rw.review(args.mark, f"'args' of the arc is one template, which now replaces all of 'ctx.{target}'")
    else:
        for write in values.entries:
            take_reference(rw, write)
            retarget(write, f"ctx.{target}.{tokens.ctx_name(str(write.key))}")
        rw.changed(args.mark, f"'args' of the arc is now 'set' under 'ctx.{target}'")
    merge_set(rw, arc.node, args, values)


def _add_inputs(tokens: Tokens, name: str, step: Collection) -> None:
    missing = sorted(tokens.needed[name] - {*step.keys_at("input")})
    if missing and "input" not in step:
        step.insert(_place_of_input(step), tree.pair("input", tree.mapping(flow=True)))
    for key in missing:
        value = tree.quoted("{{ " + _path(name, tokens.ctx_name(key)) + " }}")
        step.child("input").add(tree.pair(key, value))


def _path(name: str, key: str) -> str:
    return f"ctx.{name}.{key}" if key.isidentifier() else f"ctx.{name}['{key}']"


def _place_of_input(step: Collection) -> int:
    """After the name and the description."""
    places = [index for index, entry in enumerate(step.entries) if entry.key in ("step", "desc")]
    return max(places, default=-1) + 1


def _warn_crowded(rw: Rewriting, arc: Arc) -> None:
    where = f"'ctx.{arc.target}' holds only the last values"
    message = f"step '{arc.target}' may have several tokens in flight, but {where}"
    rw.review(arc.node.mark, message, "give each branch its own step, or join the branches first")


def _warn_references(rw: Rewriting, tokens: Tokens, name: str, step: Collection) -> None:
    for key in sorted(tokens.needed[name] & tokens.references):
        if tokens.ctx_name(key) != key:
            message = f"'{key}' is a reference and now kept as 'ctx.{name}.{tokens.ctx_name(key)}'"
            rw.review(step.mark, message, "read it under that name")

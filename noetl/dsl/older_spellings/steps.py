"""Steps of every age: `when`, `vars`, `args`, `pipe`, `next_mode`, lists under `next`, loop scheduling."""

from noetl.dsl.grammar.checker import NEXT_NOT_ROUTER
from noetl.dsl.grammar.playbook import SCHEDULING
from noetl.dsl.older_spellings import findings, policies
from noetl.dsl.older_spellings.cases import rewrite_case
from noetl.dsl.older_spellings.next_branches import has_branches, router_of_branches
from noetl.dsl.older_spellings.positioned import positioned, scalar_value
from noetl.dsl.older_spellings.previous import rewrite_previous
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.set_spellings import rewrite_set
from noetl.dsl.older_spellings.tasks import (
    NO_PIPE,
    as_pipeline,
    free_label,
    pipeline_hint,
    rewrite_claim,
    rewrite_tool,
)
from noetl.dsl.older_spellings.templates import mentions
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry, Scalar
from noetl.dsl.yaml.one_line import flow

NO_ROUTER = "'next' is not a router: it is a mapping with 'arcs'"
# What can only be read once the tools have run.
AFTERWARDS = ("outcome", "output", "result", "_prev", "event")


def rewrite_step(rw: Rewriting, step: Collection) -> None:
    """Bring one step to today's spelling; what depends on other steps comes later."""
    if rw.loading:
        _refuse_vars(rw, step)
    _rewrite_pipe(rw, step)
    _rewrite_eval(rw, step)
    rewrite_case(rw, step)
    _rewrite_next(rw, step)
    policies.rewrite_rules(rw, step.list_at("spec", "policy", "admit", "rules"))
    for key in ("when", "expr"):
        _rewrite_when(rw, step, key)
    rewrite_body(rw, step, step.word("step") or "step")


def rewrite_body(rw: Rewriting, owner: Collection, name: str) -> None:
    """Bring what a step and a workbook block share to today's spelling."""
    if not rw.loading:
        _rewrite_args(rw, owner)
    loop = owner.map_at("loop")
    if loop is not None:
        _lift_scheduling(rw, loop)
        claim = loop.map_at("in", "claim")
        if claim is not None and "kind" in claim:
            rewrite_claim(rw, claim)
    rewrite_tool(rw, owner)
    rewrite_set(rw, owner, None)
    if not rw.loading:
        rewrite_previous(rw, owner, name)
        _rewrite_vars(rw, owner, name)


def _rewrite_pipe(rw: Rewriting, step: Collection) -> None:
    entry = step.entry("pipe")
    if entry is None:
        return
    rw.legacy(findings.LEGACY_PIPE, entry.mark, NO_PIPE, f"tool: {pipeline_hint(entry.value)}")
    if step.entry("tool") is not None:
        hint = "put their tasks into one list"
        rw.leave(step, entry, "'pipe' was left as it is: the step also has a 'tool'", hint)
        return
    entry.rename("tool")
    rw.changed(entry.mark, "'pipe' is now 'tool': a list under 'tool' is the pipeline")


def _rewrite_eval(rw: Rewriting, step: Collection) -> None:
    """Decisions about the output of a step's only task belong to that task."""
    entry, task = step.entry("eval"), step.map_at("tool")
    if entry is None:
        return
    if rw.loading:
        _refuse_eval(rw, step, entry)
        return
    if task is None or "kind" not in task or "eval" in task:
        rw.review(entry.mark, "'eval' of the step was left as it is", "move it to the task it is about")
        return
    entry.before = [*filter(str.strip, entry.before)]
    task.add(step.pull(entry))


def _refuse_eval(rw: Rewriting, step: Collection, entry: Entry) -> None:
    """Which task of the step an `eval` is about is its author's to say."""
    step.drop(entry)
    kind = step.word("tool", "kind") or "…"
    policy = flow({"policy": positioned(policies.policy_of_eval(rw, entry))})
    message = "'eval' is not part of the language: decisions stand in a task's spec.policy.rules"
    rw.legacy(findings.LEGACY_EVAL, entry.mark, message, f"tool: {{kind: {kind}, spec: {policy}}}")


def _rewrite_args(rw: Rewriting, owner: Collection) -> None:
    entry = owner.entry("args")
    if entry is None:
        return
    values, inputs = entry.as_map, owner.map_at("input")
    if values is None or (inputs is None and "input" in owner):
        rw.review(entry.mark, "'args' was left as it is", "write: input: {name: value}")
        return
    rw.changed(entry.mark, "'args' is now 'input'")
    if inputs is None:
        entry.rename("input")
        return
    for value in inputs.take(values):
        message = f"'{value.key}' is given twice; the one under 'input' wins and this one is gone"
        rw.review(value.mark, message)
    owner.drop(entry)


# ---- admission ------------------------------------------------------------------------------------------


def _rewrite_when(rw: Rewriting, step: Collection, key: str) -> None:
    """Make the guard of a step its admission."""
    entry = step.entry(key)
    if entry is None:
        return
    _refuse_when(rw, entry, key)
    if tree.says(entry.value, *policies.TRUE) or (isinstance(entry.value, Scalar) and entry.value.empty):
        step.drop(entry)
        rw.changed(entry.mark, "a 'when' that always holds is gone")
        return
    policies.with_braces(entry)
    guard = Entry(entry.value, "when", "when", after=entry.after, mark=entry.mark)
    if not _can_hold_policy(step):
        rw.leave(step, entry, "'when' was left as it is: 'spec.policy' is not a mapping")
        return
    if step.entry("spec", "policy", "admit") is not None:
        _refuse_first(rw, step, entry)
        return
    admit = tree.pair("admit", policies.admission(guard, flow=step.flow), mark=entry.mark)
    spec = step.map_at("spec")
    if spec is None:
        entry.rename("spec")
        entry.value, entry.after = (
            tree.mapping_of({"policy": tree.mapping([admit], flow=step.flow)}, flow=step.flow),
            "",
        )
    else:
        admit.take_comments(step.pull(entry))
        admit.after = ""
        spec.child("policy").add(admit)
    rw.changed(entry.mark, "'when' of the step is now spec.policy.admit; a token it refuses is discarded")


def _refuse_when(rw: Rewriting, entry: Entry, key: str) -> None:
    admit = positioned(policies.admission(tree.pair("when", entry.value), flow=True))
    message = f"a step has no '{key}': admission stands in spec.policy.admit"
    rw.legacy(findings.LEGACY_WHEN, entry.mark, message, f"spec: {flow({'policy': {'admit': admit}})}")


def _can_hold_policy(step: Collection) -> bool:
    spec, policy = step.entry("spec"), step.entry("spec", "policy")
    return all(holder is None or holder.as_map is not None for holder in (spec, policy))


def _refuse_first(rw: Rewriting, step: Collection, entry: Entry) -> None:
    """A step with both a guard and an admission: refuse when the guard does not hold, then ask the rules."""
    rules = step.list_at("spec", "policy", "admit", "rules")
    text = (entry.text or "").strip()
    inside = text.removeprefix("{{").removesuffix("}}").strip()
    if rules is None or text != "{{" + text[2:-2] + "}}" or "{{" in inside or "{%" in text:
        message = "'when' was left as it is: the step also has an admission"
        rw.leave(step, entry, message, "join the two conditions")
        return
    step.drop(entry)
    refuse = tree.mapping_of({"allow": False}, flow=True)
    rules.insert(
        0, tree.item(tree.mapping_of({"when": "{{ not (" + inside + ") }}", "then": refuse}, flow=rules.flow))
    )
    rw.changed(entry.mark, "'when' of the step is now the first rule of its admission")


# ---- routing --------------------------------------------------------------------------------------------


def _rewrite_next(rw: Rewriting, step: Collection) -> None:
    entry = step.entry("next")
    if entry is not None:
        _make_router(rw, entry)
    _move_mode(rw, step, entry.as_map if entry is not None else None)
    for arc in step.maps_at("next", "arcs"):
        policies.rewrite_guard(rw, arc)
        rewrite_set(rw, arc, None, bare=False)
        _note_args(rw, arc)


def _note_args(rw: Rewriting, arc: Collection) -> None:
    """`args` of an arc still travel with the token; what replaces them depends on the steps it reaches."""
    entry, target = arc.entry("args"), arc.word("step")
    if entry is None or entry.as_map is None:
        return
    writes = {f"ctx.{target}.{value.key}": positioned(value.value) for value in entry.entries}
    write = f"set: {flow(writes)} on the arc, and read them in the input of '{target}'"
    rw.deprecated(findings.ARGS, entry.mark, "'args' of an arc is an older way to hand values on", write)


def _make_router(rw: Rewriting, entry: Entry) -> None:
    node = entry.value
    arcs = tree.as_list(node)
    if arcs is None and isinstance(node, Scalar) and not node.empty:
        arcs = tree.listing([tree.item(node)], flow=True)
    router = tree.as_map(node)
    if router is not None and "step" in router and "arcs" not in router:
        arcs = tree.listing([tree.item(router)], flow=router.flow)
    if arcs is None:
        return
    if has_branches(arcs):
        _make_router_of_branches(rw, entry, arcs)
        return
    for arc in arcs.entries:
        if isinstance(arc.value, Scalar) and isinstance(scalar_value(arc.value), str):
            arc.value = tree.mapping_of({"step": arc.value}, flow=True)
    entry.value = tree.mapping_of({"arcs": arcs}, flow=arcs.flow)
    entry.gap = entry.gap if not arcs.flow else " "
    rw.legacy(NEXT_NOT_ROUTER, entry.mark, NO_ROUTER, f"next: {flow(positioned(entry.value))}")
    rw.changed(entry.mark, "'next' is now a router with 'arcs'")


def _make_router_of_branches(rw: Rewriting, entry: Entry, arcs: Collection) -> None:
    router = router_of_branches(rw, entry, arcs)
    write = '{arcs: [{step: …, when: "{{ … }}"}]}' if router is None else flow(positioned(router))
    rw.legacy(NEXT_NOT_ROUTER, entry.mark, NO_ROUTER, f"next: {write}")
    if router is not None:
        entry.value = router
        entry.gap = entry.gap if not arcs.flow else " "


def _move_mode(rw: Rewriting, step: Collection, router: Collection | None) -> None:
    spec, knobs, mode = step.entry("spec"), step.map_at("spec"), step.entry("spec", "next_mode")
    if spec is None or knobs is None or mode is None:
        return
    message = "'spec.next_mode' is not part of the language: the mode belongs to the router"
    write = f"next: {{spec: {{mode: {flow(positioned(mode.value))}}}, arcs: [...]}}"
    rw.legacy(findings.LEGACY_NEXT_MODE, mode.mark, message, write)
    if router is None:
        knobs.drop(mode)
        rw.changed(mode.mark, "'next_mode' of a step without 'next' is gone")
    else:
        _give_mode(router, knobs.pull(mode))
        rw.changed(mode.mark, "'spec.next_mode' is now 'next.spec.mode'")
    if not knobs.entries:
        step.drop(spec)


def _give_mode(router: Collection, mode: Entry) -> None:
    mode.rename("mode")
    routing = router.map_at("spec")
    if routing is not None and routing.entry("mode") is None:
        routing.add(mode)
    elif "spec" not in router:
        holder = router.insert(0, tree.pair("spec", tree.mapping([mode], flow=True), mark=mode.mark))
        holder.take_comments(mode)
        mode.before, mode.after = [], ""


# ---- loops ----------------------------------------------------------------------------------------------


def _lift_scheduling(rw: Rewriting, loop: Collection) -> None:
    """`mode` and `max_in_flight` stand in the loop's spec, not in its policy."""
    spec, policy, inside = loop.map_at("spec"), loop.entry("spec", "policy"), loop.map_at("spec", "policy")
    for entry in tree.entries(inside):
        if spec is None or policy is None or inside is None or entry.key not in SCHEDULING:
            continue
        if entry.key in spec:
            inside.drop(entry)
        else:
            spec.insert(spec.place(policy), inside.pull(entry))
        rw.changed(entry.mark, f"'{entry.key}' of the loop now stands in its spec")
        if not inside.entries:
            spec.drop(policy)
    inner = loop.map_at("loop")
    if inner is not None:
        _lift_scheduling(rw, inner)


# ---- vars -----------------------------------------------------------------------------------------------


def _refuse_vars(rw: Rewriting, step: Collection) -> None:
    """Whether variables are set before the tools run or after is their author's to say."""
    entry = step.entry("vars")
    if entry is None:
        return
    values = {f"step.{value.key}": positioned(value.value) for value in tree.entries(entry.as_map)}
    message = "'vars' is not part of the language: state of one step run is 'step'"
    rw.legacy(findings.LEGACY_VARS, entry.mark, message, f"set: {flow(values or {'step.name': '…'})}")
    step.drop(entry)


def _rewrite_vars(rw: Rewriting, owner: Collection, name: str) -> None:
    """Variables of a step: what they read decides whether they are set before the tools run or after."""
    entry = owner.entry("vars")
    if entry is None:
        return
    values = entry.as_map
    if values is None:
        rw.review(
            entry.mark, "'vars' was left as it is: it is not a mapping", "write: set: {step.name: value}"
        )
        return
    after = (*AFTERWARDS, name)
    late = any(mentions(scalar.value, word) for scalar in tree.scalars(values) for word in after)
    if late or owner.entry("tool") is None:
        entry.rename("set_vars")
        rewrite_set(rw, owner, None)
        rw.review(entry.mark, "'vars' is now the 'set' of the step: it is written when the step has ended")
        return
    owner.pull(entry)
    tasks = as_pipeline(owner, name)
    label = free_label(tasks, "init_vars")
    entry.rename("set_vars")
    entry.before = [line for line in entry.before if line.strip()]
    first = tree.mapping_of({"name": label, "kind": "noop"}, flow=tasks.flow)
    first.add(entry)
    tasks.insert(0, tree.item(first, mark=entry.mark))
    rewrite_set(rw, first, None)
    rw.review(entry.mark, f"'vars' is now set by a first task '{label}'")

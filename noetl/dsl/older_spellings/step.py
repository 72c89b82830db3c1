"""Every spelling of a step, block, loop and router. Tasks are task.py's."""

import re

from noetl.dsl.grammar.playbook import SCHEDULING
from noetl.dsl.older_spellings.findings import (
    ARGS,
    LEGACY_NEXT_MODE,
    LEGACY_WHEN,
    NEXT_NOT_ROUTER,
    Surface,
)
from noetl.dsl.older_spellings.removed_keys import read_legacy_keys
from noetl.dsl.older_spellings.rules import read_guard, read_rules
from noetl.dsl.older_spellings.set import read_set
from noetl.dsl.older_spellings.task import read_tool
from noetl.dsl.yaml.one_line import flow
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.dsl.yaml.tree_edit import child_map, copy_map, move

_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)


def read_step(surface: Surface, node: Value) -> Value:
    """One step in today's spelling."""
    if not isinstance(node, Map):
        return node
    step = copy_map(node)
    name = step.get("step")
    read_legacy_keys(surface, step)
    _read_next(surface, step)
    _read_spec(surface, step)
    _read_when(surface, step)
    read_body(surface, step, name if isinstance(name, str) else "")
    return step


def read_body(surface: Surface, node: Map, name: str) -> None:
    """Read loop, tool and set of a step or block in place; its one unnamed task is called after it."""
    if "loop" in node:
        node["loop"] = read_loop(node["loop"])
    if "tool" in node:
        # A name that cannot be a name is reported once, for the step itself.
        label = f"{name}_task" if _NAME.fullmatch(name) else "task_0"
        node["tool"] = read_tool(surface, node["tool"], label)
    read_set(surface, node)


def read_loop(loop: Value) -> Value:
    """A loop whose mode and max_in_flight stand in its spec, inner loops included."""
    if not isinstance(loop, Map):
        return loop
    fresh = copy_map(loop)
    spec = fresh.get("spec")
    if isinstance(spec, Map) and isinstance(spec.get("policy"), Map):
        fresh["spec"] = _lift_scheduling(spec)
    if "loop" in fresh:
        fresh["loop"] = read_loop(fresh["loop"])
    return fresh


def _lift_scheduling(spec: Map) -> Map:
    fresh = copy_map(spec)
    policy = copy_map(spec["policy"])
    for key in SCHEDULING:
        if key in policy and key in fresh:
            del policy[key]
        elif key in policy:
            move(key, policy, fresh)
    fresh["policy"] = policy
    if not policy:
        del fresh["policy"]
    return fresh


def _read_when(surface: Surface, step: Map) -> None:
    """Turn `step.when` into an admission rule, and refuse it."""
    guard = next((key for key in ("when", "expr") if key in step), None)
    if guard is None:
        return
    mark, place = step.at_key(guard), step.at(guard)
    admit = _admission(step[guard], step, guard)
    message = f"a step has no '{guard}': admission stands in spec.policy.admit"
    surface.legacy(LEGACY_WHEN, mark, message, f"spec: {flow({'policy': {'admit': admit}})}")
    del step[guard]
    spec = child_map(step, "spec")
    policy = child_map(spec, "policy") if spec is not None else None
    if policy is not None and "admit" not in policy:
        policy.put("admit", admit, key_mark=mark, value_mark=place)


def _admission(guard: Value, step: Map, key: str) -> Map:
    place = step.at(key)
    allow, refuse, otherwise = Map(mark=place), Map(mark=place), Map(mark=place)
    allow.put("allow", True)
    refuse.put("allow", False)
    otherwise.put("then", refuse)
    first, last, admit = Map(mark=place), Map(mark=place), Map(mark=place)
    first.put("when", guard, key_mark=step.at_key(key), value_mark=place)
    first.put("then", allow)
    last.put("else", otherwise)
    rules = Seq(mark=place)
    rules.add(first)
    rules.add(last)
    admit.put("rules", rules)
    return admit


def _read_spec(surface: Surface, step: Map) -> None:
    if not isinstance(step.get("spec"), Map):
        return
    spec = child_map(step, "spec") or step["spec"]
    if "next_mode" in spec:
        _read_next_mode(surface, step, spec)
    policy = spec.get("policy")
    if not isinstance(policy, Map) or not isinstance(policy.get("admit"), Map):
        return
    admit = child_map(child_map(spec, "policy") or policy, "admit")
    if admit is not None and "rules" in admit:
        admit["rules"] = read_rules(surface, admit["rules"])


def _read_next_mode(surface: Surface, step: Map, spec: Map) -> None:
    mark, place, mode = spec.at_key("next_mode"), spec.at("next_mode"), spec["next_mode"]
    message = "'spec.next_mode' is not part of the language: the mode belongs to the router"
    surface.legacy(LEGACY_NEXT_MODE, mark, message, f"next: {{spec: {{mode: {flow(mode)}}}, arcs: [...]}}")
    del spec["next_mode"]
    if not isinstance(step.get("next"), Map):
        return
    router = child_map(step, "next")
    routing = child_map(router, "spec") if router is not None else None
    if routing is not None and "mode" not in routing:
        routing.put("mode", mode, key_mark=mark, value_mark=place)


def _read_next(surface: Surface, step: Map) -> None:
    if step.get("next") is None:
        return
    router = step["next"]
    if isinstance(router, Map) and not ("step" in router and "arcs" not in router):
        fresh = copy_map(router)
    else:
        fresh = _router_of(surface, step)
    if isinstance(fresh.get("arcs"), Seq):
        fresh["arcs"] = _read_arcs(surface, fresh["arcs"])
    step["next"] = fresh


def _router_of(surface: Surface, step: Map) -> Map:
    """A router of the older list of arcs, or of the name of one step."""
    node, mark = step["next"], step.at("next")
    arcs = Seq(mark=mark)
    items = node if isinstance(node, Seq) else Seq([node], mark)
    for index, item in enumerate(items):
        arc = item
        if isinstance(item, str):
            arc = Map(mark=items.at(index))
            arc.put("step", item)
        arcs.add(arc, items.at(index))
    router = Map(mark=mark)
    router.put("arcs", arcs)
    message = "'next' is not a router: it is a mapping with 'arcs'"
    surface.legacy(NEXT_NOT_ROUTER, step.at_key("next"), message, f"next: {flow(router)}")
    return router


def _read_arcs(surface: Surface, arcs: Seq) -> Seq:
    fresh = Seq(mark=arcs.mark)
    for index, arc in enumerate(arcs):
        fresh.add(_read_arc(surface, arc), arcs.at(index))
    return fresh


def _read_arc(surface: Surface, node: Value) -> Value:
    if not isinstance(node, Map):
        return node
    arc = read_guard(surface, node)
    read_set(surface, arc, bare=False)
    if isinstance(arc.get("args"), Map):
        target = arc.get("step")
        shown = {f"ctx.{target}.{key}": value for key, value in arc["args"].items()}
        message = "'args' of an arc is an older way to hand values on"
        write = f"set: {flow(shown)} on the arc, and read them in the input of '{target}'"
        surface.deprecated(ARGS, arc.at_key("args"), message, write)
    return arc

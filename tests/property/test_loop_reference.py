"""Any loop gives what the contract says: outputs in index order, counts, and what its iterations wrote."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.property.played import LIMIT, play, tasks
from tests.property.reference import Pipe, Tree

REDUCERS: dict[str, Any] = {
    "sum": lambda old, new: sum([*old, *new]),
    "max": lambda old, new: max([*old, *new]),
    "append": lambda old, new: [*old, *new],
    "first": lambda old, new: [*old, *new][0],
    "last": lambda old, new: new[-1],
}


class Conflict(Exception):
    """Two iterations wrote different values to one path."""


def iterate(
    found: list[Tree], items: list[Any], loop: Tree, best_effort: bool
) -> tuple[list[Pipe | None], Tree]:
    """Every iteration that ran, and the ctx it left behind."""
    parallel, reduced = loop["mode"] == "parallel", loop["policy"].get("reduce", {})
    ctx: Tree = {}
    pipes: list[Pipe | None] = []
    for index, item in enumerate(items):
        own = {"item": item, "index": index, "count": len(items)}
        pipe = Pipe(found, LIMIT, ctx={} if parallel else ctx, iter=own, reduced=reduced)
        well = pipe.run()
        pipes.append(pipe)
        if not parallel:
            ctx = pipe.ctx
        if not well and not best_effort:
            return [*pipes, *[None] * (len(items) - len(pipes))], ctx
    return pipes, merged([pipe for pipe in pipes if pipe and pipe.error is None], ctx, reduced, parallel)


def merged(pipes: list[Pipe], ctx: Tree, reduced: Tree, parallel: bool) -> Tree:
    """The writes of all iterations that went well, in order."""
    operands: dict[str, list[Any]] = {}
    plain: dict[str, tuple[int, Any]] = {}
    for index, pipe in enumerate(pipes):
        left = {target: value for target, value in pipe.writes if target not in reduced}
        for target, value in pipe.writes:
            if target in reduced:
                operands.setdefault(target, []).append(value)
        for target, value in left.items():
            if parallel and target.startswith("ctx."):
                known = plain.setdefault(target, (index, value))
                if known[1] != value or type(known[1]) is not type(value):
                    raise Conflict(target)
    found = {**ctx, **{target.removeprefix("ctx."): value for target, (_, value) in plain.items()}}
    for target, values in operands.items():
        found[target.removeprefix("ctx.")] = REDUCERS[reduced[target]]([], values)
    return found


@st.composite
def loops(draw: st.DrawFn) -> tuple[Tree, list[Any]]:
    """The spec of a loop, with or without a reducer, and its items."""
    policy: Tree = {"exec": draw(st.sampled_from(("local", "distributed")))}
    if draw(st.booleans()):
        policy["reduce"] = {"ctx.n": draw(st.sampled_from(list(REDUCERS)))}
    spec: Tree = {"mode": draw(st.sampled_from(("sequential", "parallel"))), "policy": policy}
    if spec["mode"] == "parallel":
        spec["max_in_flight"] = draw(st.integers(1, 3))
    if policy["exec"] == "distributed":
        spec["chunk"] = draw(st.integers(1, 3))
    return spec, draw(st.lists(st.integers(0, 5), max_size=5))


@given(tasks("ctx.a", "ctx.n", "iter.n"), loops(), st.booleans())
def test_a_loop_gives_what_the_contract_says(found: list[Tree], looped: Any, best_effort: bool) -> None:
    spec, items = looped
    mode = "best_effort" if best_effort else "fail_fast"
    loop = {"in": items, "iterator": "item", "spec": spec}
    step = {"step": "only", "tool": found, "loop": loop, "spec": {"policy": {"failure": {"mode": mode}}}}
    step["set"] = {"ctx.loop": "{{ output.loop }}"}
    result, _ = play(step)
    counts = result["ctx"].pop("loop")
    try:
        pipes, ctx = iterate(found, items, spec, best_effort)
    except Conflict:
        assert (result["status"], result["error"]["kind"]) == ("failed", "conflict")
        return
    failed = [pipe for pipe in pipes if pipe and pipe.error is not None]
    if failed and not best_effort:
        assert result["status"] == "failed"
        assert result["error"]["kind"] == failed[0].error
        return
    done = [pipe.output if pipe and pipe.error is None else None for pipe in pipes]
    assert result["status"] == "completed"
    assert result["output"] == [(output or {}).get("data") for output in done]
    assert (counts["total"], counts["done"], counts["failed"], counts["skipped"]) == (
        len(items),
        len(items) - len(failed),
        len(failed),
        0,
    )
    assert result["ctx"] == ctx

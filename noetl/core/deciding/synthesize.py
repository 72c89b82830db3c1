"""Dynamic nodes: a step's output becomes a piece of workflow that runs before the step's own arcs.

Only the server synthesises. A fragment is checked with the same rules as any playbook, its steps are named
`<origin>.<n>.<step>`, and the log keeps it as it was normalised, so that replay never renders it again.
"""

from noetl.core.deciding import router, template_scopes
from noetl.core.deciding.draft import Draft
from noetl.core.deciding.payload_hydration import hydrated
from noetl.core.program.evaluator import EvaluationError
from noetl.core.program.fragment import extended, fragment_problems, normalised
from noetl.core.program.program import Program
from noetl.core.shapes import ArcEvent, ErrorObject, FragmentEnd, FragmentOrigin, Output
from noetl.core.state import Fragment, Run, Token
from noetl.core.values.output import problem, size_of
from noetl.json_value import JsonObject

Steps = list[JsonObject]


def requested(draft: Draft, run: Run, output: Output) -> Steps | ErrorObject | None:
    """The fragment a finished step asks for; an error when it is not valid; None when it is empty."""
    step = draft.step(run.step)
    wanted = step.synthesize
    assert wanted is not None
    assert step.synthesize_from is not None
    event: ArcEvent = {"name": "step.done", "step": run.step, "data": {"output": output}}
    try:
        scope = template_scopes.ending(draft, run, event, hydrated(draft, run, output))
        steps = draft.evaluator.value(("synthesize", run.id), step.synthesize_from, scope)
    except EvaluationError as error:
        return problem("synthesis", error.message, **error.details)
    if isinstance(steps, dict) and steps.keys() == {"workflow"}:
        steps = steps["workflow"]  # a fragment may be written as a document has it
    if not steps:
        return None
    problems = fragment_problems(draft.program, steps, wanted.max_steps, wanted.kinds)
    if problems:
        message = "; ".join(finding["message"] for finding in problems[:3])
        return problem(
            "synthesis", f"the fragment of step {run.step!r} is not valid: {message}", diagnostics=problems
        )
    fragment = normalised(draft.program, steps)
    if (size := size_of(fragment)) > draft.program.max_payload_bytes:
        message = f"the fragment of step {run.step!r} has {size} bytes, more than limits.max_payload_bytes"
        return problem("limit", message)
    return fragment


def extend(draft: Draft, run: Run, steps: Steps) -> None:
    """Add a fragment to the workflow and route into its first step."""
    origin: FragmentOrigin = {
        "args": run.args,
        "input": run.input,
        "step": run.step_scope,
        "iter": run.iter_scope,
        "barred": run.barred,
        "fragment": run.fragment,
    }
    draft.emit("workflow.extended", run.id, step=run.step, steps=steps, origin=origin)
    draft.extend(extended(draft.program, run.id, steps))
    first = f"{run.id}.{steps[0]['step']}"
    event = {"name": "workflow.extended", "step": run.step}
    parts = {"from": run.step, "from_run": run.id, "event": event, "args": run.args, "fragment": run.id}
    router.enqueue(draft, first, parts)


def conclude(draft: Draft) -> bool:
    """Evaluate the arcs of an origin whose fragment has no token left; whether there was one."""
    state = draft.state
    for fragment in state.fragments.values():
        if not fragment.ended and not state.ended and not _lives(draft, fragment):
            draft.emit("workflow.contracted", fragment.origin, step=fragment.step)
            _route_origin(draft, fragment)
            return True
    return False


def _lives(draft: Draft, fragment: Fragment) -> bool:
    state = draft.state
    moving: list[Token | Run] = [*state.tokens.values(), *state.runs.values()]
    return any(_inside(state.fragments, item.fragment, fragment.origin) for item in moving)


def _inside(fragments: dict[str, Fragment], name: str | None, origin: str) -> bool:
    """Whether one fragment is another or was synthesised inside it."""
    while name is not None and name != origin:
        name = fragments[name].run.get("fragment")
    return name == origin


def _route_origin(draft: Draft, fragment: Fragment) -> None:
    origin = fragment.run
    nothing: FragmentEnd = {
        "name": "step.done",
        "step": fragment.step,
        "output": {"status": "ok", "data": None},
    }
    last = fragment.last or nothing
    run = Run(
        id=fragment.origin,
        step=fragment.step,
        args=origin.get("args", {}),
        input=origin.get("input"),
        step_scope=origin.get("step", {}),
        iter_scope=origin.get("iter", {}),
        barred=origin.get("barred", []),
        fragment=origin.get("fragment"),
    )
    router.route(draft, run, last["name"], last["output"], of=last["step"])


def with_fragments(program: Program, fragments: dict[str, Fragment]) -> Program:
    """A program with every fragment that an execution's log recorded."""
    for fragment in fragments.values():
        program = extended(program, fragment.origin, fragment.steps)
    return program

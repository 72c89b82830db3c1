"""Keys of steps and tasks that the language no longer has, each refused with the text that replaces it.

`step.when` and `next` as a list are step.py's, `eval` of a task rules.py's.
"""

from collections.abc import Iterator

from noetl.dsl.older_spellings.findings import LEGACY_CASE, LEGACY_EVAL, LEGACY_PIPE, LEGACY_VARS, Surface
from noetl.dsl.older_spellings.rules import policy_of_eval
from noetl.dsl.yaml.one_line import flow
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.dsl.yaml.tree_edit import move

_NO_PIPE = "'pipe' is not part of the language: a list under 'tool' is the pipeline"
_NO_CASE = "'case' is not part of the language: guards stand on the arcs, decisions in a task's policy"


def read_legacy_keys(surface: Surface, step: Map) -> None:
    """Refuse the older keys of a step, and read what they clearly mean."""
    if "vars" in step:
        message = "'vars' is not part of the language: state of one step run is 'step'"
        values = step["vars"] if isinstance(step["vars"], Map) else Map()
        shown = {f"step.{key}": value for key, value in values.items()} or {"step.name": "…"}
        surface.legacy(LEGACY_VARS, step.at_key("vars"), message, f"set: {flow(shown)}")
        del step["vars"]
    if "pipe" in step:
        surface.legacy(LEGACY_PIPE, step.at_key("pipe"), _NO_PIPE, f"tool: {_pipeline(step['pipe'])}")
        if "tool" not in step:
            move("pipe", step, step, "tool")
        step.pop("pipe", None)
    if "case" in step:
        arcs = [*_arcs(step["case"])] or '[{step: …, when: "{{ … }}"}]'
        write = f"next: {{arcs: {arcs if isinstance(arcs, str) else flow(arcs)}}}"
        surface.legacy(LEGACY_CASE, step.at_key("case"), _NO_CASE, write)
        del step["case"]
    if "eval" in step:
        message = "'eval' is not part of the language: decisions stand in a task's spec.policy.rules"
        policy = policy_of_eval(surface, step)
        surface.legacy(LEGACY_EVAL, step.at_key("eval"), message, f"tool: {_decided(step, policy)}")
        del step["eval"]


def read_legacy_tool(surface: Surface, tool: Map) -> Value:
    """A `tool` whose tasks stand under `pipe` is their list."""
    if "pipe" not in tool or "kind" in tool:
        return tool
    surface.legacy(LEGACY_PIPE, tool.at_key("pipe"), _NO_PIPE, f"tool: {_pipeline(tool['pipe'])}")
    return tool["pipe"]


def refuse_case(surface: Surface, task: Map) -> None:
    """Take the older `case` out of a task."""
    if "case" not in task:
        return
    write = 'spec: {policy: {rules: [{when: "{{ … }}", then: {do: …}}, {else: {then: {do: …}}}]}}'
    surface.legacy(LEGACY_CASE, task.at_key("case"), _NO_CASE, write)
    del task["case"]


def _pipeline(tasks: Value) -> str:
    """The tasks of a `pipe` as a list under `tool` names them."""
    if not isinstance(tasks, Seq) or not tasks:
        return "[{name: …, kind: …}, …]"
    return flow([_named(task) for task in tasks])


def _named(task: Value) -> Value:
    if not isinstance(task, Map) or len(task) != 1:
        return task
    label, body = next(iter(task.items()))
    return {"name": label, **body} if isinstance(body, Map) else task


def _decided(step: Map, policy: Map) -> str:
    """The one task of a step with the policy that its step had."""
    tool = step.get("tool")
    kind = tool.get("kind") if isinstance(tool, Map) else None
    shown = kind if isinstance(kind, str) else "…"
    return f"{{kind: {shown}, spec: {flow({'policy': policy})}}}"


def _arcs(case: Value) -> Iterator[Value]:
    """The arcs of a `case` that only routes; none when a branch does anything else."""
    found: list[Value] = []
    for branch in case if isinstance(case, Seq) else ():
        targets = [*_targets(branch)]
        if not targets:
            return
        found += targets
    yield from found


def _targets(branch: Value) -> Iterator[Value]:
    if not isinstance(branch, Map):
        return
    body = branch.get("else") or branch.get("then")
    actions = body if isinstance(body, Seq) else [body]
    guard = branch.get("when", branch.get("expr"))
    for action in actions:
        given = action.get("next") if isinstance(action, Map) else None
        for target in given if isinstance(given, Seq) else [given]:
            arc = target if isinstance(target, Map) else {"step": target} if isinstance(target, str) else None
            if arc is not None and "step" in arc:
                yield {**arc, "when": guard} if guard is not None else {**arc}

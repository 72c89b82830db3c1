"""The effective spec of a task: kind defaults < executor < step < loop < task. Rendering it is the engine's.

Scalars: the inner one wins. Maps merge deeply. Lists replace. Within a scope what stands under the name of
the task's kind wins over what is said of all kinds. A policy belongs to the scope it stands in and is never
inherited; so do a step's timeout and the keys that say how a step or loop itself is run.
"""

from collections.abc import Mapping

from noetl.dsl.model import Executor, Loop, Step, Task
from noetl.dsl.tool_kind import Kind
from noetl.dsl.yaml.tree import plain
from noetl.json_value import Json

Layer = Mapping[str, Json]

_SHARED = ("timeout", "limits", "result")

LIMITS: Mapping[str, int | None] = {
    "max_task_runs": 100_000,
    "max_payload_bytes": 65_536,
    "max_takeovers": 3,
    "max_hydrate_bytes": 16 * 1024 * 1024,
    "max_visits": None,
}


def overlay(outer: Layer, inner: Layer) -> dict[str, Json]:
    """Inner over outer: scalars and lists replace, maps merge."""
    merged = dict(outer)
    for key, value in inner.items():
        below = merged.get(key)
        merged[key] = (
            overlay(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
        )
    return merged


def effective_spec(
    executor: Executor, step: Step | None, loop: Loop | None, task: Task, kind: Kind | None
) -> dict[str, Json]:
    """What a task runs with, policy apart; templates are still templates. A workbook block has no step."""
    own = {key: value for key, value in task.spec.items() if key != task.kind or not _mapping(value)}
    layers = [
        kind.defaults if kind else {},
        *_executor_layers(executor, task.kind),
        *(_layers(step.spec, task.kind) if step else ()),
        *(layer for spec in _loop_specs(loop) for layer in _layers(spec, task.kind)),
        _mapping(task.spec.get(task.kind)),
        own,
    ]
    merged: dict[str, Json] = {}
    for layer in layers:
        merged = overlay(merged, layer)
    result: dict[str, Json] = plain(merged)
    return result


def step_limits(executor: Executor, step: Step | None) -> dict[str, Json]:
    """The limits of a step run as written, executor below step below loop, with the defaults filled in."""
    merged: dict[str, Json] = {}
    written = [step.spec, *_loop_specs(step.loop)] if step else []
    for layer in (*_executor_layers(executor, None), *written):
        merged = overlay(merged, layer)
    return limits(merged)


def limits(spec: Layer) -> dict[str, Json]:
    """The limits of an effective spec with the defaults filled in."""
    written = spec.get("limits")
    return overlay(LIMITS, written if isinstance(written, Mapping) else {})


def _executor_layers(executor: Executor, kind: str | None) -> list[Layer]:
    """What every task inherits, from the most general to the kind's own defaults."""
    policy = _mapping(executor.spec.get("policy"))
    defaults = _mapping(policy.get("defaults"))
    general: dict[str, Json] = {}
    if "timeouts" in defaults:
        general["timeout"] = defaults["timeouts"]
    if "resources" in defaults:
        general["resources"] = defaults["resources"]
    if policy.get("limits"):
        general["limits"] = policy["limits"]
    own, by_kind = _layers(executor.spec, kind)
    if executor.timeout is not None:
        own = {**own, "timeout": executor.timeout}
    return [general, own, by_kind]


def _layers(spec: Layer, kind: str | None) -> tuple[Layer, Layer]:
    """What one scope says of all its tasks, and of those of a kind."""
    shared = {key: spec[key] for key in _SHARED if key in spec}
    return shared, _mapping(spec.get(kind)) if kind else {}


def _loop_specs(loop: Loop | None) -> list[Layer]:
    """The specs of a loop and of the loops inside it, the outer one first."""
    specs = []
    while loop is not None:
        specs.append(loop.spec)
        loop = loop.inner
    return specs


def _mapping(value: Json) -> Layer:
    return value if isinstance(value, Mapping) else {}

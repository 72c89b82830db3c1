"""A canonical tree without sugar -> the frozen model, which keeps the tree as its `node`.

Lenient: nothing is checked here, and what the grammar rejects is left out or takes its default.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from noetl.dsl import model
from noetl.dsl.grammar import playbook
from noetl.dsl.grammar.claim import CLAIM_BOUNDS, is_claim
from noetl.dsl.grammar.task import DIRECTIVES, RETRY_OPTIONS, SCOPES, SUGAR, TASK, TASK_POLICY
from noetl.dsl.grammar.types import SPAN_PATTERN, Choice, Record
from noetl.dsl.yaml.tree import Map, Seq
from noetl.json_value import Json

AnyRule = TypeVar("AnyRule", model.Rule, model.AdmitRule)

_EXECUTOR_OWN = ("entry_step", "final_step", "on_failure", "pool", "trace", "timeout")
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_STEP_OWN = ("join", "pool", "timeout", "synthesize", "continue", "validate", "policy", "lease")
_NOTHING = Map()  # shared: nothing writes to a built model
_TASK_OWN = (*TASK.keys, *SUGAR)
_LOOP_OWN = ("mode", "max_in_flight", "chunk", "policy")


def build(tree: Json) -> model.Playbook:
    """The playbook of a canonical tree."""
    root = _map(tree)
    metadata = _map(root.get("metadata"))
    return model.Playbook(
        name=_text(metadata.get("name")) or "",
        path=_text(metadata.get("path")) or "",
        steps=tuple(_step(node) for node in _maps(root.get("workflow"))),
        workload=_map(root.get("workload")),
        keychain=tuple(_secret(node) for node in _maps(root.get("keychain"))),
        executor=_executor(_map(root.get("executor"))),
        workbook={
            name: _block(name, node)
            for name, node in _map(root.get("workbook")).items()
            if isinstance(node, Map)
        },
        metadata=metadata,
        node=root,
    )


def _secret(node: Map) -> model.Secret:
    source = {key: value for key, value in node.items() if key not in ("name", "kind", "desc")}
    return model.Secret(_text(node.get("name")) or "", _text(node.get("kind")) or "", source, node=node)


def _executor(node: Map) -> model.Executor:
    spec = _map(node.get("spec"))
    tools = _map(node.get("requires")).get("tools")
    version = node.get("version")
    return model.Executor(
        profile=_choice(playbook.EXECUTOR, node, "profile"),
        version=None if version is None else str(version),
        requires_tools=tuple(_texts(tools)),
        entry_step=_text(spec.get("entry_step")),
        final_step=_text(spec.get("final_step")),
        on_failure=_choice(playbook.EXECUTOR_SPEC, spec, "on_failure"),
        pool=_text(spec.get("pool")),
        trace=_choice(playbook.EXECUTOR_SPEC, spec, "trace"),
        timeout=spec.get("timeout"),
        expected_s=span_s(_map(_map(spec.get("policy")).get("sla")).get("expected")),
        spec=_rest(spec, _EXECUTOR_OWN),
        node=node,
    )


def _step(node: Map) -> model.Step:
    spec = _map(node.get("spec"))
    policy = _map(spec.get("policy"))
    lifecycle = _map(policy.get("lifecycle"))
    return model.Step(
        name=_text(node.get("step")) or "",
        input=_map(node.get("input")),
        loop=_loop(node.get("loop")),
        tasks=_tasks(node.get("tool")),
        output=node.get("output"),
        has_output="output" in node,
        set=_assigns(node.get("set")),
        desc=_text(node.get("desc")),
        whole_input=_text(node.get("input")),
        next=_router(_map(node.get("next"))),
        join=_choice(playbook.STEP_SPEC, spec, "join"),
        pool=_text(spec.get("pool")),
        admit=_else_last(_admit_rules(_map(policy.get("admit")).get("rules"))),
        timeout_s=lifecycle.get("timeout_s", spec.get("timeout")),
        deadline_s=lifecycle.get("deadline_s"),
        failure_mode=_choice(playbook.FAILURE, _map(policy.get("failure")), "mode"),
        synthesize=_synthesize(spec.get("synthesize")),
        continues=_continue(spec.get("continue")),
        emit=_emit(policy.get("emit")),
        validate=_map(spec.get("validate")),
        spec=_rest(spec, _STEP_OWN),
        node=node,
    )


def _block(name: str, node: Map) -> model.Block:
    return model.Block(
        name=name,
        input=_map(node.get("input")),
        loop=_loop(node.get("loop")),
        tasks=_tasks(node.get("tool")),
        output=node.get("output"),
        has_output="output" in node,
        set=_assigns(node.get("set")),
        node=node,
    )


def _continue(value: Json) -> model.Continue | None:
    if not isinstance(value, Map):
        return None
    after = value.get("after_events")
    given = _map(value.get("input"))
    return model.Continue(after, given) if isinstance(after, int) else model.Continue(input=given)


def _emit(value: Json) -> model.Emit | None:
    """Texts from before it was in force may have anything there."""
    if not isinstance(value, Map):
        return None
    events, to = value.get("events"), value.get("to")
    if not isinstance(events, Seq) or not isinstance(to, Seq):
        return None
    return model.Emit(tuple(_texts(events)), tuple(_texts(to)))


def span_s(value: Json) -> float | None:
    """A span of time as authors write it, in seconds."""
    if isinstance(value, str) and re.fullmatch(SPAN_PATTERN, value):
        return int(value[:-1]) * UNITS_S[value[-1]]
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _synthesize(value: Json) -> model.Synthesize | None:
    if not isinstance(value, Map) or "from" not in value:
        return None
    limits = _map(value.get("limits"))
    steps = limits.get("max_steps", 50)
    kinds = tuple(_texts(limits["kinds"])) if isinstance(limits.get("kinds"), Seq) else None
    return model.Synthesize(value["from"], steps if isinstance(steps, int) else 50, kinds)


def _loop(value: Json) -> model.Loop | None:
    if not isinstance(value, Map) or "in" not in value or not isinstance(value.get("iterator"), str):
        return None
    spec = _map(value.get("spec"))
    policy = _map(spec.get("policy"))
    reduce = {target: name for target, name in _map(policy.get("reduce")).items() if isinstance(name, str)}
    claim = _claim(value["in"])
    return model.Loop(
        collection=value["in"] if claim is None else [],
        iterator=value["iterator"],
        mode=_choice(playbook.LOOP_SPEC, spec, "mode"),
        max_in_flight=spec.get("max_in_flight", 10),
        chunk=spec.get("chunk"),
        placement=_choice(playbook.LOOP_POLICY, policy, "exec"),
        reduce=reduce,
        claim=claim,
        inner=_loop(value.get("loop")),
        spec=_rest(spec, _LOOP_OWN),
        node=value,
    )


def _claim(value: Json) -> model.Claim | None:
    if not is_claim(value):
        return None
    node = value["claim"]
    task = Map(((key, item) for key, item in node.items() if key not in CLAIM_BOUNDS.keys), node.mark)
    task.key_marks, task.value_marks = node.key_marks, node.value_marks
    bounds = {key: node.get(key) for key in CLAIM_BOUNDS.keys}
    return model.Claim(replace(_task(task), label=model.CLAIM, set=()), **bounds, node=node)


def _router(node: Map) -> model.Router:
    mode = _choice(playbook.ROUTER_SPEC, _map(node.get("spec")), "mode")
    arcs = (_arc(arc) for arc in _maps(node.get("arcs")) if isinstance(arc.get("step"), str))
    return model.Router(mode, tuple(arcs), node=node)


def _arc(node: Map) -> model.Arc:
    return model.Arc(
        node["step"], node.get("when"), _assigns(node.get("set")), _map(node.get("args")), node=node
    )


def _tasks(value: Json) -> tuple[model.Task, ...]:
    return tuple(_task(node) for node in _maps(value))


def _task(node: Map) -> model.Task:
    spec = _map(node.get("spec"))
    policy = _map(spec.get("policy"))
    rules = _else_last(_rules(policy["rules"])) if isinstance(policy.get("rules"), Seq) else None
    return model.Task(
        label=_text(node.get("name")) or "",
        kind=_text(node.get("kind")) or "",
        input=_map(node.get("input")),
        whole_input=_text(node.get("input")),
        auth=node.get("auth"),
        call=_rest(node, _TASK_OWN),
        spec=_rest(spec, ("policy",)),
        before=_else_last(_rules(policy.get("before"))),
        rules=rules,
        on_unmatched=_choice(TASK_POLICY, policy, "on_unmatched"),
        output=node.get("output"),
        has_output="output" in node,
        set=_assigns(node.get("set")),
        desc=_text(node.get("desc")),
        node=node,
    )


def _rules(value: Json) -> Iterator[model.Rule]:
    for node in _maps(value):
        otherwise = "else" in node
        then = _map(_map(node["else"]).get("then") if otherwise else node.get("then"))
        if then.get("do") in DIRECTIVES:
            yield _rule(node, None if otherwise else node.get("when"), then)


def _rule(node: Map, when: Json, then: Map) -> model.Rule:
    options: dict[str, Any] = {key: then[key] for key in RETRY_OPTIONS if key in then}
    if options.get("backoff") not in ("none", "linear", "exponential"):
        options.pop("backoff", None)
    if not isinstance(options.get("jitter", False), bool):
        del options["jitter"]
    return model.Rule(
        when=when,
        do=then["do"],
        set=_assigns(then.get("set")),
        to=_text(then.get("to")),
        message=then.get("message"),
        node=node,
        **options,
    )


def _admit_rules(value: Json) -> Iterator[model.AdmitRule]:
    for node in _maps(value):
        otherwise = "else" in node
        then = _map(_map(node["else"]).get("then") if otherwise else node.get("then"))
        if isinstance(then.get("allow"), bool):
            yield model.AdmitRule(None if otherwise else node.get("when"), then["allow"], node=node)


def _else_last(rules: Iterable[AnyRule]) -> tuple[AnyRule, ...]:
    """The rules in the order in which they are tried: `else` decides only if nothing else does."""
    return tuple(sorted(rules, key=lambda rule: rule.when is None))


def _assigns(value: Json) -> tuple[model.Assign, ...]:
    assigns = []
    for target, item in _map(value).items():
        scope, _, path = target.partition(".")
        if scope in SCOPES and path:
            assigns.append(model.Assign(scope, tuple(path.split(".")), item))  # type: ignore[arg-type]
    return tuple(assigns)


def _map(value: Json) -> Map:
    return value if isinstance(value, Map) else _NOTHING


def _maps(value: Json) -> Iterator[Map]:
    return (item for item in value if isinstance(item, Map)) if isinstance(value, Seq) else iter(())


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Json) -> Iterator[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, Seq) else iter(())


def _choice(record: Record, node: Map, key: str) -> Any:
    """The word under a key, or the first that the grammar lists there, which is the default."""
    shape, word = record.keys[key].shape, node.get(key)
    assert isinstance(shape, Choice)
    return word if isinstance(word, str) and word in shape.values else shape.values[0]


def _rest(spec: Map, own: tuple[str, ...]) -> Mapping[str, Json]:
    return {key: value for key, value in spec.items() if key not in own}

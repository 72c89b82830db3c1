"""The model -> a canonical tree: what build.py reads gives the same model again. Defaults are left out."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields

from noetl.dsl.grammar.playbook import API_VERSION, DOCUMENT_KIND
from noetl.dsl.grammar.task import RETRY_OPTIONS
from noetl.dsl.model import AdmitRule, Arc, Assign, Block, Executor, Loop, Playbook, Router, Rule, Step, Task
from noetl.dsl.yaml.tree import Map, Value, plain
from noetl.dsl.yaml.tree_edit import adopt

Entries = dict[str, Value]
_RULE_DEFAULTS = {field.name: field.default for field in fields(Rule) if field.default is not MISSING}


def to_tree(playbook: Playbook) -> Map:
    """The canonical tree of a playbook."""
    metadata = {"name": playbook.name, "path": playbook.path, **playbook.metadata}
    keychain = [{"name": entry.name, "kind": entry.kind, **entry.source} for entry in playbook.keychain]
    root: Entries = {"apiVersion": API_VERSION, "kind": DOCUMENT_KIND, "metadata": metadata}
    _add(root, keychain=keychain, executor=_executor(playbook.executor), workload=dict(playbook.workload))
    root["workflow"] = [_step(step) for step in playbook.steps]
    _add(root, workbook={name: _block(block) for name, block in playbook.workbook.items()})
    tree: Map = adopt(plain(root))
    return tree


def _add(entries: Entries, **values: Value) -> None:
    """Add what is there: empty maps, empty lists and None are absence."""
    for key, value in values.items():
        if value is not None and value != {} and value != []:
            entries[key] = value


def _unless(value: str, default: str) -> str | None:
    return None if value == default else value


def _executor(executor: Executor) -> Entries:
    spec: Entries = {}
    _add(
        spec,
        entry_step=executor.entry_step,
        final_step=executor.final_step,
        on_failure=_unless(executor.on_failure, "stop"),
        pool=executor.pool,
        trace=_unless(executor.trace, "full"),
        timeout=executor.timeout,
    )
    spec |= executor.spec
    node: Entries = {}
    requires = {"tools": list(executor.requires_tools)} if executor.requires_tools else None
    profile = _unless(executor.profile, "auto")
    _add(node, profile=profile, version=executor.version, requires=requires, spec=spec)
    return node


def _step(step: Step) -> Entries:
    node: Entries = {"step": step.name}
    _add(node, desc=step.desc, input=step.whole_input or dict(step.input), spec=_step_spec(step))
    _add(node, loop=_loop(step.loop) if step.loop else None, tool=[_task(task) for task in step.tasks])
    if step.has_output:
        node["output"] = step.output
    _add(node, set=_set(step.set), next=_router(step.next))
    return node


def _step_spec(step: Step) -> Entries:
    lifecycle: Entries = {}
    _add(lifecycle, timeout_s=step.timeout_s, deadline_s=step.deadline_s)
    failure = None if step.failure_mode == "fail_fast" else {"mode": step.failure_mode}
    policy: Entries = {}
    admit = {"rules": [_admit_rule(rule) for rule in step.admit]} if step.admit else None
    _add(policy, admit=admit, lifecycle=lifecycle, failure=failure)
    spec: Entries = {}
    _add(spec, join=_unless(step.join, "sync"), pool=step.pool, validate=dict(step.validate), policy=policy)
    if step.synthesize is not None:
        limits: Entries = {"max_steps": step.synthesize.max_steps}
        if step.synthesize.kinds is not None:
            limits["kinds"] = list(step.synthesize.kinds)
        spec["synthesize"] = {"from": step.synthesize.source, "limits": limits}
    return spec | dict(step.spec)


def _block(block: Block) -> Entries:
    node: Entries = {}
    _add(node, input=dict(block.input), loop=_loop(block.loop) if block.loop else None)
    node["tool"] = [_task(task) for task in block.tasks]
    if block.has_output:
        node["output"] = block.output
    _add(node, set=_set(block.set))
    return node


def _loop(loop: Loop) -> Entries:
    policy: Entries = {}
    _add(policy, exec=_unless(loop.placement, "local"), reduce=dict(loop.reduce))
    spec: Entries = {}
    _add(spec, mode=_unless(loop.mode, "sequential"), chunk=loop.chunk, policy=policy)
    if loop.max_in_flight != 10:
        spec["max_in_flight"] = loop.max_in_flight
    spec |= loop.spec
    node: Entries = {"in": loop.collection, "iterator": loop.iterator}
    _add(node, spec=spec, loop=_loop(loop.inner) if loop.inner else None)
    return node


def _router(router: Router) -> Entries:
    if not router.arcs and router.mode == "exclusive":
        return {}
    node: Entries = {}
    _add(node, spec={} if router.mode == "exclusive" else {"mode": router.mode})
    node["arcs"] = [_arc(arc) for arc in router.arcs]
    return node


def _arc(arc: Arc) -> Entries:
    node: Entries = {"step": arc.step}
    _add(node, when=arc.when, set=_set(arc.set), args=dict(arc.args))
    return node


def _task(task: Task) -> Entries:
    node: Entries = {"name": task.label, "kind": task.kind}
    _add(node, desc=task.desc)
    node |= task.call
    policy: Entries = {}
    _add(policy, on_unmatched=_unless(task.on_unmatched, "continue"), before=_rules(task.before))
    if task.rules is not None:
        policy["rules"] = _rules(task.rules)
    spec = dict(task.spec)
    _add(spec, policy=policy)
    _add(node, input=task.whole_input or dict(task.input), auth=task.auth, spec=spec)
    if task.has_output:
        node["output"] = task.output
    _add(node, set=_set(task.set))
    return node


def _rules(rules: Iterable[Rule]) -> list[Entries]:
    return [_guarded(rule.when, _then(rule)) for rule in rules]


def _then(rule: Rule) -> Entries:
    then: Entries = {"do": rule.do}
    for name in (*RETRY_OPTIONS, "to", "message"):
        value = getattr(rule, name)
        if value != _RULE_DEFAULTS[name]:
            then[name] = value
    _add(then, set=_set(rule.set))
    return then


def _admit_rule(rule: AdmitRule) -> Entries:
    return _guarded(rule.when, {"allow": rule.allow})


def _guarded(when: Value, then: Entries) -> Entries:
    return {"else": {"then": then}} if when is None else {"when": when, "then": then}


def _set(assigns: Iterable[Assign]) -> Mapping[str, Value]:
    return {assign.target: assign.value for assign in assigns}

"""A playbook compiled for running: templates as code, labels as indices, effective specs merged.

Compiled once per playbook version and shared by control plane and workers. Nothing here renders or decides.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from noetl.core.program.features import language_of, row_format_of
from noetl.core.program.template_reads import TemplateReads
from noetl.dsl import effective_spec, model
from noetl.dsl import template_scope as at
from noetl.dsl.net.routing import asks
from noetl.dsl.net.workflow_graph import Graph
from noetl.dsl.sugar.labels import merged, name_of
from noetl.dsl.template_site import Owner
from noetl.dsl.templates.reads import Path, PathSet
from noetl.dsl.templates.template import CompiledValue, compile_value
from noetl.dsl.templates.values import ENVELOPE_FIELDS
from noetl.dsl.tool_kind import Kind, Kinds
from noetl.dsl.yaml.tree import plain
from noetl.json_value import Json, JsonObject

Limits: TypeAlias = Mapping[str, Any]  # numbers where the grammar asks for them, else as written
TaskSpec: TypeAlias = Mapping[str, Any]  # rendered; the grammar has said what stands where


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition: a literal, or a template judged by the language's truth rules."""

    literal: bool | None = None
    template: CompiledValue | None = None
    shown: tuple[Path, ...] = field(init=False)  # what it reads, in the order in which a decision keeps it

    def __post_init__(self) -> None:
        object.__setattr__(self, "shown", tuple(sorted(self.paths)))

    @property
    def paths(self) -> frozenset[Path]:
        """What the guard reads."""
        return self.template.paths if self.template else frozenset()


ALWAYS = Guard(literal=True)


@dataclass(frozen=True, slots=True)
class Write:
    """One compiled entry of a `set`."""

    path: Path  # scope first: ("ctx", "page")
    value: CompiledValue


@dataclass(frozen=True, slots=True)
class RuleProgram:
    """One compiled policy rule. `guard` None is `else`."""

    guard: Guard | None
    do: model.Directive
    set: tuple[Write, ...]
    to: int | None
    options: CompiledValue  # attempts, delay, max_delay, message
    backoff: str
    jitter: bool


@dataclass(frozen=True, slots=True)
class TaskProgram:
    """One compiled task of a pipeline."""

    index: int
    label: str
    kind: str
    input: CompiledValue
    literal: Mapping[str, Json]  # inputs that are never templates, such as python code
    auth: CompiledValue | None
    call: CompiledValue
    spec: CompiledValue
    before: tuple[RuleProgram, ...]
    rules: tuple[RuleProgram, ...] | None
    on_unmatched: str
    output: CompiledValue | None
    set: tuple[Write, ...]
    merge_point: str | None  # `<name>` when this is the generated `<name>.end`
    block: str | None  # the one that a task of kind `workbook` calls
    reads: frozenset[Path]  # by all of its templates


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An ordered list of tasks, and what its templates mention."""

    tasks: tuple[TaskProgram, ...]
    labels: Mapping[str, int]
    mentions: PathSet
    named: frozenset[str]  # names that are read here or where the pipeline has ended, tasks among them
    wants_ref: bool  # some template of the pipeline, or after it, reads a task's `ref`
    wants_meta: bool  # some template of the pipeline, or after it, reads a task's `meta`
    kinds: frozenset[str]  # of its tasks


@dataclass(frozen=True, slots=True)
class ClaimProgram:
    """How a loop claims its items: a pipeline of one task, and its compiled bounds."""

    pipeline: Pipeline
    batch: CompiledValue
    prefetch: CompiledValue
    max_batches: CompiledValue
    whole: bool  # the rows of one batch go out together


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """A compiled loop; `inner` is nested by `loop.loop`."""

    collection: CompiledValue
    iterator: str
    parallel: bool
    max_in_flight: CompiledValue
    chunk: CompiledValue
    distributed: bool  # its iterations are handed out in chunks
    reduce: Mapping[Path, str]
    inner: "LoopProgram | None"
    claim: ClaimProgram | None = None

    @property
    def reads(self) -> frozenset[Path]:
        """What the collection and its bounds read."""
        return self.collection.paths | self.max_in_flight.paths | self.chunk.paths


@dataclass(frozen=True, slots=True)
class BlockProgram:
    """A compiled workbook block."""

    name: str
    input: CompiledValue
    loop: LoopProgram | None
    pipeline: Pipeline
    output: CompiledValue | None
    set: tuple[Write, ...]
    mentions: PathSet  # of everything in it


@dataclass(frozen=True, slots=True)
class AdmitProgram:
    """One compiled admission rule."""

    guard: Guard | None
    allow: bool


@dataclass(frozen=True, slots=True)
class ContinueProgram:
    """From how many events on a step is where the execution goes on as another, and what that one gets."""

    after_events: int
    input: CompiledValue


@dataclass(frozen=True, slots=True)
class ArcProgram:
    """One compiled arc. `asks`: its guard reads how the step ended, so a failure it takes is answered."""

    step: str
    guard: Guard
    asks: bool
    set: tuple[Write, ...]
    args: CompiledValue


@dataclass(frozen=True, slots=True)
class StepProgram:
    """One compiled step."""

    name: str
    input: CompiledValue
    admit: tuple[AdmitProgram, ...]
    loop: LoopProgram | None
    pipeline: Pipeline
    output: CompiledValue | None
    set: tuple[Write, ...]
    inclusive: bool
    arcs: tuple[ArcProgram, ...]
    join: str | None  # None: fewer than two incoming arcs, nothing to join
    sources: tuple[str, ...]
    pool: str | None
    timeout: CompiledValue
    deadline: CompiledValue
    best_effort: bool
    synthesize: model.Synthesize | None
    synthesize_from: CompiledValue | None
    continues: ContinueProgram | None
    validate: Mapping[str, Json]
    limits: Limits
    mentions: PathSet  # of everything the worker renders, called blocks included
    workload_keys: frozenset[str] | None  # keys of the workload among them; None is all of it
    ctx_keys: frozenset[str] | None
    names: frozenset[str]  # names among them that are no scope
    arrival: PathSet  # of input, gate, bounds and items: what the server renders before the start
    boundary: PathSet  # of step set, output, arcs: what the server renders at the end
    arcs_render: bool  # some arc has a template, so that the end of a run has to be seen
    plain_arcs: bool  # no arc writes or hands on anything of its own
    loops_over: frozenset[Path]  # what the loop's collection may be a reference from
    wants_event: bool  # the step's input, gate or items read `event.data`
    wants_ref: bool  # someone reads the step's own `ref`
    wants_results: frozenset[str]  # tasks read by name once they are over, here or elsewhere
    wants_iter: frozenset[str] | None  # keys of `iter` read once the pipeline is over; None is all of it
    reads_itself: bool  # the step's output or set reads the step or its tasks by name
    read_later: bool  # some other template mentions the step by name
    reads_event: bool  # some template of the step reads `event`
    routes_only: bool  # the server completes the step itself
    starts_plainly: bool  # a worker runs it, and nothing but its input is rendered or judged before
    ends_plainly: bool  # nothing but its arcs is rendered or judged at its end

    @property
    def may_end_at_once(self) -> bool:
        """Whether the decision that starts a run may end it: nothing to do, no items, or an input amiss."""
        rendered = (self.input, self.timeout, self.deadline)
        amiss = bool(self.validate.get("input")) or not all(value.static for value in rendered)
        return self.routes_only or self.loop is not None or amiss


@dataclass(frozen=True, slots=True)
class Program:
    """A whole compiled playbook."""

    hash: str
    path: str
    playbook: model.Playbook
    steps: Mapping[str, StepProgram]
    blocks: Mapping[str, BlockProgram]
    graph: Graph
    entry: str
    final_step: str | None
    drain: bool
    pool: str
    limits: Limits
    max_payload_bytes: int  # of the limits, those that every decision asks for
    max_hydrate_bytes: int
    reference_first: bool  # every payload is put aside, whatever its size
    loops_over: frozenset[Path]  # what the items of any loop are read from
    emits: Mapping[str, model.Emit]  # of steps whose ends somebody is told
    results_read: frozenset[str]  # finished steps and tasks whose payloads the server's templates read
    row_format: int  # the oldest in which its executions can be logged
    language: int  # the oldest that its text can be read in
    kinds: Kinds = field(repr=False, default_factory=dict)


def compile_program(playbook: model.Playbook, kinds: Kinds, content_hash: str) -> Program:
    """Compile a playbook that has no errors."""
    whole = _Whole.of(playbook, kinds)
    blocks = {name: _block(block, playbook, kinds, whole.reads) for name, block in playbook.workbook.items()}
    steps = {
        step.name: _StepCompiler(step, playbook, kinds, blocks, whole).compile() for step in playbook.steps
    }
    executor = playbook.executor
    limits: Mapping[str, Any] = effective_spec.step_limits(executor, None)
    return Program(
        hash=content_hash,
        path=playbook.path,
        playbook=playbook,
        steps=steps,
        blocks=blocks,
        graph=whole.graph,
        entry=playbook.entry,
        final_step=executor.final_step,
        drain=executor.on_failure == "drain",
        pool=executor.pool or "default",
        limits=limits,
        max_payload_bytes=int(limits["max_payload_bytes"]),
        max_hydrate_bytes=int(limits["max_hydrate_bytes"]),
        reference_first=_reference_first(executor.spec),
        loops_over=frozenset(path for step in steps.values() for path in step.loops_over),
        emits={step.name: step.emit for step in playbook.steps if step.emit is not None},
        results_read=_results_read(steps),
        row_format=row_format_of(playbook, whole.reads.everything),
        language=language_of(playbook, whole.reads.everything),
        kinds=kinds,
    )


def _continues(wanted: model.Continue | None) -> ContinueProgram | None:
    return (
        None if wanted is None else ContinueProgram(wanted.after_events, compile_value(plain(wanted.input)))
    )


def _results_read(steps: Mapping[str, StepProgram]) -> frozenset[str]:
    names = {name.rpartition(".")[2] for name in steps} | steps.keys()
    names |= {task for step in steps.values() if step.reads_itself for task in step.wants_results}
    if any(step.synthesize for step in steps.values()):  # what it makes may name any
        return frozenset(names)
    read = PathSet().union(*(part for step in steps.values() for part in (step.arrival, step.boundary)))
    return frozenset(path[0] for path in read.paths if path[0] in names)


def _reference_first(spec: Mapping[str, Any]) -> bool:
    results = (spec.get("policy") or {}).get("results") or {}
    return results.get("reference_first") is True


@dataclass(frozen=True, slots=True)
class _Whole:
    """What compiling one step needs to know of all of them."""

    graph: Graph
    incoming: Counter[str]
    reads: TemplateReads
    synthesises: bool  # some step makes a fragment, which may name any other step

    @classmethod
    def of(cls, playbook: model.Playbook, kinds: Kinds) -> "_Whole":
        """Look at the playbook once."""
        incoming = Counter(arc.step for step in playbook.steps for arc in step.next.arcs)
        synthesises = any(step.synthesize for step in playbook.steps)
        return cls(Graph.of(playbook), incoming, TemplateReads(playbook, kinds), synthesises)


class _StepCompiler:
    """Compiles one step with what it needs to know of its playbook."""

    def __init__(
        self,
        step: model.Step,
        playbook: model.Playbook,
        kinds: Kinds,
        blocks: Mapping[str, BlockProgram],
        whole: "_Whole",
    ) -> None:
        self.step, self.playbook, self.kinds, self.blocks = step, playbook, kinds, blocks
        self.graph, self.incoming, self.reads = whole.graph, whole.incoming, whole.reads
        self.everything, self.synthesises = whole.reads.everything, whole.synthesises

    def compile(self) -> StepProgram:
        """The step as a program."""
        step = self.step
        arrival = self.reads.at(step, at.STEP_INPUT, at.STEP_LIFECYCLE, at.ADMIT, at.LOOP_IN, at.CONTINUE)
        arcs = tuple(_arc(arc, step.name) for arc in step.next.arcs)
        writes = _writes(step.set)
        output = compile_value(step.output) if step.has_output else None
        source = compile_value(step.synthesize.source) if step.synthesize else None
        name = step.name.rpartition(".")[2]  # a fragment's steps name one another as their author did
        ending = self.reads.at(step, *at.AFTER_PIPELINE)
        boundary = ending.union(self.reads.at(step, at.ARC))
        tasks = _names(step.tasks)
        boundary = boundary.union(boundary.of_itself(name, tasks))
        outside = PathSet() if step.loop else self.everything.results(name).union(ending.only(tasks))
        pipeline = _pipeline(step, self._spec_of, self.kinds, self.reads, outside)
        loop = _loop(step.loop, self._claim(step.loop))
        mentions = self._worker_reads(pipeline, None if loop is None else loop.claim)
        if step.validate.get("output") or boundary.below("output") - ENVELOPE_FIELDS:
            # a schema reads the payload, and so does a field that is none of the envelope's
            boundary = boundary.union(PathSet(frozenset({("output", "data")})))
        return StepProgram(
            name=step.name,
            input=compile_value(step.whole_input or step.input),
            admit=tuple(AdmitProgram(_guard(rule.when), rule.allow) for rule in step.admit),
            loop=loop,
            pipeline=pipeline,
            output=output,
            set=writes,
            inclusive=step.next.mode == "inclusive",
            arcs=arcs,
            join=step.join if self.incoming[step.name] >= 2 else None,
            sources=self.graph.predecessors(step.name),
            pool=step.pool,
            timeout=compile_value(step.timeout_s),
            deadline=compile_value(step.deadline_s),
            best_effort=step.failure_mode == "best_effort",
            synthesize=step.synthesize,
            synthesize_from=source,
            continues=_continues(step.continues),
            validate=plain(step.validate),
            limits=effective_spec.step_limits(self.playbook.executor, step),
            mentions=mentions,
            workload_keys=mentions.keys("workload"),
            ctx_keys=mentions.keys("ctx"),
            names=mentions.bare(),
            arrival=arrival,
            boundary=boundary,
            arcs_render=any(arc.guard.template or arc.set or not arc.args.static for arc in arcs),
            plain_arcs=all(not arc.set and arc.args.static and not arc.args.value for arc in arcs),
            loops_over=self._loops_over(),
            wants_event=arrival.reads("event", "data"),
            wants_ref=boundary.names("output", "ref") or self.everything.names(name, "ref"),
            wants_results=self.everything.below(name, "results") | ending.only(tasks).bare(),
            wants_iter=boundary.keys("iter") if step.loop is None else frozenset(),
            reads_itself=any(ending.mentions(own) for own in {name, *tasks}),
            read_later=self.everything.mentions(name) or self.synthesises,
            reads_event=self.reads.at(step).mentions("event"),
            routes_only=not step.tasks and step.loop is None,
            starts_plainly=not self._is_judged(),
            ends_plainly=not (step.has_output or step.set or step.validate.get("output") or step.synthesize),
        )

    def _is_judged(self) -> bool:
        """Whether more than its input has to be known before a run: its gate, its bounds, its items."""
        step = self.step
        bounded = step.timeout_s is not None or step.deadline_s is not None
        listed = not step.tasks or step.loop is not None
        return bool(step.admit or step.validate.get("input")) or bounded or listed

    def _spec_of(self, task: model.Task) -> JsonObject:
        kind = self.kinds.get(task.kind) or Kind(task.kind, "")
        return effective_spec.effective_spec(self.playbook.executor, self.step, self.step.loop, task, kind)

    def _claim(self, loop: model.Loop | None) -> ClaimProgram | None:
        """How the step's loop claims its items, if it does."""
        claim = None if loop is None else loop.claim
        if loop is None or claim is None:
            return None
        task = _task(
            0,
            claim.task,
            {model.CLAIM: 0},
            compile_value(self._spec_of(claim.task)),
            self.kinds.get(claim.task.kind),
            self.reads.of_claim(self.step),
        )
        return ClaimProgram(
            pipeline=_of_tasks((task,), {model.CLAIM: 0}, PathSet()),
            batch=compile_value(claim.batch),
            prefetch=compile_value(claim.prefetch),
            max_batches=compile_value(claim.max_batches),
            whole=loop.placement == "local",
        )

    def _loops_over(self) -> frozenset[Path]:
        """Paths that may give the collection as a reference, also through the step's input."""
        if self.step.loop is None:
            return frozenset()
        collection = compile_value(self.step.loop.collection)
        compiled_value = compile_value(self.step.whole_input or self.step.input)
        return collection.paths | compiled_value.paths if collection.paths else frozenset()

    def _worker_reads(self, pipeline: Pipeline, claim: ClaimProgram | None) -> PathSet:
        """What the worker renders: pipeline, claim, the loops inside the step's, the blocks it may call."""
        blocks = [self.blocks[name] for name in _called_blocks(self.step.all_tasks, self.playbook)]
        claimed = PathSet() if claim is None else claim.pipeline.mentions
        return pipeline.mentions.union(
            claimed, self.reads.at(self.step, at.INNER_IN), *(block.mentions for block in blocks)
        )


def _names(tasks: Iterable[model.Task]) -> frozenset[str]:
    """What templates after a pipeline can call its tasks: by their labels, and items of sugar by theirs."""
    labels = [task.label for task in tasks]
    return frozenset((*labels, *filter(None, map(merged, labels))))


def _called_blocks(tasks: Iterable[model.Task], playbook: model.Playbook) -> set[str]:
    names: set[str] = set()
    queue = [task for task in tasks if task.kind == "workbook"]
    while queue:
        task = queue.pop()
        name = task.block or ""
        if name in playbook.workbook and name not in names:
            names.add(name)
            queue += [inner for inner in playbook.workbook[name].tasks if inner.kind == "workbook"]
    return names


def _block(block: model.Block, playbook: model.Playbook, kinds: Kinds, reads: TemplateReads) -> BlockProgram:
    def spec_of(task: model.Task) -> JsonObject:
        kind = kinds.get(task.kind) or Kind(task.kind, "")
        return effective_spec.effective_spec(playbook.executor, None, block.loop, task, kind)

    pipeline = _pipeline(block, spec_of, kinds, reads, reads.at(block, *at.AFTER_PIPELINE))
    return BlockProgram(
        name=block.name,
        input=compile_value(block.input),
        loop=_loop(block.loop),
        pipeline=pipeline,
        output=compile_value(block.output) if block.has_output else None,
        set=_writes(block.set),
        mentions=pipeline.mentions.union(reads.at(block)),
    )


def _pipeline(
    owner: Owner,
    spec_of: Callable[[model.Task], JsonObject],
    kinds: Kinds,
    reads: TemplateReads,
    outside: PathSet,
) -> Pipeline:
    labels = {task.label: index for index, task in enumerate(owner.tasks)}
    compiled = tuple(
        _task(
            index,
            task,
            labels,
            compile_value(spec_of(task)),
            kinds.get(task.kind),
            reads.of_task(owner, index),
        )
        for index, task in enumerate(owner.tasks)
    )
    return _of_tasks(compiled, labels, outside)


def _of_tasks(compiled: tuple[TaskProgram, ...], labels: Mapping[str, int], outside: PathSet) -> Pipeline:
    mentions = PathSet(frozenset[Path]().union(*(task.reads for task in compiled)))
    names = {name_of(label) for label in (*labels, *filter(None, map(merged, labels)))}
    both = mentions.union(outside)
    wants_ref = mentions.names("output", "ref") or any(both.names(name, "ref") for name in names)
    wants_meta = any("meta" in path for path in both.paths)
    used = frozenset(task.kind for task in compiled)
    return Pipeline(compiled, labels, mentions, both.bare(), wants_ref, wants_meta, used)


def _task(
    index: int,
    task: model.Task,
    labels: Mapping[str, int],
    spec: CompiledValue,
    kind: Kind | None,
    own: PathSet,
) -> TaskProgram:
    literal = {key: task.input[key] for key in (kind.untemplated if kind else ()) if key in task.input}
    return TaskProgram(
        index=index,
        label=task.label,
        kind=task.kind,
        input=compile_value(
            task.whole_input or {key: value for key, value in task.input.items() if key not in literal}
        ),
        literal=literal,
        auth=None if task.auth is None else compile_value(task.auth),
        call=compile_value(task.call),
        spec=spec,
        before=tuple(_rule(rule, labels) for rule in task.before),
        rules=None if task.rules is None else tuple(_rule(rule, labels) for rule in task.rules),
        on_unmatched=task.on_unmatched,
        output=compile_value(task.output) if task.has_output else None,
        set=_writes(task.set),
        merge_point=merged(task.label),
        block=task.block,
        reads=own.paths | spec.paths,
    )


def _rule(rule: model.Rule, labels: Mapping[str, int]) -> RuleProgram:
    options = {"attempts": rule.attempts, "delay": rule.delay, "max_delay": rule.max_delay}
    if rule.message is not None:
        options["message"] = rule.message
    return RuleProgram(
        guard=None if rule.when is None else _guard(rule.when),
        do=rule.do,
        set=_writes(rule.set),
        to=labels[rule.to] if rule.to is not None else None,
        options=compile_value(options),
        backoff=rule.backoff,
        jitter=rule.jitter,
    )


def _guard(when: Json) -> Guard | None:
    if when is None:
        return None
    return Guard(literal=when) if isinstance(when, bool) else Guard(template=compile_value(when))


def _writes(assigns: tuple[model.Assign, ...]) -> tuple[Write, ...]:
    return tuple(Write((item.scope, *item.path), compile_value(item.value)) for item in assigns)


def _loop(loop: model.Loop | None, claim: ClaimProgram | None = None) -> LoopProgram | None:
    if loop is None:
        return None
    return LoopProgram(
        collection=compile_value(loop.collection),
        iterator=loop.iterator,
        parallel=loop.mode == "parallel",
        max_in_flight=compile_value(loop.max_in_flight),
        chunk=compile_value(loop.chunk),
        distributed=loop.placement == "distributed" or claim is not None,
        reduce={tuple(target.split(".")): how for target, how in loop.reduce.items()},
        inner=_loop(loop.inner),
        claim=claim,
    )


def _arc(arc: model.Arc, step: str) -> ArcProgram:
    guard = _guard(arc.when) or ALWAYS
    return ArcProgram(
        step=arc.step,
        guard=guard,
        asks=asks(guard.paths, step),
        set=_writes(arc.set),
        args=compile_value(arc.args),
    )

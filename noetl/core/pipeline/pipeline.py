"""A pipeline as a generator: it yields what is to be done outside, and is sent what came of it.

Per task: before-rules, input, tool, output and set, rules, directive. `noop` never leaves the generator.
The shell that drives it does all waiting and calling; see worker/.
"""

from noetl.core.event import index_of, iso
from noetl.core.pipeline import effects, engine_kinds, task_policy
from noetl.core.pipeline.frame import Frame
from noetl.core.pipeline.recorded_output import SHOWN_BYTES, recorded, trace_value, with_ref
from noetl.core.pipeline.task_policy import Choice
from noetl.core.program.evaluator import EvaluationError, TemplateEvaluator, binding
from noetl.core.program.program import TaskProgram, TaskSpec
from noetl.core.shapes import ErrorObject, Output, Patch
from noetl.core.values import error_details
from noetl.core.values.output import ANSWERED, failed, not_a_mapping, ok, problem, size_of
from noetl.core.values.schema_check import schema_problem
from noetl.core.values.scope import Scope
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.template import CompiledValue
from noetl.json_value import Json, JsonObject

_JUDGE = TemplateEvaluator()
# What the engine carries out itself is known to be over, unless it was only not waited for any longer.
NOT_OVER = frozenset({"timeout", "cancelled"})


EVENTS_AT_ONCE = 2000


def drive(frame: Frame, answer: Output | None = None) -> effects.Drive:
    """Run a pipeline from where its frame stands; `answer` is what a parked task was waiting for."""
    tasks = frame.pipeline.tasks
    try:
        while frame.pc < len(tasks):
            if frame.around.stopping:
                return effects.HANDED_BACK
            if len(frame.around.events) >= EVENTS_AT_ONCE:
                yield effects.Sleep(0)  # what never waits by itself lets what it said be reported
            ended = yield from _visit(frame, tasks[frame.pc], answer)
            answer = None
            if ended is not None:
                return ended
    except EvaluationError as error:
        return _failed(frame, tasks[min(frame.pc, len(tasks) - 1)], problem(error.kind, error.message))
    return effects.Ended(True, frame.output or ok())


def _visit(frame: Frame, task: TaskProgram, answer: Output | None) -> effects.Driven[effects.Ended | None]:
    """Come to a task: ask its before-rules on a new visit, then run it."""
    label = frame.prefix + task.label
    if frame.around.aside and (refs := frame.scope(task.label).wanted(task.reads)):
        yield effects.NeedPayloads(refs)
    if frame.attempt == 0:
        frame.visits[task.label] = frame.visits.get(task.label, 0) + 1
        most = frame.around.limits["max_task_runs"]
        if frame.visits[task.label] > most:  # before-rules that only jump would never run a task
            raise EvaluationError("limit", f"the pipeline came to task {task.label!r} more than {most} times")
        choice = _before(frame, task)
        if choice.do in ("continue", "skip"):
            _count_visit(frame, task)
        if choice.do == "continue" and choice.program is not None:
            frame.write(task_policy.rendered_set(choice.program, frame.scope(task.label)))
        if choice.do != "continue":
            return _skipped(frame, task, label, choice)
        frame.attempt, frame.unsure = 1, frame.around.repeated
    visit = effects.Visit(task, label, frame.visits[task.label])
    frame.runs += 1
    if frame.runs > frame.around.limits["max_task_runs"]:
        raise EvaluationError(
            "limit", f"the pipeline ran more than {frame.around.limits['max_task_runs']} tasks"
        )
    output = yield from _perform(frame, visit, answer)
    output = _after(frame, visit, output)
    return (yield from _decide(frame, visit, output))


def _before(frame: Frame, task: TaskProgram) -> Choice:
    if not task.before:
        return task_policy.CONTINUE
    choice = task_policy.choose(task.before, frame.scope(task.label), f"{task.label} before")
    return choice or task_policy.CONTINUE


def _count_visit(frame: Frame, task: TaskProgram) -> None:
    limits = task.spec.value.get("limits")
    most = limits.get("max_visits") if isinstance(limits, dict) else None
    if most is None:
        return
    if isinstance(most, str):
        most = _rendered_limit(frame, task)
    frame.passed[task.label] = frame.passed.get(task.label, 0) + 1
    if frame.passed[task.label] > most:
        told = f"task {task.label!r} was passed more than {most} times; if it is not an endless loop"
        raise EvaluationError("limit", f"{told}, raise {_bound_of(task.label)}")


def _bound_of(label: str) -> str:
    """What an author raises; a label with a dot is of a task that an item was expanded to."""
    item = label.rpartition(".")[0]
    return f"'max' ('max_pages' of a paginate) of {item!r}" if item else "its spec.limits.max_visits"


def _rendered_limit(frame: Frame, task: TaskProgram) -> int:
    try:
        return int(_rendered_spec(frame, task)["limits"]["max_visits"])
    except (TemplateError, TypeError, ValueError) as error:
        raise EvaluationError("template", f"limits.max_visits of task {task.label!r}: {error}") from None


def _skipped(frame: Frame, task: TaskProgram, label: str, choice: Choice) -> effects.Ended | None:
    """A before-rule decided: the tool is not run, the task's set not applied."""
    assert choice.program is not None
    scope = frame.scope(task.label)
    pairs = task_policy.rendered_set(choice.program, scope)
    frame.write(pairs)
    data: dict[str, object] = {"do": choice.do, "before": choice.rule, "set": pairs, "seen": choice.seen}
    data["to"] = _goes_to(frame, choice)
    data = {key: value for key, value in data.items() if value not in ([], {}, None)}
    visit = effects.Visit(task, label, frame.visits[task.label])
    frame.around.record(effects.task_event(frame, visit, "task.done", data))
    if task.merge_point is not None and frame.output is not None:
        frame.results[task.merge_point] = frame.output
    return _act(frame, visit, choice, frame.output or ok(), scope)


def _perform(frame: Frame, visit: effects.Visit, answer: Output | None) -> effects.Driven[Output]:
    """One attempt: render the input, then do what the kind does."""
    task, around = visit.task, frame.around
    waiting, frame.waiting = frame.waiting, None
    visit.started = answer is not None and waiting in ("wait", "child")
    try:
        visit.input = yield from _rendered(frame, task)
        spec = engine_kinds.with_bound(_rendered_spec(frame, task), task.label)
        auth = None if task.auth is None else (yield from _auth(frame, task, task.auth))
    except (TemplateError, EvaluationError) as error:
        _started(frame, visit)
        place = (
            "" if isinstance(error, EvaluationError) else f"input of task {task.label!r}: "
        )  # it names its own
        wrong = problem(_kind_of(error), f"{place}{error.message}")
        return failed(error_details.fitted(around.redactor.clean(wrong)))
    if visit.started:
        answer = engine_kinds.answered(answer or {}, waiting or "")
        output = yield from engine_kinds.with_payload(frame, visit, answer)
    else:
        _started(frame, visit)
        output = yield from _carried_out(frame, visit, spec, auth)
    if frame.pipeline.wants_meta and "meta" not in output:
        output = {"meta": _own_meta(frame, visit, output), **output}
    visit.logs = output.pop(effects.LOGS, None) if effects.LOGS in output else None
    visit.last_lines = visit.logs
    if effects.LAST_LINES in output:
        visit.last_lines = output.pop(effects.LAST_LINES, None)
    visit.answered = _is_answered(task, output)
    frame.settled = visit.answered
    visit.input = around.redactor.clean(visit.input)  # what comes now is written down
    return _checked(task, spec, output)


def _is_answered(task: TaskProgram, output: Output) -> bool:
    """Whether an attempt is known to be over: it went well, or whoever carried it out said that it failed."""
    by_itself = bool(output.pop(ANSWERED, False))
    if output["status"] == "ok" or by_itself:
        return True
    return task.kind in engine_kinds.OWN_KINDS and (output["error"] or {})["kind"] not in NOT_OVER


def _own_meta(frame: Frame, visit: effects.Visit, output: Output) -> JsonObject:
    """The meta of a kind that the engine carries out itself."""
    data = output.get("data")
    return {
        "attempt": frame.attempt,
        "duration_ms": 0,
        "ts": iso(frame.around.now()),
        "bytes": 0 if data is None else size_of(data),
        "idempotency_key": engine_kinds.idempotency_key(frame, visit),
        "trace_id": frame.around.execution_id,
    }


def _carried_out(frame: Frame, visit: effects.Visit, spec: TaskSpec, auth: Json) -> effects.Driven[Output]:
    """What the kind does with an input that fits."""
    task, around = visit.task, frame.around
    wrong = schema_problem(spec.get("validate", {}).get("input"), visit.input, "input")
    if wrong is not None:
        message = f"input of task {task.label!r}: {wrong.message}"
        return failed(problem(wrong.kind, around.redactor.clean(message)))
    engine_kind = engine_kinds.ENGINE_KINDS.get(task.kind)
    if engine_kind is not None and (unknown := _unknown_inputs(frame, visit)):
        text = f"task {task.label!r}: {task.kind} takes no input {', '.join(map(repr, unknown))}"
        return failed(problem("input", text))
    if engine_kind is not None:
        output: Output = yield from engine_kind(frame, visit, engine_kinds.bound_s(spec))
    else:
        key = engine_kinds.idempotency_key(frame, visit)
        output = yield effects.RunTool(
            task, visit.label, visit.input, spec, auth, frame.attempt, key, frame.prev, frame.at
        )
    cleaned: Output = around.redactor.clean(output)
    if error := cleaned.get("error"):
        cleaned = {**cleaned, "error": error_details.fitted(error)}
    return cleaned


def _unknown_inputs(frame: Frame, visit: effects.Visit) -> list[str]:
    """Keys that one template gave as input and that the kind does not take; others were seen before."""
    kind = frame.around.program.kinds.get(visit.task.kind)
    if kind is None or kind.open_input or not isinstance(visit.task.input.value, str):
        return []
    return [key for key in visit.input if key not in kind.inputs]


def _checked(task: TaskProgram, spec: TaskSpec, output: Output) -> Output:
    """The output, an error when it does not fit the task's schema."""
    if output["status"] != "ok":
        return output
    wrong = schema_problem(spec.get("validate", {}).get("output"), output.get("data"), "output")
    if wrong is None:
        return output
    error = problem(wrong.kind, f"output of task {task.label!r}: {wrong.message}")
    return {**output, **failed(error), "data": output["data"]}


def _rendered(frame: Frame, task: TaskProgram) -> effects.Driven[JsonObject]:
    """The task's own input; keychain entries it names are fetched first."""
    value = task.input
    if value.static:
        return {**value.render({}), **task.literal}
    try:
        bound = binding(value, frame.scope(task.label))
    except EvaluationError as wrong:
        raise EvaluationError(wrong.kind, f"input of task {task.label}: {wrong.message}") from None
    if value.secrets:
        bound["keychain"] = yield from _secrets(value.secrets)
    rendered = value.render(bound)
    if not isinstance(rendered, dict):
        raise EvaluationError("template", f"input of task {task.label!r}: {not_a_mapping(rendered)}")
    return {**rendered, **task.literal}


def _rendered_spec(frame: Frame, task: TaskProgram) -> TaskSpec:
    spec = task.spec
    rendered: TaskSpec = spec.value if spec.static else spec.render(binding(spec, frame.scope(task.label)))
    return rendered


def _secrets(names: frozenset[str]) -> effects.Driven[JsonObject]:
    secrets: JsonObject | EvaluationError = yield effects.NeedSecrets(names)
    if isinstance(secrets, EvaluationError):
        raise secrets
    return secrets


def _auth(frame: Frame, task: TaskProgram, auth: CompiledValue) -> effects.Driven[Json]:
    bound = {} if auth.static else binding(auth, frame.scope(task.label))
    if auth.secrets:
        bound["keychain"] = yield from _secrets(auth.secrets)
    rendered: Json = auth.render(bound)
    return rendered


def _started(frame: Frame, visit: effects.Visit) -> None:
    if visit.started:
        return
    visit.started = True
    around = frame.around
    data: dict[str, object] | None = None
    if visit.input and not visit.task.input.static:
        own_input = around.redactor.clean(_own_input(visit))
        data = {"input": own_input} if own_input and size_of(own_input) <= SHOWN_BYTES else None
    around.record(effects.task_event(frame, visit, "task.started", data))


def _own_input(visit: effects.Visit) -> JsonObject:
    """What a task was given, but for what is never a template and so stands in the playbook."""
    return {key: value for key, value in visit.input.items() if key not in visit.task.literal}


def _after(frame: Frame, visit: effects.Visit, output: Output) -> Output:
    """On ok the task's `output` replaces the data, then its `set` applies; an error there is the output's."""
    task = visit.task
    output = with_ref(frame, output)
    if output["status"] != "ok" or (task.output is None and not task.set):
        return output
    frame.output, before = output, frame.output
    frame.results[task.label] = output  # by its own name it is this output too, not that of an earlier visit
    try:
        if task.output is not None:
            data = task.output.render(binding(task.output, frame.scope(task.label, visit.input)))
            changed: Output = {**output, "data": data}
            changed.pop("ref", None)
            frame.output = frame.results[task.label] = output = with_ref(frame, changed)
        if task.set:
            scope = frame.scope(task.label, visit.input)
            frame.write(_JUDGE.writes(("task", task.label), task.set, scope).pairs)
    except (TemplateError, EvaluationError) as error:
        wrong = problem(_kind_of(error), f"task {task.label!r}: {error.message}")
        return {**failed(wrong), "data": output.get("data")}
    finally:
        frame.output = before  # the rules decide whether this output becomes the pipeline's
    return output


def _kind_of(error: TemplateError | EvaluationError) -> str:
    return error.kind if isinstance(error, EvaluationError) else "template"


def _decide(frame: Frame, visit: effects.Visit, output: Output) -> effects.Driven[effects.Ended | None]:
    """Let the rules choose a directive and act on it."""
    task = visit.task
    before, frame.output = frame.output, output
    frame.results[task.label] = output
    frame.moved = True
    scope: Scope | None = None
    choice = None
    if task.rules:
        scope = frame.scope(task.label, visit.input)
        choice = task_policy.choose(task.rules, scope, task.label)
    choice = choice or task_policy.by_status(task, output["status"])
    pairs = task_policy.rendered_set(choice.program, scope) if choice.program and scope else []
    retry = _retry_wait(frame, visit, choice, scope) if choice.do == "retry" and scope else None
    if choice.do == "retry" and retry is None:
        choice = Choice("fail", choice.rule, choice.program, choice.seen)
    frame.write(pairs)
    _done(frame, visit, output, choice, pairs, retry)
    if retry is not None:
        frame.output = before
        yield from _wait_to_retry(frame, visit, output, retry)
        return None
    if choice.do == "skip":
        frame.output = before
        del frame.results[task.label]
    return _act(frame, visit, choice, output, scope)


def _done(
    frame: Frame,
    visit: effects.Visit,
    output: Output,
    choice: Choice,
    pairs: Patch,
    retry: float | None,
) -> None:
    around = frame.around
    data: dict[str, object] = {"output": recorded(frame, output), "do": choice.do}
    if choice.rule is not None:
        data["rule"] = choice.rule
    if choice.seen:
        data["seen"] = choice.seen
    if pairs:
        data["set"] = [[path, trace_value(value)] for path, value in pairs]
    if retry is not None:
        data["delay"] = retry
    if (to := _goes_to(frame, choice)) is not None:
        data["to"] = to
    if visit.logs:
        data["logs"] = visit.logs
    around.record(effects.task_event(frame, visit, "task.done", data))


def _goes_to(frame: Frame, choice: Choice) -> str | None:
    """The label of a jump's target, as events name it."""
    return frame.prefix + frame.pipeline.tasks[_target(choice)].label if choice.do == "jump" else None


def _retry_wait(frame: Frame, visit: effects.Visit, choice: Choice, scope: Scope) -> float | None:
    """Seconds until the next attempt; None when the attempts are used up."""
    assert choice.program is not None
    options = task_policy.options(choice.program, scope, f"retry of task {visit.task.label!r}")
    try:
        attempts = int(options["attempts"])
    except (TypeError, ValueError, OverflowError):
        raise EvaluationError(
            "template", f"retry of task {visit.task.label!r}: attempts is {options['attempts']!r}"
        ) from None
    if frame.attempt >= attempts:
        return None
    return task_policy.wait_s(choice.program, options, frame.attempt, frame.around.now(), frame.around.spread)


def _wait_to_retry(
    frame: Frame, visit: effects.Visit, output: Output, seconds: float
) -> effects.Driven[None]:
    # An error in answer to a repeat says nothing about the first call, which may have been carried out.
    if output["status"] == "ok" or (
        visit.answered and (not frame.unsure or visit.task.kind in engine_kinds.OWN_KINDS)
    ):
        frame.answered += 1
        frame.unsure = False
    elif not visit.answered:
        frame.unsure = True
    frame.attempt += 1
    if seconds <= engine_kinds.SHORT_WAIT_S:
        if seconds > 0:
            yield effects.Sleep(seconds)
        return
    frame.waiting = "retry"
    until = frame.around.now() + int(seconds * 1000)
    yield effects.parking(frame, visit, {"until": until, "for": "retry"})
    frame.waiting = None


def _act(
    frame: Frame, visit: effects.Visit, choice: Choice, output: Output, scope: Scope | None
) -> effects.Ended | None:
    """Carry out a directive that ends the visit."""
    if choice.do == "fail":
        return _fail(frame, visit, choice, output, scope)
    frame.attempt, frame.answered, frame.unsure = 0, 0, False
    frame.moved = True
    if choice.do == "continue":
        frame.prev = output.get("data")
        frame.go(frame.pc + 1)
    elif choice.do == "skip":
        frame.go(frame.pc + 1)
    elif choice.do == "jump":
        frame.prev = output.get("data")
        frame.go(_target(choice))
        frame.around.jumped = True
    else:
        return effects.Ended(True, output, broke=True)
    return None


def _target(choice: Choice) -> int:
    assert choice.program is not None
    assert choice.program.to is not None
    return choice.program.to


def _fail(
    frame: Frame, visit: effects.Visit, choice: Choice, output: Output, scope: Scope | None
) -> effects.Ended:
    task = visit.task
    error: ErrorObject = {
        **(output.get("error") or problem("failed", f"task {task.label!r} failed by its policy"))
    }
    if choice.program is not None:
        message = task_policy.options(choice.program, scope or frame.scope(task.label), task.label).get(
            "message"
        )
        error["message"] = str(message) if message is not None else error["message"]
    return _failed(
        frame, task, error_details.with_place(error, _own_input(visit), visit.last_lines or ()), output
    )


def _failed(
    frame: Frame, task: TaskProgram, error: ErrorObject, output: Output | None = None
) -> effects.Ended:
    place: ErrorObject = {"task": frame.prefix + task.label, "attempt": max(frame.attempt, 1)}
    iteration = index_of(frame.at)
    if iteration is not None:
        place["iteration"] = iteration
    full: ErrorObject = {**place, **error_details.fitted(error)}
    ended: Output = {**(output or {"data": None}), "status": "error", "error": full}
    return effects.Ended(False, ended, full, answered=frame.settled and not frame.unsure)

"""The boundaries of a playbook where templates stand, and which scopes each of them can read. One table."""

from dataclasses import dataclass

TRIGGER = "trigger"  # readable everywhere; no scope: whatever a playbook itself calls so hides it
TRIGGER_FIELDS = frozenset({"kind", "name", "tick", "previous_tick", "payload", "by"})
EVERYWHERE = frozenset({"workload", "ctx", "execution_id"})
ENGINE = frozenset({"_prev", "_task", "_attempt"})
SCOPES = EVERYWHERE | ENGINE | {"keychain", "step", "iter", "input", "args", "output", "event"}


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """A boundary: how a message calls it, the scopes it reads beside the common ones, and whose results."""

    description: str
    scopes: frozenset[str] = frozenset()
    tasks: bool = False  # finished tasks of the pipeline are readable
    steps: bool = True  # finished steps are readable

    def reads(self, scope: str) -> bool:
        """Whether a scope is readable here."""
        return scope in EVERYWHERE or scope in self.scopes


def _boundary(description: str, scopes: str, *, tasks: bool = False, steps: bool = True) -> Boundary:
    return Boundary(description, frozenset(scopes.split()), tasks, steps)


_IN_TASK = "step iter input args output _prev _task _attempt"

EXECUTOR_SPEC = _boundary("executor.spec", "", steps=False)
STEP_INPUT = _boundary("a step's input", "args event")
STEP_SPEC = _boundary("a step's spec", "input args event")
STEP_LIFECYCLE = _boundary("a step's spec", "input args event")  # when a run must end
ADMIT = _boundary("an admission rule", "input args event")
LOOP_IN = _boundary("loop.in", "input args event")
INNER_IN = _boundary("an inner loop's in", "step iter input args")
BEFORE = _boundary("a before rule", _IN_TASK, tasks=True)
TASK_INPUT = _boundary("a task's input", f"{_IN_TASK} keychain", tasks=True)
CALL_INPUT = _boundary("the input of a call", _IN_TASK, tasks=True)
AUTH = _boundary("auth", f"{_IN_TASK} keychain", tasks=True)
TASK_SPEC = _boundary("a task's spec", _IN_TASK, tasks=True)
TASK_OUTPUT = _boundary("a task's output", _IN_TASK, tasks=True)
TASK_SET = _boundary("a task's set", _IN_TASK, tasks=True)
RULE = _boundary("a rule", _IN_TASK, tasks=True)
CALL = _boundary("what a call names", _IN_TASK, tasks=True)
STEP_OUTPUT = _boundary("a step's output", "step iter input args output event", tasks=True)
STEP_SET = _boundary("a step's set", "step iter input args output event", tasks=True)
SYNTHESIZE = _boundary("synthesize.from", "step iter input args output event", tasks=True)
CONTINUE = _boundary("continue.input", "args event")
ARC = _boundary("an arc", "step iter input args output event")
BLOCK_INPUT = _boundary("a block's input", "iter", steps=False)
BLOCK_LOOP_IN = _boundary("loop.in", "iter input", steps=False)

AFTER_TASK = (
    TASK_OUTPUT,
    TASK_SET,
    RULE,
)  # the task itself has finished, and `input` is the task's over the step's
BEFORE_TASK = (BEFORE, TASK_INPUT, CALL_INPUT, AUTH, TASK_SPEC, CALL)  # `output` is the previous task's
BEFORE_PIPELINE = (BLOCK_INPUT, BLOCK_LOOP_IN, INNER_IN)  # no task has written anything yet
AFTER_PIPELINE = (STEP_OUTPUT, STEP_SET, SYNTHESIZE)  # with a loop there is no one iteration left to read

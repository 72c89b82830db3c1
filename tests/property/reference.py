"""The language's pipelines and loops, read off the contract as plainly as can be: no events, no workers, no clock.

Templates are a small fixed vocabulary, each with the Python that means the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Tree = dict[str, Any]

VALUES: dict[str, Callable[["Pipe"], Any]] = {
    "{{ (ctx.n | default(0)) + 1 }}": lambda pipe: pipe.ctx.get("n", 0) + 1,
    "{{ ctx.a | default('none') }}": lambda pipe: pipe.ctx.get("a", "none"),
    "{{ step.a | default('none') }}": lambda pipe: pipe.step.get("a", "none"),
    "{{ (iter.n | default(0)) + 1 }}": lambda pipe: pipe.iter.get("n", 0) + 1,
    "{{ _prev }}": lambda pipe: pipe.prev,
    "{{ _attempt }}": lambda pipe: pipe.attempt,
    "{{ iter.index | default(0) }}": lambda pipe: pipe.iter.get("index", 0),
}
GUARDS: dict[Any, Callable[["Pipe"], bool]] = {
    "{{ output.status == 'error' }}": lambda pipe: pipe.status == "error",
    "{{ output.status == 'ok' }}": lambda pipe: pipe.status == "ok",
    "{{ _attempt < 2 }}": lambda pipe: pipe.attempt < 2,
    "{{ (ctx.n | default(0)) < 3 }}": lambda pipe: pipe.ctx.get("n", 0) < 3,
    "{{ (iter.n | default(0)) > 1 }}": lambda pipe: pipe.iter.get("n", 0) > 1,
    True: lambda pipe: True,
}


@dataclass
class Pipe:
    """One pipeline: its scopes, where it is, and what it has done."""

    tasks: list[Tree]
    limit: int
    ctx: Tree = field(default_factory=dict)
    step: Tree = field(default_factory=dict)
    iter: Tree = field(default_factory=dict)
    reduced: Tree = field(default_factory=dict)  # path -> reducer
    prev: Any = None
    output: Tree | None = None
    attempt: int = 1
    runs: int = 0
    writes: list[tuple[str, Any]] = field(default_factory=list)
    done: list[tuple[str, int, int, str]] = field(default_factory=list)  # label, visit, attempt, directive
    error: str | None = None

    @property
    def status(self) -> str | None:
        return self.output["status"] if self.output else None

    def value(self, given: Any) -> Any:
        return VALUES[given](self) if isinstance(given, str) and given in VALUES else given

    def write(self, given: Tree) -> None:
        """All values are rendered first, then written together."""
        for target, value in [(target, self.value(value)) for target, value in given.items()]:
            scope, key = target.split(".")
            if scope != "iter":
                self.writes.append((target, value))
            if target not in self.reduced:
                changed = {**getattr(self, scope), key: value}
                setattr(self, scope, changed)

    def choose(self, rules: list[Tree] | None) -> Tree | None:
        for rule in rules or ():
            if "else" in rule or GUARDS[rule["when"]](self):
                then: Tree = rule["else"]["then"] if "else" in rule else rule["then"]
                return then
        return None

    def run(self) -> bool:
        """Run to the end; whether it ended well. The output is that of the last task not skipped."""
        labels = [task["name"] for task in self.tasks]
        visits: dict[str, int] = {}
        at = 0
        while at < len(self.tasks):
            task = self.tasks[at]
            visits[task["name"]] = visits.get(task["name"], 0) + 1
            then = self.visit(task, visits[task["name"]])
            if then["do"] in ("break", "fail"):
                return bool(then["do"] == "break")
            at = labels.index(then["to"]) if then["do"] == "jump" else at + 1
        return True

    def visit(self, task: Tree, visit: int) -> Tree:
        policy = task.get("spec", {}).get("policy", {})
        self.attempt = 1
        then = self.choose(policy.get("before"))
        self.write((then or {}).get("set", {}))
        if then is not None and then["do"] != "continue":
            return self.passed_by(task, visit, then)
        while True:
            self.runs += 1
            if self.runs > self.limit:
                self.error = "limit"
                return {"do": "fail"}
            before, self.output = self.output, self.call(task)
            if self.status == "ok":
                self.write(task.get("set", {}))
            then = self.choose(policy.get("rules")) or self.default(policy)
            self.write(then.get("set", {}))
            do = then["do"]
            if do == "retry" and self.attempt >= then["attempts"]:
                do = "fail"
            self.done.append((task["name"], visit, self.attempt, do))
            if do != "retry":
                return self.after(do, then, before)
            self.attempt, self.output = self.attempt + 1, before

    def passed_by(self, task: Tree, visit: int, then: Tree) -> Tree:
        self.done.append((task["name"], visit, 1, then["do"]))
        if then["do"] == "fail":
            self.error = (self.output or {}).get("kind") or "failed"
        return then

    def after(self, do: str, then: Tree, before: Tree | None) -> Tree:
        assert self.output is not None
        if do == "fail":
            self.error = self.output.get("kind") or "failed"
        elif do == "skip":
            self.output = before
        else:
            self.prev = self.output["data"]
        return {**then, "do": do}

    def call(self, task: Tree) -> Tree:
        given = task.get("input", {})
        if task["kind"] == "noop":
            return {"status": "ok", "data": self.prev}
        if self.attempt <= given.get("fails", 0):
            return {"status": "error", "data": None, "kind": "http"}
        return {"status": "ok", "data": self.value(given["say"])}

    def default(self, policy: Tree) -> Tree:
        goes_on = "rules" in policy and policy.get("on_unmatched") != "by_status"
        return {"do": "continue" if self.status == "ok" or goes_on else "fail"}

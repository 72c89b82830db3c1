"""Canonical playbooks made old: the same meaning in older spellings, written in some author's style with comments."""

import json
import re
from copy import deepcopy
from random import Random
from typing import Any

from noetl.dsl.tool_kind import Kinds
from tests.property.playbooks import Tree

PLAIN = re.compile(r"[A-Za-z_][\w.]*")
WORDS = ("true", "false", "null", "yes", "no", "on", "off")


class Aging:
    """Replaces canonical spellings by older ones, each with even odds."""

    def __init__(self, random: Random, kinds: Kinds) -> None:
        self.random = random
        self.kinds = kinds

    def chance(self) -> bool:
        return self.random.random() < 0.5

    def playbook(self, canonical: Tree) -> Tree:
        tree = deepcopy(canonical)
        executor = tree.get("executor", {})
        if "profile" in executor and self.chance():
            executor["kind"] = executor.pop("profile")
        for step in tree["workflow"]:
            self.step(step)
        for block in tree.get("workbook", {}).values():
            self.body(block)
        if "workbook" in tree and self.chance():
            tree["workbook"] = {"tasks": tree["workbook"]}
        return {
            key: old_names(part) if key in ("workflow", "workbook") else part for key, part in tree.items()
        }

    def step(self, step: Tree) -> None:
        self.admission(step)
        self.router(step)
        self.body(step)

    def body(self, owner: Tree) -> None:
        if "loop" in owner and self.chance():
            self.loop(owner["loop"])
        if "tool" in owner:
            owner["tool"] = [self.task(task) for task in owner["tool"]]
        if "set" in owner and self.chance():
            owner["set"] = {_bare(target): value for target, value in owner["set"].items()}

    def admission(self, step: Tree) -> None:
        policy = step.get("spec", {}).get("policy", {})
        rules = policy.get("admit", {}).get("rules", [])
        guarded = (
            len(rules) == 2
            and rules[0].get("then") == {"allow": True}
            and isinstance(rules[0].get("when"), str)
        )
        if guarded and rules[1] == {"else": {"then": {"allow": False}}} and self.chance():
            step["when"] = rules[0]["when"]
            del policy["admit"]
        elif rules:
            policy["admit"]["rules"] = [self.rule(rule) for rule in rules]

    def router(self, step: Tree) -> None:
        router = step.get("next")
        if router is None:
            return
        for arc in router["arcs"]:
            if "set" in arc and self.chance():
                arc["set_ctx"] = {
                    target.removeprefix("ctx."): value for target, value in arc.pop("set").items()
                }
        if self.chance():
            mode = router.get("spec", {}).get("mode")
            step["next"] = router["arcs"]
            if mode is not None:
                step["spec"] = {**step.get("spec", {}), "next_mode": mode}

    def loop(self, loop: Tree) -> None:
        spec = loop.get("spec", {})
        for key in ("mode", "max_in_flight"):
            if key in spec:
                spec.setdefault("policy", {})[key] = spec.pop(key)

    def task(self, task: Tree) -> Tree:
        if "kind" not in task:  # sugar never had another spelling
            return task
        self.policy(task)
        self.sets(task)
        if task["kind"] not in ("playbook", "workbook"):
            self.inputs(task)
        if self.chance():
            return {task.pop("name"): task}
        return task

    def inputs(self, task: Tree) -> None:
        values, known = task.pop("input", {}), self.kinds[task["kind"]].inputs
        beside = [key for key in values if key in known and key not in task and self.chance()]
        task |= {key: values[key] for key in beside}
        rest = {key: value for key, value in values.items() if key not in beside}
        if rest:
            task["args" if self.chance() else "input"] = rest

    def policy(self, task: Tree) -> None:
        policy = task.get("spec", {}).get("policy")
        if policy is None:
            return
        rules = policy.get("rules", [])
        decided = any("else" in rule for rule in rules)
        as_eval = set(policy) == ({"rules"} if decided else {"rules", "on_unmatched"}) and rules
        if as_eval and (decided or policy["on_unmatched"] == "by_status") and self.chance():
            task["eval"] = [self.directive(rule) for rule in rules]
            del task["spec"]["policy"]
            return
        for key in ("rules", "before"):
            if key in policy:
                policy[key] = [self.rule(rule) for rule in policy[key]]

    def directive(self, rule: Tree) -> Tree:
        body = rule["then"] if "then" in rule else rule["else"]["then"]
        self.sets(body)
        return {"expr": rule["when"], **body} if "when" in rule else {"else": body}

    def rule(self, rule: Tree) -> Tree:
        body = rule["then"] if "then" in rule else rule["else"]["then"]
        self.sets(body)
        if body.get("backoff") == "none" and self.chance():
            body["backoff"] = "fixed"
        if "when" in rule:
            return rule
        return self.random.choice([rule, {"else": body}, {"else": None, "then": body}])

    def sets(self, holder: Tree) -> None:
        if "set" not in holder or self.chance():
            return
        writes = holder.pop("set")
        for scope, key in (("ctx", "set_ctx"), ("iter", "set_iter"), ("step", "set_vars")):
            mine = {
                t.removeprefix(f"{scope}."): value for t, value in writes.items() if t.startswith(f"{scope}.")
            }
            if mine:
                holder[key] = mine


def _bare(target: str) -> str:
    scope, _, name = target.partition(".")
    return name if scope == "step" and "." not in name else target


def old_names(value: Any) -> Any:
    """The same data with `outcome` in its templates."""
    if isinstance(value, dict):
        return {key: old_names(item) for key, item in value.items()}
    if isinstance(value, list):
        return [old_names(item) for item in value]
    return value.replace("{{ output.data", "{{ outcome.result.data") if isinstance(value, str) else value


class Author:
    """Writes data as YAML in a style of its own, with a comment here and there."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.comments: list[str] = []
        self.indent = random.choice((2, 4))
        self.list_indent = random.choice((0, 2))
        self.pad = random.choice(("", " "))

    def write(self, tree: Tree) -> str:
        return "\n".join(self.block(tree, 0)) + "\n"

    def comment(self) -> str:
        self.comments.append(f"# c{len(self.comments)}.")
        return self.comments[-1]

    def beside(self) -> str:
        return f"  {self.comment()}" if self.random.random() < 0.15 else ""

    def above(self, column: int) -> list[str]:
        if self.random.random() < 0.1:
            return [""]
        return [" " * column + self.comment()] if self.random.random() < 0.15 else []

    def block(self, node: Any, column: int, *, after_dash: bool = False) -> list[str]:
        lines: list[str] = []
        for key, value in node.items() if isinstance(node, dict) else ((None, item) for item in node):
            lines += self.above(column) if lines or not after_dash else []
            lines += self.entry(key, value, column)
        return lines + ([" " * column + self.comment()] if self.random.random() < 0.1 else [])

    def entry(self, key: str | None, value: Any, column: int) -> list[str]:
        head = " " * column + ("-" if key is None else f"{self.scalar(key)}:")
        if not isinstance(value, (dict, list)) or not value or self.random.random() < 0.3:
            return [f"{head} {self.flow(value)}{self.beside()}"]
        if key is None:
            first, *rest = self.block(value, column + 2, after_dash=True)
            return [f"{head} {first.lstrip()}", *rest]
        step = self.list_indent if isinstance(value, list) else self.indent
        return [head + self.beside(), *self.block(value, column + step)]

    def flow(self, value: Any) -> str:
        if isinstance(value, dict):
            inside = ", ".join(f"{self.scalar(key)}: {self.flow(item)}" for key, item in value.items())
            return "{" + self.pad + inside + self.pad + "}" if inside else "{}"
        if isinstance(value, list):
            inside = ", ".join(map(self.flow, value))
            return "[" + self.pad + inside + self.pad + "]" if inside else "[]"
        return self.scalar(value)

    def scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        if PLAIN.fullmatch(value) and value.lower() not in WORDS and self.random.random() < 0.8:
            return value
        if "'" not in value and value.isprintable() and self.random.random() < 0.3:
            return f"'{value}'"
        return json.dumps(value, ensure_ascii=False)

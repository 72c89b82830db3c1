"""Random valid playbooks: a sequence of steps, splits, joins and cycles, filled with tasks, loops and waits.

Timing may not change what an execution amounts to, unless the playbook is marked `racy`: branches read only
the workload and what their own step wrote, and every step writes to its own keys.
"""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from noetl.core.program.program import Program, compile_program
from noetl.dsl.load import load_tree
from tests.simulation.tools import KINDS

Tree = dict[str, Any]
PATH, CHILD, BLOCK, SIGNAL = "sim/main", "sim/child", "shared", "go"
SHARED = "shared"  # a key of ctx that many steps write; what a run sees of it is as old as its scheduling
PAYLOAD_LIMIT = 4096
GUARDS = ("{{ workload.flag }}", "{{ workload.n > 2 }}", "{{ workload.n in [1, 3, 5] }}", True, True)
SAYS: tuple[Any, ...] = (
    7,
    "text",
    "{{ workload.n }}",
    "{{ input.x | default(1) }}",
    {"deep": ["{{ workload.n }}"]},
)
JOINS = ("sync", "sync", "sync", "each", "all", "first")


@dataclass(frozen=True, slots=True)
class Sample:
    """A playbook ready to run, the child it may call, and what is in it."""

    programs: dict[str, Program]  # by path
    trees: dict[str, Tree]
    features: Counter[str]
    racy: bool


def sample(rng: Random, last: str = "") -> Sample:
    """A random playbook; its last step may be one that claims its items, or one that goes on as another execution."""
    child = Maker(rng, main=False)
    main = Maker(rng, main=True, last=last)
    trees = {CHILD: child.playbook(CHILD, 1), PATH: main.playbook(PATH, rng.choice((1, 1, 2, 2, 3)))}
    programs = {path: compiled(path, tree) for path, tree in trees.items()}
    racy = main.racy or (child.racy and main.features["child"] > 0)
    return Sample(programs, trees, main.features, racy)


def compiled(path: str, tree: Tree) -> Program:
    """The program of a tree that must be valid."""
    loaded = load_tree(tree, kinds=KINDS)
    errors = [finding for finding in loaded.diagnostics if finding.severity == "error"]
    assert loaded.playbook is not None, errors
    assert not errors, errors
    return compile_program(loaded.playbook, KINDS, path)


@dataclass(slots=True)
class Piece:
    """Steps with one way in; whoever comes after is linked to the open ends."""

    entry: str
    ends: list[Tree]


@dataclass(slots=True)
class Maker:
    """One playbook in the making."""

    rng: Random
    main: bool
    steps: list[Tree] = field(default_factory=list)
    features: Counter[str] = field(default_factory=Counter)
    racy: bool = False
    large: bool = False  # tools may answer with more than the payload limit
    shares: bool = False  # steps write to one key of ctx, and read it
    last: str = ""  # what else comes at the end: claims or rounds

    def playbook(self, path: str, pieces: int) -> Tree:
        """The whole document."""
        rng = self.rng
        self.large = self.main and rng.random() < 0.25
        self.shares = self.main and rng.random() < 0.25
        self.racy |= self.shares
        piece = self.sequence(pieces, 0)
        if self.last:
            self.features[self.last] += 1
            self.link(piece.ends, getattr(self, self.last)())
        spec: Tree = {"limits": {"max_payload_bytes": PAYLOAD_LIMIT}} if self.large else {}
        if rng.random() < 0.2:
            spec["on_failure"] = "drain"
            self.features["drain"] += 1
        workload: Tree = {"n": rng.randint(0, 5), "flag": rng.random() < 0.5}
        workload["items"] = list(range(rng.choice((0, 2, 3, 12))))
        workload["cities"] = [
            {"name": f"c{n}", "hotels": list(range(n % 3))} for n in range(rng.randint(1, 3))
        ]
        return {
            "apiVersion": "noetl.io/v2",
            "kind": "Playbook",
            "metadata": {"name": "sim", "path": path},
            "executor": {"spec": spec},
            "workload": workload,
            "workflow": self.steps,
            "workbook": {BLOCK: self.block()},
        }

    # Shape

    def sequence(self, pieces: int, depth: int) -> Piece:
        first = before = self.piece(depth)
        for _ in range(pieces - 1):
            piece = self.piece(depth)
            self.link(before.ends, piece.entry)
            before = piece
        return Piece(first.entry, before.ends)

    def piece(self, depth: int) -> Piece:
        chance = self.rng.random()
        if chance < (0.35, 0.15, 0)[depth] and self.main:
            return self.split(depth)
        if chance > 0.9:
            return self.cycle()
        step = self.step()
        return Piece(step["step"], [step])

    def link(self, ends: list[Tree], target: str) -> None:
        for end in ends:
            arc: Tree = {"step": target}
            if self.rng.random() < 0.3:
                arc["when"] = "{{ event.name != 'step.failed' }}"
            end.setdefault("next", {"arcs": []})["arcs"].append(arc)

    def split(self, depth: int) -> Piece:
        rng = self.rng
        head = self.step()
        mode = rng.choice(("inclusive", "inclusive", "exclusive"))
        join = rng.choice(JOINS)
        self.features[mode] += 1
        self.features[f"join {join}"] += 1
        self.racy |= join in ("each", "first")
        branches = [self.sequence(rng.choice((1, 1, 2)), depth + 1) for _ in range(rng.randint(2, 3))]
        arcs = [{"step": branch.entry, "when": rng.choice(GUARDS)} for branch in branches]
        head["next"] = {"spec": {"mode": mode}, "arcs": arcs}
        meeting = self.step()
        meeting.setdefault("spec", {})["join"] = join
        for branch in branches:
            self.link(branch.ends, meeting["step"])
        return Piece(head["step"], [meeting])

    def cycle(self) -> Piece:
        self.features["cycle"] += 1
        first, last = self.step(), self.step()
        self.link([first], last["step"])
        laps = f"ctx.laps_{last['step']}"
        again = f"{{{{ {laps} | default(0) < 1 }}}}"
        back = {"step": first["step"], "when": again, "set": {laps: f"{{{{ {laps} | default(0) + 1 }}}}"}}
        last["next"] = {"arcs": [back]}
        return Piece(first["step"], [last])

    # One step

    def step(self) -> Tree:
        rng = self.rng
        name = f"s{len(self.steps) + 1}"
        step: Tree = {"step": name, "input": {"x": "{{ workload.n }}"}}
        self.steps.append(step)
        policy: Tree = {}
        chance = rng.random()
        if chance < 0.1:
            self.features["routing"] += 1
            step["next"] = {"arcs": []}
            return step
        looped = chance < 0.45
        if looped:
            step["loop"] = self.loop(name)
            if rng.random() < 0.5:
                policy["failure"] = {"mode": "best_effort"}
                self.features["best_effort"] += 1
        parallel = looped and "parallel" in (step["loop"]["spec"]["mode"], _inner_mode(step["loop"]))
        step["tool"] = Tasks(self, name, looped=looped, parallel=parallel).some(rng.choice((1, 1, 2, 3)))
        if rng.random() < 0.5:
            step["set"] = {f"ctx.{name}": "{{ output.data }}"}
        if self.shares:
            step.setdefault("set", {})[f"ctx.{SHARED}"] = name
        if rng.random() < 0.07:
            policy["admit"] = {"rules": [{"when": rng.choice(GUARDS), "then": {"allow": True}}]}
            policy["admit"]["rules"].append({"else": {"then": {"allow": False}}})
            self.features["admit"] += 1
        if policy:
            step["spec"] = {"policy": policy}
        if rng.random() < 0.06:
            step.setdefault("spec", {})["timeout"] = rng.choice((0.5, 3, 10))
            self.features["timeout"] += 1
            self.racy = True
        return step

    def loop(self, name: str) -> Tree:
        rng = self.rng
        mode, placement = rng.choice(("sequential", "parallel")), rng.choice(("local", "distributed"))
        self.features[f"{mode} {placement}"] += 1
        spec: Tree = {"mode": mode, "policy": {"exec": placement, "reduce": {f"ctx.sum_{name}": "sum"}}}
        if mode == "parallel":
            spec["max_in_flight"] = rng.randint(1, 4)
        if placement == "distributed" and (chunk := rng.randint(0, 3)):
            spec["chunk"] = chunk
        if rng.random() < 0.2:
            self.features["nested"] += 1
            inner = {
                "in": "{{ iter.city.hotels }}",
                "iterator": "item",
                "spec": {"mode": rng.choice((mode, "parallel"))},
            }
            return {"in": "{{ workload.cities }}", "iterator": "city", "spec": spec, "loop": inner}
        return {"in": rng.choice(("{{ workload.items }}", [5, 6])), "iterator": "item", "spec": spec}

    def claims(self) -> str:
        """A step that claims its items: a few batches, then none, or an error."""
        rng, batches = self.rng, self.rng.choice((1, 2, 3))
        rows = f"{{{{ {rng.choice((1, 3, 6))} if claim.number <= {batches} else 0 }}}}"
        claim: Tree = {"kind": "act", "batch": rng.choice((2, 50))}
        claim["input"] = {"rows": rows, "say": [], "slow": rng.choice((0, 0.3, 4))}
        if rng.random() < 0.3:
            claim["input"]["fails"] = f"{{{{ 9 if claim.number == {batches} else 0 }}}}"
        if rng.random() < 0.3:
            claim["prefetch"] = rng.choice((1, 20))
        loop = self.loop("claims")
        del loop["in"]
        spec: Tree = loop["spec"]
        spec.pop("chunk", None)
        tasks = [
            {
                "name": "t1",
                "kind": "act",
                "input": {"say": "{{ iter.item.row }}", "slow": rng.choice((0, 0.2, 2))},
            }
        ]
        self.steps.append(
            {
                "step": "claims",
                "loop": {"in": {"claim": claim, "until": "empty"}, "iterator": "item", "spec": spec},
                "tool": tasks,
            }
        )
        return "claims"

    def rounds(self) -> str:
        """A step that comes back to itself, and goes on as another execution when it is alone."""
        rng = self.rng
        self.racy = True  # how long a log is depends on what goes wrong
        again = "{{ ctx.rounds < " + str(rng.choice((2, 3, 5))) + " }}"
        tool = rng.choice(
            (
                {
                    "kind": "act",
                    "input": {"say": "{{ ctx.rounds | default(0) }}", "slow": rng.choice((0, 0.5))},
                },
                {"kind": "wait", "input": {"signal": SIGNAL}},
                {"kind": "wait", "input": {"seconds": 6}},
            )
        )
        self.steps.append(
            {
                "step": "rounds",
                "spec": {"continue": {"after_events": rng.choice((10, 20)), "input": {"n": 3}}},
                "tool": [{"name": "t1", **tool}],
                "set": {"ctx.rounds": "{{ (ctx.rounds | default(0)) + 1 }}"},
                "next": {"arcs": [{"step": "rounds", "when": again}]},
            }
        )
        return "rounds"

    def block(self) -> Tree:
        """The workbook block: plain, or with a loop of its own."""
        block: Tree = {
            "input": {"x": 1},
            "tool": [{"name": "inner", "kind": "act", "input": {"say": "{{ input.x }}", "slow": 0.2}}],
        }
        if self.rng.random() < 0.5:
            block["loop"] = {
                "in": [1, 2],
                "iterator": "part",
                "spec": {"mode": self.rng.choice(("sequential", "parallel"))},
            }
            block["tool"].append(
                {"name": "pause", "kind": "wait", "input": {"seconds": self.rng.choice((0.3, 7))}}
            )
        return block


def _inner_mode(loop: Tree) -> str:
    inner = loop.get("loop") or {"spec": {"mode": "sequential"}}
    return str(inner["spec"]["mode"])


@dataclass(slots=True)
class Tasks:
    """The task list of one step in the making."""

    maker: Maker
    step: str
    looped: bool
    parallel: bool
    made: list[Tree] = field(default_factory=list)

    def some(self, count: int) -> list[Tree]:
        """A few tasks of any sort."""
        rng = self.maker.rng
        for _ in range(count):
            sorts = SORTS if self.maker.main else SORTS[:-2]
            sort = rng.choice(sorts)
            self.maker.features[sort] += 1
            task = {"name": f"t{len(self.made) + 1}", **getattr(self, sort)()}
            self.made.append(task)
            self.dress(task)
        if self.maker.shares:
            self.made.append({"name": "look", **self.look()})
        return self.made

    def dress(self, task: Tree) -> None:
        """Give a task a `set` or a before-rule."""
        rng, policy = self.maker.rng, task.setdefault("spec", {}).setdefault("policy", {})
        chance = rng.random()
        if chance < 0.25 and self.looped:
            task.setdefault("set", {})[f"ctx.sum_{self.step}"] = rng.choice((1, "{{ workload.n }}", 2.5))
        elif chance < 0.3 and self.parallel:
            task.setdefault("set", {})[f"ctx.last_{self.step}"] = "{{ iter.index // 2 }}"
            self.maker.features["conflict"] += 1
        elif chance < 0.5:
            task.setdefault("set", {})[f"ctx.{task['name']}_{self.step}"] = 3
            task["set"][f"step.{task['name']}"] = "{{ output.status }}"
        if rng.random() < 0.1:
            do = rng.choice(("skip", "skip", "break", "fail"))
            policy["before"] = [{"when": rng.choice(GUARDS), "then": {"do": do}}]
            self.maker.features["before"] += 1
        if not policy:
            del task["spec"]["policy"]

    def act(self, **more: Any) -> Tree:
        says = (*SAYS, "{{ iter.item }}", "{{ iter.index }}") if self.looped else SAYS
        return {"kind": "act", "input": {"say": self.maker.rng.choice(says), **more}}

    def plain(self) -> Tree:
        return self.act()

    def look(self) -> Tree:
        self.maker.features["shared"] += 1
        return {"kind": "act", "input": {"say": [SHARED, f"{{{{ ctx.{SHARED} | default('none') }}}}"]}}

    def noop(self) -> Tree:
        return {"kind": "noop"}

    def slow(self) -> Tree:
        seconds: Any = self.maker.rng.choice((0.05, 0.3, 1.2, 4))
        if self.looped and self.maker.rng.random() < 0.5:
            seconds = "{{ (7 - iter.index) * 0.3 }}"
        return self.act(slow=seconds)

    def flaky(self) -> Tree:
        rng = self.maker.rng
        task = self.act(
            fails=rng.randint(1, 3), slow=rng.choice((0, 0.4)), kind=rng.choice(("http", "timeout"))
        )
        retry = {"do": "retry", "attempts": rng.randint(2, 4), "delay": rng.choice((0, 0.5, 8))}
        retry |= {"backoff": rng.choice(("none", "linear", "exponential")), "jitter": rng.random() < 0.3}
        last = rng.choice((["by_status"], [{"else": {"then": {"do": "continue"}}}]))
        rules: list[Any] = [{"when": "{{ output.status == 'error' }}", "then": retry}]
        policy: Tree = {"rules": rules + [rule for rule in last if rule != "by_status"]}
        policy |= {"on_unmatched": "by_status"} if last == ["by_status"] else {}
        return {**task, "spec": {"policy": policy}}

    def fails(self) -> Tree:
        rng = self.maker.rng
        when = "{{ 9 if iter.index == 1 else 0 }}" if self.looped else "{{ 9 if workload.flag else 0 }}"
        task = self.act(fails=when)
        if rng.random() < 0.5:
            do = rng.choice(("continue", "skip", "break", "fail"))
            rule = {"when": "{{ output.status == 'error' }}", "then": {"do": do}}
            task["spec"] = {"policy": {"rules": [rule], "on_unmatched": "by_status"}}
        return task

    def raises(self) -> Tree:
        task = self.act(raises=True)
        do = self.maker.rng.choice(("continue", "skip", "break"))
        task["spec"] = {"policy": {"rules": [{"else": {"then": {"do": do}}}]}}
        return task

    def bulk(self) -> Tree:
        return self.act(rows=self.maker.rng.choice((60, 300)) if self.maker.large else 2)

    def pages(self) -> Tree:
        """A task that jumps back to itself, or to the task before it, until it has seen three pages."""
        rng, name = self.maker.rng, f"t{len(self.made) + 1}"
        page = f"iter.page_{name}"
        targets = [task["name"] for task in self.made[-1:]] + [name]
        again = {"when": f"{{{{ {page} < 3 }}}}", "then": {"do": "jump", "to": rng.choice(targets)}}
        rules = [again, {"else": {"then": {"do": rng.choice(("continue", "continue", "break"))}}}]
        task = self.act(slow=rng.choice((0, 0.03, 0.5)))
        task["set"] = {page: f"{{{{ {page} | default(0) + 1 }}}}"}
        return {**task, "spec": {"policy": {"rules": rules}}}

    def nap(self) -> Tree:
        return {"kind": "wait", "input": {"seconds": self.maker.rng.choice((0.5, 3))}}

    def park(self) -> Tree:
        return {"kind": "wait", "input": {"seconds": self.maker.rng.choice((6, 12))}}

    def signal(self) -> Tree:
        return {"kind": "wait", "input": {"signal": SIGNAL}}

    def workbook(self) -> Tree:
        call: Tree = {"kind": "workbook", "block": BLOCK, "input": {"x": "{{ workload.n }}"}}
        if self.maker.rng.random() < 0.3:
            late = {"when": "{{ output.error.kind == 'timeout' }}", "then": {"do": "retry", "attempts": 2}}
            policy = {"rules": [late, {"else": {"then": {"do": "continue"}}}]}
            call["spec"] = {"timeout": self.maker.rng.choice((0.3, 4, 10)), "policy": policy}
            self.maker.features["call timeout"] += 1
            self.maker.racy = True
        return call

    def child(self) -> Tree:
        call: Tree = {"kind": "playbook", "path": CHILD, "input": {"n": self.maker.rng.randint(0, 5)}}
        if self.maker.rng.random() < 0.2:
            call["wait"] = False
            self.maker.features["child not waited for"] += 1
        if self.maker.rng.random() < 0.5:
            call["spec"] = {"policy": {"rules": [{"else": {"then": {"do": "continue"}}}]}}
        return call


SORTS = (
    "plain",
    "plain",
    "noop",
    "slow",
    "flaky",
    "fails",
    "fails",
    "raises",
    "bulk",
    "pages",
    "nap",
    "park",
    "signal",
    "workbook",
    "child",
)

"""Playbooks for the drawing tests, built without text."""

from noetl.dsl.model import Arc, Loop, Playbook, Router, Step, Task


def tasks(*kinds: str) -> tuple[Task, ...]:
    return tuple(Task(label=f"task_{index}", kind=kind) for index, kind in enumerate(kinds))


def exclusive(*arcs: Arc) -> Router:
    return Router("exclusive", arcs)


SHOP = Playbook(
    name="shop",
    path="examples/shop",
    steps=(
        Step("start", next=Router("inclusive", (Arc("orders"), Arc("customers", when="{{ workload.all }}")))),
        Step(
            "orders",
            tasks=tasks("http", "noop", "noop"),
            loop=Loop("{{ workload.endpoints }}", "endpoint", mode="parallel", max_in_flight=5),
            next=exclusive(Arc("cleanup", when="{{ event.name == 'step.failed' }}"), Arc("merge")),
        ),
        Step("customers", tasks=tasks("http"), next=exclusive(Arc("merge"))),
        Step(
            "merge",
            tasks=tasks("python"),
            join="all",
            desc="brings <both> together",
            next=exclusive(Arc("merge", when='{{ output.data.again < "9" }}'), Arc("done")),
        ),
        Step("done"),
        Step("cleanup", tasks=tasks("shell")),
    ),
)

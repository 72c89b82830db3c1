"""Random valid playbooks in the canonical spelling, as plain data. Nothing in them is an error; warnings may be."""

from typing import Any

from hypothesis import strategies as st

Tree = dict[str, Any]

NAMES = ("load", "fetch", "store", "check", "finish", "merge", "report")
LABELS = ("first", "second", "third", "fourth", "fifth")
ITERATORS = ("item", "row", "city")
FIELDS = ("total", "page", "rows", "seen", "flag")
TEXTS = (
    "{{ workload.a }}",
    "{{ ctx.total }}",
    "{{ ctx.rows[0].id | default(0) }}",
    "page {{ ctx.page }} of 3",
)
GUARDS = ("{{ ctx.total > 3 }}", "{{ ctx.flag and not ctx.seen }}", "{{ workload.a == 'x' }}", True, False)
BLOCK = "shared"
LETTERS = "aZ09 _-:#,.!&*?|>%@`'\"[]é日\n"  # what YAML could misread, but no template and nothing unprintable


def some(**entries: st.SearchStrategy[Any]) -> st.SearchStrategy[Tree]:
    """A mapping with any of these entries."""
    return st.fixed_dictionaries({}, optional=entries)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(-9, 9).map(lambda x: round(x, 2))
    | st.text(LETTERS, max_size=5)
)
values = st.recursive(
    scalars | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=5,
)
variables = st.dictionaries(st.sampled_from(FIELDS), values, max_size=3)
guards = st.sampled_from(GUARDS)
seconds = st.integers(1, 90) | st.sampled_from(("{{ workload.t }}",))
counts = st.integers(1, 50) | st.sampled_from(("{{ workload.n }}",))


@st.composite
def assigns(draw: st.DrawFn, scopes: tuple[str, ...] = ("ctx", "step", "iter")) -> Tree:
    """A flat set, deep paths included; no path is a part of another one."""
    targets = st.builds(
        lambda scope, path: ".".join((scope, *path)),
        st.sampled_from(scopes),
        st.lists(st.sampled_from(FIELDS), min_size=1, max_size=2),
    )
    drawn = draw(st.dictionaries(targets, values, max_size=3))
    return {name: value for name, value in drawn.items() if name.rpartition(".")[0] not in drawn}


def limits(*more: str) -> st.SearchStrategy[Tree]:
    """Some limits."""
    names = ("max_task_runs", "max_payload_bytes", "max_takeovers", "max_hydrate_bytes", *more)
    return st.dictionaries(st.sampled_from(names), st.integers(1, 99), max_size=2)


retries = some(
    attempts=counts,
    backoff=st.sampled_from(("none", "linear", "exponential")),
    delay=st.integers(0, 5) | st.just("7") | st.just("{{ workload.delay }}"),
    max_delay=st.integers(0, 90),
    jitter=st.booleans(),
)


@st.composite
def thens(draw: st.DrawFn, labels: tuple[str, ...], directives: tuple[str, ...]) -> Tree:
    """The body of a rule."""
    do = draw(st.sampled_from(directives))
    then: Tree = {"do": do}
    if do == "retry":
        then |= draw(retries)
    elif do == "jump":
        then["to"] = draw(st.sampled_from(labels))
    elif do == "fail":
        then |= draw(some(message=st.sampled_from(TEXTS)))
    return then | draw(some(set=assigns()))


@st.composite
def rules(draw: st.DrawFn, bodies: st.SearchStrategy[Tree]) -> list[Tree]:
    """Guarded rules, with or without an else."""
    found = draw(
        st.lists(st.builds(lambda when, then: {"when": when, "then": then}, guards, bodies), max_size=2)
    )
    if draw(st.booleans()):
        found.append({"else": {"then": draw(bodies)}})
    return found


TASKS: dict[str, st.SearchStrategy[Tree]] = {
    "noop": some(input=variables),
    "http": st.builds(
        lambda url, more: {"input": {"url": url, **more}},
        st.sampled_from(("http://127.0.0.1:1/a", "{{ workload.api }}/items")),
        some(method=st.sampled_from(("GET", "POST")), params=variables, json=values),
    ),
    "python": variables.map(lambda given: {"input": {"code": "result = 1", **given}}),
    "postgres": st.sampled_from(("query", "command")).map(lambda key: {"input": {key: "select 1"}}),
    "file": st.sampled_from(("read", "write")).map(
        lambda action: {"input": {"action": action, "path": "a.json"}}
    ),
    "playbook": some(version=st.integers(1, 3), wait=st.booleans(), input=variables).map(
        lambda call: {"path": "a/b", **call}
    ),
    "workbook": some(input=variables).map(lambda call: {"block": BLOCK, **call}),
}
ANYTHING = ("continue", "skip", "retry", "jump", "break", "fail")


@st.composite
def policies(draw: st.DrawFn, labels: tuple[str, ...]) -> Tree:
    """A task's policy: rules, before-rules or both."""
    before = rules(thens(labels, tuple(word for word in ANYTHING if word != "retry")))
    after = rules(thens(labels, ANYTHING))
    policy = draw(some(before=before, rules=after, on_unmatched=st.sampled_from(("continue", "by_status"))))
    return policy if "before" in policy or "rules" in policy else {**policy, "rules": draw(after)}


@st.composite
def tasks(draw: st.DrawFn, label: str, labels: tuple[str, ...], kinds: tuple[str, ...]) -> Tree:
    """One task of some kind."""
    kind = draw(st.sampled_from(kinds))
    spec = some(timeout=seconds, limits=limits("max_visits"), policy=policies(labels))
    common = some(
        desc=st.text(LETTERS, min_size=1, max_size=5).filter(str.strip),
        spec=spec,
        set=assigns(),
        output=values,
    )
    return {"name": label, "kind": kind} | draw(TASKS[kind]) | draw(common)


@st.composite
def pipelines(draw: st.DrawFn, kinds: tuple[str, ...] = tuple(TASKS)) -> list[Tree]:
    """An ordered list of tasks with unique labels."""
    labels = tuple(draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True)))
    return [draw(tasks(label, labels, kinds)) for label in labels]


INNER = ("one", "two", "three")


@st.composite
def sugar(draw: st.DrawFn, label: str, depth: int = 2) -> Tree:
    """A while, until, choose or paginate item; items may stand inside items."""
    word = draw(st.sampled_from(("while", "until", "choose", "paginate")))
    if word == "choose":
        body: Any = draw(choices(depth))
    elif word == "paginate":
        body = draw(pages(depth))
    else:
        delay = {"delay": st.integers(0, 3)} if word == "until" else {}
        body = {"when": draw(guards), "do": draw(bodies(depth)), **draw(some(max=counts, **delay))}
    return {"name": label, word: body}


@st.composite
def choices(draw: st.DrawFn, depth: int) -> list[Tree]:
    """Branches whose labels differ, as those of one item must."""
    count = draw(st.integers(1, 2))
    branches: list[Tree] = [
        {"when": draw(guards), "then": draw(bodies(depth, f"_{index}"))} for index in range(count)
    ]
    return branches + draw(st.sampled_from(([], [{"else": []}])))


@st.composite
def pages(draw: st.DrawFn, depth: int) -> Tree:
    """Pagination by page or offset."""
    request = {"kind": "http", "input": {"url": "{{ workload.api }}"}}
    more = some(
        start=st.integers(0, 1),
        size=st.integers(1, 9),
        more=st.just("{{ output.data.more }}"),
        max_pages=counts,
        collect=st.booleans(),
        each=bodies(depth),
    )
    by = draw(st.sampled_from(("page", "offset")))
    return {"by": by, "request": request, "items": "{{ output.data.rows }}", **draw(more)}


@st.composite
def bodies(draw: st.DrawFn, depth: int, suffix: str = "") -> list[Tree]:
    """The tasks inside an item."""
    names = draw(st.lists(st.sampled_from(INNER), min_size=1, max_size=2, unique=True))
    labels = tuple(name + suffix for name in names)
    nested = depth > 1 and draw(st.integers(0, 3)) == 0
    tail = [draw(sugar(f"nested{suffix}", depth - 1))] if nested else []
    return [draw(tasks(label, labels, ("noop", "python"))) for label in labels] + tail


collections = st.lists(values, max_size=3) | st.just("{{ workload.items }}") | st.just({"a": 1, "b": 2})
reducers = st.dictionaries(
    st.sampled_from(("ctx.total", "ctx.rows", "step.seen")),
    st.sampled_from(("sum", "min", "max", "append", "union", "merge", "first", "last")),
    max_size=2,
)
loop_specs = some(
    mode=st.sampled_from(("sequential", "parallel")),
    max_in_flight=counts,
    chunk=counts,
    policy=some(exec=st.sampled_from(("local", "distributed")), reduce=reducers),
)


@st.composite
def loops(draw: st.DrawFn, iterators: tuple[str, ...] = ITERATORS) -> Tree:
    """A loop, perhaps with loops inside."""
    loop: Tree = {"in": draw(collections), "iterator": iterators[0]} | draw(some(spec=loop_specs))
    if len(iterators) > 1 and draw(st.integers(0, 3)) == 0:
        loop["loop"] = draw(loops(iterators[1:]))
    return loop


schemas = st.sampled_from((True, {}, {"type": "object"}, {"type": "array", "items": {"type": "integer"}}))
admissions = rules(st.builds(lambda allow: {"allow": allow}, st.booleans())).map(
    lambda found: {"rules": found}
)
step_policies = some(
    admit=admissions,
    lifecycle=some(timeout_s=seconds, deadline_s=seconds),
    failure=some(mode=st.sampled_from(("fail_fast", "best_effort"))),
)
step_specs = some(
    join=st.sampled_from(("sync", "each", "all", "first")),
    pool=st.sampled_from(("small", "{{ workload.pool }}")),
    limits=limits(),
    validate=some(input=schemas, output=schemas),
    policy=step_policies,
)


@st.composite
def arcs(draw: st.DrawFn, names: list[str]) -> Tree:
    """One arc to an existing step."""
    more = some(when=guards, set=assigns(("ctx",)))
    return {"step": draw(st.sampled_from(names))} | draw(more)


@st.composite
def steps(draw: st.DrawFn, name: str, names: list[str]) -> Tree:
    """One step with arcs to existing steps."""
    looping = draw(st.booleans())
    router = some(spec=some(mode=st.sampled_from(("exclusive", "inclusive"))))
    step: Tree = {"step": name} | draw(some(desc=st.just("a step"), input=variables, spec=step_specs))
    if looping:
        step["loop"] = draw(loops())
    step |= draw(
        some(
            tool=pipelines(),
            output=values,
            set=assigns(("ctx", "step")),
            next=st.builds(
                lambda base, found: base | {"arcs": found}, router, st.lists(arcs(names), max_size=3)
            ),
        )
    )
    return step


@st.composite
def blocks(draw: st.DrawFn) -> Tree:
    """A workbook block that calls no block."""
    kinds = tuple(kind for kind in TASKS if kind != "workbook")
    more = some(input=variables, loop=loops(), set=assigns(("ctx", "step")), output=values)
    return draw(more) | {"tool": draw(pipelines(kinds))}


secrets = st.sampled_from(
    (
        {"kind": "env", "env": "TOKEN"},
        {"kind": "file", "path": "/run/token"},
        {"kind": "credential", "credential": "prod"},
        {"kind": "bearer", "env": "TOKEN"},
        {"kind": "postgres_credential"},
    )
)


@st.composite
def executors(draw: st.DrawFn, names: list[str]) -> Tree:
    """How the execution runs."""
    spec = some(
        entry_step=st.sampled_from(names),
        final_step=st.sampled_from(names),
        on_failure=st.sampled_from(("stop", "drain")),
        pool=st.just("small"),
        trace=st.sampled_from(("full", "steps", "errors")),
        timeout=seconds,
        limits=limits(),
        http=some(timeout=st.integers(1, 9)),
    )
    profile = st.sampled_from(("auto", "local", "distributed"))
    return draw(some(profile=profile, version=st.just("2"), requires=st.just({"tools": ["http"]}), spec=spec))


@st.composite
def sugared(draw: st.DrawFn) -> Tree:
    """A valid playbook with sugar in the pipeline of its first step."""
    tree = draw(playbooks())
    step = tree["workflow"][0]
    step["tool"] = [*step.get("tool", ()), draw(sugar("item"))]
    return tree


@st.composite
def playbooks(draw: st.DrawFn) -> Tree:
    """A whole valid playbook as plain data."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    keychain = st.lists(secrets, max_size=2).map(
        lambda entries: [{"name": f"secret_{index}", **entry} for index, entry in enumerate(entries)]
    )
    metadata = some(description=st.just("random"), tags=st.just(["a"]), labels=st.just({"team": "x"}))
    tree: Tree = {
        "apiVersion": "noetl.io/v2",
        "kind": "Playbook",
        "metadata": {"name": "random", "path": "property/random"} | draw(metadata),
    }
    tree |= draw(some(keychain=keychain, executor=executors(names), workload=variables))
    tree["workflow"] = [draw(steps(name, names)) for name in names]
    tree["workbook"] = {BLOCK: draw(blocks())}
    return tree

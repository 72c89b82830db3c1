"""What a template costs: rendering the common forms, and reading one for the first time."""

import time
from collections.abc import Callable

from bench.figure import Figure
from noetl.dsl.templates.template import Template, compile_template
from noetl.dsl.templates.values import Envelope

ROUNDS = 7
REPEATS = 20_000
COMPILES = 300

SCOPE = {
    "ctx": {"page": 3, "rows": [{"id": number, "ok": number % 2 == 0} for number in range(100)]},
    "workload": {"url": "http://localhost"},
    "output": Envelope(status="error", data={"count": 5}, http={"status": 429}),
}
# A form, its template, and the microseconds it may take. The first two stand in every hot loop.
FORMS = (
    ("plain path", "{{ ctx.page }}", 1.0),
    ("comparison", "{{ output.status == 'error' }}", 2.0),
    ("guard of two", "{{ output.status == 'error' and output.http.status in [429, 503] }}", 3.0),
    ("counter", "{{ (ctx.page | int) + 1 }}", 3.0),
    ("default", "{{ output.data.more | default(false) }}", 2.0),
    ("text", "{{ workload.url }}/items?page={{ ctx.page }}", 4.0),
)
PIPELINE = "{{ ctx.rows | selectattr('ok') | map(attribute='id') | list }}"
FRESH = "{{ output.status == 'error' and output.http.status in [429, %d] }}"


def run() -> list[Figure]:
    """Best of several rounds for each form; a dictionary look-up of the same run is the floor."""
    ctx = SCOPE["ctx"]
    floor = _microseconds(lambda: ctx["page"], REPEATS)  # type: ignore[index]
    figures = [
        Figure(f"template: {name}", _microseconds(_rendering(text), REPEATS), "us", goal=goal, floor=floor)
        for name, text, goal in FORMS
    ]
    pipeline = _microseconds(_rendering(PIPELINE), REPEATS // 100)
    compiling = _microseconds(_fresh_templates(), COMPILES)
    return [
        *figures,
        Figure("template: filters over 100 rows", pipeline, "us", goal=1_000.0),
        Figure("template: first reading", compiling, "us", goal=500.0),
    ]


def _rendering(text: str) -> Callable[[], object]:
    template = compile_template(text)
    return lambda: template.render(SCOPE)


def _fresh_templates() -> Callable[[], object]:
    numbers = iter(range(ROUNDS * COMPILES))
    return lambda: Template(FRESH % next(numbers))


def _microseconds(work: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(repeats):
            work()
        best = min(best, (time.perf_counter() - started) / repeats)
    return best * 1e6

"""No template gets out of the sandbox, changes what it reads, or takes more than its share."""

import json
import tracemalloc
from typing import Any

import pytest

from noetl.dsl.templates.filters import FILTERS, TESTS
from noetl.dsl.templates.limits import SOURCE_CHARS, TEXT_CHARS, WORK, TemplateError
from noetl.dsl.templates.methods import METHOD_NAMES
from noetl.dsl.templates.operators import GLOBALS
from noetl.dsl.templates.syntax import ENVIRONMENT, template_problems
from noetl.dsl.templates.template import compile_template
from noetl.dsl.templates.values import Envelope
from tests.effort import calls
from tests.unit.dsl.template_corpus import BOMBS, ESCAPES

CALLS = 16 * WORK
"""No step of work is more than a few calls."""
MEGABYTES = 64


def scope() -> dict[str, Any]:
    rows = list(range(50_000))
    return {
        "ctx": {"a": 1, "rows": [1, 2]},
        "output": Envelope(status="ok", data={}),
        "workload": {"big": "b" * 600_000, "rows": rows, "again": list(rows)},
    }


def short(text: str) -> str:
    return text if len(text) < 70 else f"{text[:40]}...{text[-25:]}"


@pytest.mark.parametrize("text", ESCAPES, ids=short)
def test_an_escape_is_refused_or_harmless(text: str) -> None:
    values = scope()
    before = json.dumps(values)
    try:
        result = json.dumps(compile_template(text).render(values))
    except TemplateError as error:
        result = error.message
    for word in ("<class", "<function", "<built-in", "<bound", "object at 0x", "root:", "<module"):
        assert word not in result
    assert json.dumps(values) == before


@pytest.mark.parametrize("text", ESCAPES, ids=short)
def test_an_escape_in_a_guard_is_refused_or_harmless(text: str) -> None:
    try:
        shown = str(compile_template(text).truth(scope()))
    except TemplateError as error:
        shown = error.message
    assert "object at 0x" not in shown


@pytest.mark.parametrize("text", BOMBS, ids=short)
def test_a_template_that_wants_too_much_ends_early_with_an_error(text: str) -> None:
    values = scope()

    def refused() -> None:
        with pytest.raises(TemplateError):
            compile_template(text).render(values)

    assert calls(refused) < CALLS


@pytest.mark.parametrize("text", [text for text in BOMBS if len(text) < 80], ids=short)
def test_a_template_that_wants_too_much_never_has_it(text: str) -> None:
    values = scope()
    compile_template.cache_clear()
    tracemalloc.start()
    with pytest.raises(TemplateError):
        compile_template(text).render(values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEGABYTES * 1024 * 1024


# ---- the bounds themselves ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "inside, beyond",
    [
        (f"{{{{ ('a' * {TEXT_CHARS}) | length }}}}", f"{{{{ ('a' * {TEXT_CHARS + 1}) | length }}}}"),
        ("{{ range(100000) | length }}", "{{ range(100001) | length }}"),
        ("{{ 2 ** 2047 > 1 }}", "{{ 2 ** 4097 > 1 }}"),
        ("{{ '%1000d' % 1 }}", "{{ '%1001d' % 1 }}"),
        ("{{ '{:1000}'.format(1) }}", "{{ '{:1001}'.format(1) }}"),
        ("{{ " + "(" * 32 + "1" + ")" * 32 + " }}", "{{ " + "(" * 33 + "1" + ")" * 33 + " }}"),
        ("{{ 1" + " + 1" * 60 + " }}", "{{ 1" + " + 1" * 65 + " }}"),
        ("{{ a" + ".b" * 60 + " | default(1) }}", "{{ a" + ".b" * 65 + " | default(1) }}"),
        ("{{ 1" + " | string" * 60 + " }}", "{{ 1" + " | string" * 65 + " }}"),
        ("{{ 1" + " and 1" * 60 + " }}", "{{ 1" + " and 1" * 65 + " }}"),
        ("{{ " + "not " * 60 + "1 }}", "{{ " + "not " * 65 + "1 }}"),
        ("{{ " + "-" * 60 + "1 }}", "{{ " + "-" * 65 + "1 }}"),
        ("{{ 1" + " if 1 else 1" * 60 + " }}", "{{ 1" + " if 1 else 1" * 65 + " }}"),
        ("{{ a" + "[0]" * 60 + " | default(1) }}", "{{ a" + "[0]" * 65 + " | default(1) }}"),
        ("{{ a" + "[b]" * 30 + " | default(1) }}", "{{ a" + "[b]" * 65 + " | default(1) }}"),
        ("{% if 1 %}" * 60 + "{% endif %}" * 60, "{% if 1 %}" * 65 + "{% endif %}" * 65),
        ("{% for a in [1] %}" * 16 + "{% endfor %}" * 16, "{% for a in [1] %}" * 17 + "{% endfor %}" * 17),
        ("{% for a in [1] if a %}" * 16 + "{% endfor %}" * 16, "{% for a in [1] if a %}" * 17 + "{% endfor %}" * 17),
        ("{{ 1" + " < 2" * 8 + " }}", "{{ 1" + " < 2" * 9 + " }}"),
        ("{{ [" + "1," * 3_900 + "] | length }}", "{{ [" + "1," * 4_100 + "] | length }}"),
        ("{{ 1 }}" + "x" * (SOURCE_CHARS - 7), "{{ 1 }}" + "x" * (SOURCE_CHARS - 6)),
        ("{% for a in range(30000) %}{% for b in [1, 2] %}{% endfor %}{% endfor %}", "{% for a in range(100000) %}{% for b in [1, 2] %}{% endfor %}{% endfor %}"),
    ],
    ids=short,
)  # fmt: skip
def test_a_bound_is_where_it_is_said_to_be(inside: str, beyond: str) -> None:
    compile_template(inside).render_compiled({})
    with pytest.raises(TemplateError):
        compile_template(beyond).render_compiled({})


def test_passing_the_bound_of_work_says_so_and_what_to_do() -> None:
    with pytest.raises(TemplateError, match=f"more than {WORK:,} steps") as caught:
        compile_template(
            "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"
        ).render({})
    assert "python task" in str(caught.value.hint)


def test_an_honest_pipeline_over_many_rows_fits() -> None:
    rows = [{"id": i, "ok": i % 2 == 0} for i in range(60_000)]
    template = compile_template("{{ rows | selectattr('ok') | map(attribute='id') | list | length }}")
    assert template.render({"rows": rows}) == 30_000


# ---- what there is --------------------------------------------------------------------------------------


def test_the_functions_of_a_template_are_few_and_pure() -> None:
    assert set(GLOBALS) == {"range", "dict"}
    assert not ENVIRONMENT.globals


def test_the_environment_itself_reads_no_attribute_and_calls_nothing() -> None:
    from jinja2.exceptions import SecurityError

    assert not ENVIRONMENT.getattr("", "__class__")
    assert not ENVIRONMENT.getitem({}, "items")
    with pytest.raises(SecurityError):
        ENVIRONMENT.call(None, len, "x")  # type: ignore[arg-type]


def test_random_and_callable_are_left_out_and_nothing_else_of_jinjas() -> None:
    from jinja2.filters import FILTERS as jinja_filters
    from jinja2.tests import TESTS as jinja_tests

    assert set(jinja_filters) - set(FILTERS) == {"random"}
    assert set(jinja_tests) - set(TESTS) == {"callable"}
    assert set(FILTERS) - set(jinja_filters) == {
        "b64decode", "b64encode", "fromjson", "jmespath", "regex_replace", "regex_search", "sha256",
        "sql_literal", "to_datetime",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(METHOD_NAMES))
def test_no_function_of_a_value_changes_it_or_shows_python(name: str) -> None:
    values = scope()
    before = json.dumps(values)
    for owner in ("ctx", "ctx.rows", "'text'", "1.5", "output"):
        for arguments in ("", "1", "'a'", "'a', 'b'"):
            template = compile_template(f"{{{{ {owner}.{name}({arguments}) }}}}")
            try:
                shown = json.dumps(template.render(values))
            except TemplateError as error:
                shown = error.message
            assert "object at 0x" not in shown
    assert json.dumps(values) == before


@pytest.mark.parametrize("name", ["__class__", "format_map", "encode", "translate", "append", "pop", "mro"])
def test_other_functions_of_values_are_refused_before_anything_runs(name: str) -> None:
    assert template_problems(f"{{{{ a.{name}() }}}}")

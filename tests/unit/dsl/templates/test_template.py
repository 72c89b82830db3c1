"""What a template gives, and what it says when it cannot."""

from typing import Any

import pytest

from noetl.dsl.templates.syntax import is_template, template_problems
from noetl.dsl.templates.template import compile_template
from noetl.dsl.templates.values import Envelope
from tests.unit.dsl.template_scope import SCOPE, error, render

# ---- native values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, value",
    [
        ("{{ ctx.page }}", 3),
        ("{{ctx.page}}", 3),
        ("{{- ctx.page -}}", 3),
        ("{{\n  ctx.page\n}}", 3),
        ("{{ ctx.page }}\n", 3),
        ("{{ ctx }}", SCOPE["ctx"]),
        ("{{ ctx.nothing }}", None),
        ("{{ ctx.yes }}", True),
        ("{{ ctx.ratio }}", 1.0),
        ("{{ ctx.rows[1].id }}", 2),
        ("{{ ctx.rows[-1]['id'] }}", 2),
        ("{{ ctx[iter.key] }}", 3),
        ("{{ ctx.text[0] }}", "a"),
        ("{{ ctx.page + 1 }}", 4),
        ("{{ 'a' }}", "a"),
        ("{{ 'a}}b' }}", "a}}b"),
        ("{{ 'ü' }}", "ü"),
        ("{{ [1, ctx.page, 'x'] }}", [1, 3, "x"]),
        ("{{ {'a': ctx.page} }}", {"a": 3}),
        ("{{ (1, 2) }}", [1, 2]),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ ctx.rows | map(attribute='id') }}", [1, 2]),
        ("{{ ctx.rows | selectattr('id', 'gt', 1) | map(attribute='name') | list }}", ["a"]),
        (
            "{{ ctx.rows | groupby('name') }}",
            [["a", [SCOPE["ctx"]["rows"][1]]], ["b", [SCOPE["ctx"]["rows"][0]]]],
        ),
        ("{{ (ctx.rows | groupby('name') | first).grouper }}", "a"),
        ("{{ ctx.empty | items }}", []),
        ("{{ 1 < ctx.page < 5 }}", True),
        ("{{ 1 < ctx.page < 2 }}", False),
        ("{{ ctx.page if ctx.yes else 0 }}", 3),
        ("{{ ctx.text.split(',') }}", ["a", "b"]),
        ("{{ ctx.empty.get('a', 4) }}", 4),
        ("{{ ctx.rows[0].items() }}", [["id", 1], ["name", "b"]]),
        ("{{ dict(a=1) }}", {"a": 1}),
        ("{{ [1, 2, 3][1:] }}", [2, 3]),
        ("{{ 'abc'[::-1] }}", "cba"),
        ("{{ '%s-%02d' % ('a', 3) }}", "a-03"),
        ("{{ result.x }}", 9),
    ],
)
def test_exactly_one_expression_keeps_its_type(text: str, value: Any) -> None:
    assert compile_template(text).native
    assert render(text) == value


@pytest.mark.parametrize(
    "text, value",
    [
        ("{{ ctx.page }}{{ ctx.total }}", "37"),
        (" {{ ctx.page }}", " 3"),
        ("{{ ctx.page }} ", "3 "),
        ("{{ ctx.page }}\n\n", "3\n\n"),
        ("{# note #}{{ ctx.page }}", "3"),
        ("{{ workload.url }}/items?page={{ ctx.page }}\n", "http://h/items?page=3\n"),
        ("{{ ctx.yes }}/{{ ctx.nothing }}/{{ ctx.ratio }}", "True/None/1.0"),
        ("{{ ctx.items }}!", "[1, 2]!"),
        (
            "{% for row in ctx.rows %}{{ loop.index }}:{{ row.id }}{% if not loop.last %},{% endif %}{% endfor %}",
            "1:1,2:2",
        ),
        ("{% for key, value in ctx.rows[0].items() %}{{ key }}={{ value }};{% endfor %}", "id=1;name=b;"),
        ("{% for row in ctx.rows if row.id > 1 %}{{ row.id }}{% else %}none{% endfor %}", "2"),
        ("{% for row in ctx.none %}{{ row }}{% else %}none{% endfor %}", "none"),
        ("{% set n = ctx.page * 2 %}{{ n }}{{ n }}", "66"),
        ("{% if ctx.page > 2 %}many{% elif ctx.page %}some{% else %}no{% endif %}", "many"),
        ("{% for x in [1, 2] %}{{ loop.cycle('a', 'b') }}{% endfor %}", "ab"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("x{{ ctx.rows | map(attribute='id') }}", "x[1, 2]"),
        ("x{{ '2024-01-02' | to_datetime }}", "x2024-01-02T00:00:00+00:00"),
        ("a\r\n{{ ctx.page }}", "a\n3"),
    ],
)
def test_anything_else_is_text(text: str, value: str) -> None:
    assert not compile_template(text).native
    assert render(text) == value


@pytest.mark.parametrize("text", ["", "plain", "a }} b", "50 %", "{ a }", "x" * 100_000])
def test_a_text_without_marks_stands_for_itself(text: str) -> None:
    assert not is_template(text)
    assert compile_template(text).render({}) == text
    assert compile_template(text).names == frozenset()


@pytest.mark.parametrize("text", ["{{ a }}", "{% if a %}{% endif %}", "{# a #}", "x {{"])
def test_marks_make_a_template(text: str) -> None:
    assert is_template(text)


# ---- the traps of Jinja ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["items", "keys", "get", "pop", "values"])
def test_a_key_wins_over_a_method_of_the_same_name(name: str) -> None:
    assert render(f"{{{{ workload.{name} }}}}") == SCOPE["workload"][name]


@pytest.mark.parametrize("name", ["items", "keys", "get", "pop", "values", "clear", "update", "copy"])
def test_an_absent_key_named_like_a_method_is_missing(name: str) -> None:
    assert error(f"{{{{ ctx.empty.{name} }}}}").missing == f"ctx.empty.{name}"
    assert render(f"{{{{ ctx.empty.{name} | default('none') }}}}") == "none"
    assert compile_template(f"{{{{ ctx.empty.{name} }}}}").truth(SCOPE) is False


@pytest.mark.parametrize("name", ["upper", "split", "format", "join"])
def test_a_method_of_a_text_is_no_value(name: str) -> None:
    assert error(f"{{{{ ctx.text.{name} }}}}").missing == f"ctx.text.{name}"


@pytest.mark.parametrize(
    "text, value",
    [
        ("{{ ctx.day }}", "20240101"),
        ("{{ '[1,2]' }}", "[1,2]"),
        ("{{ iter.headers['retry-after'] }}", "7"),
        ("{{ ctx.page | string }}", "3"),
        ("{{ '1e3' }}", "1e3"),
        ("{{ 'None' }}", "None"),
        ("{{ '{}' }}", "{}"),
    ],
)
def test_text_that_looks_like_another_type_stays_text(text: str, value: str) -> None:
    assert render(text) == value


@pytest.mark.parametrize(
    "text, value",
    [
        ("{{ a.b.c | default(0) }}", 0),
        ("{{ ctx.page.x.y | default('d') }}", "d"),
        ("{{ ctx.nothing.x | default('d') }}", "d"),
        ("{{ failed.http.status in [429, 503] }}", False),
        ("{{ failed.http.status == 200 }}", False),
        ("{{ failed.http.status not in [429] }}", True),
        ("{{ failed.http.status != 200 }}", True),
        ("{{ 1 in failed.http.list }}", False),
        ("{{ failed.http is defined }}", False),
        ("{{ failed.http.headers['retry-after'] | default(2) }}", 2),
        ("{{ not a.b }}", True),
        ("{{ a.b or ctx.page }}", 3),
        ("{{ a.b | length }}", 0),
        ("{{ a.b | list }}", []),
        ("{{ a.b ~ 'x' }}", "x"),
        ("{{ a == b }}", True),
        ("{{ a[ctx.page] | default(1) }}", 1),
        ("{{ ctx[a.b] | default(1) }}", 1),
        ("{{ a[1:] | default(1) }}", 1),
        ("{{ a.b(1) | default(1) if false else 2 }}", 2),
    ],
)
def test_missing_names_chain(text: str, value: Any) -> None:
    if "a.b(" in text:
        assert template_problems(text)
        return
    assert render(text) == value


@pytest.mark.parametrize(
    "text, value",
    [("{{ a | int }}", 0), ("{{ a | int + 1 }}", 1), ("{{ a | int(7) }}", 7), ("{{ a | float }}", 0.0)],
)
def test_a_missing_number_is_its_default(text: str, value: Any) -> None:
    assert render(text) == value


def test_tojson_gives_plain_text() -> None:
    value = render("{{ {'a': '<&>'} | tojson }}")
    assert type(value) is str
    assert value == '{"a": "<&>"}'


@pytest.mark.parametrize(
    "text", ["{{ '<' | escape }}", "{{ '<' | safe }}", "{{ '<' | e | upper }}", "{{ {'a': 1} | xmlattr }}"]
)
def test_no_filter_gives_markup(text: str) -> None:
    assert type(render(text)) is str


# ---- what is missing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, path, message",
    [
        (
            "{{ ctx.pagee }}",
            "ctx.pagee",
            "ctx.pagee is missing; ctx has: page, total, text, day, nothing, yes, ratio, rows and 2 more",
        ),
        ("{{ iter.a.b.c }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ iter['a-b'] }}", "iter.a-b", "iter.a-b is missing; iter has: key, headers"),
        ("{{ ctx.empty.a }}", "ctx.empty.a", "ctx.empty.a is missing; ctx.empty is empty"),
        ("{{ ctx.nothing.a }}", "ctx.nothing.a", "ctx.nothing.a is missing; ctx.nothing is null"),
        ("{{ ctx.page.a }}", "ctx.page.a", "ctx.page.a is missing; ctx.page is a number"),
        ("{{ ctx.text.a }}", "ctx.text.a", "ctx.text.a is missing; ctx.text is a text"),
        ("{{ ctx.yes.a }}", "ctx.yes.a", "ctx.yes.a is missing; ctx.yes is a boolean"),
        ("{{ ctx.rows.a }}", "ctx.rows.a", "ctx.rows.a is missing; ctx.rows is a list of 2"),
        ("{{ ctx.rows[5].id }}", "ctx.rows[5]", "ctx.rows[5] is missing; ctx.rows is a list of 2"),
        ("{{ ctx.rows[0].a }}", "ctx.rows[0].a", "ctx.rows[0].a is missing; ctx.rows[0] has: id, name"),
        ("{{ nope }}", "nope", "nope is missing; nothing here has that name"),
        ("{{ nope.a.b }}", "nope", "nope is missing; nothing here has that name"),
        ("{{ iter[ctx.text] }}", "iter.a,b", "iter.a,b is missing; iter has: key, headers"),
        ("{{ iter[ctx.a] }}", "ctx.a", None),
        ("{{ iter.a + 1 }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ -iter.a }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ iter.a < 1 }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ iter.a.upper() }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ range(iter.a) }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ iter.a | tojson }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ iter.a | round }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ iter.a | abs }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ iter.a is odd }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ [1, iter.a] }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ {'x': {'y': iter.a}} }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("x{{ iter.a }}", "iter.a", "iter.a is missing; iter has: key, headers"),
        ("{{ [{}] | map(attribute='q') | list }}", "q", "q is missing; the value is empty"),
        (
            "{{ output.nope }}",
            "output.nope",
            "output.nope is missing; output has: status, data, http; output.data has: count, status",
        ),
    ],
)
def test_an_error_names_the_missing_path_and_what_was_there(
    text: str, path: str, message: str | None
) -> None:
    caught = error(text)
    assert caught.missing == path
    assert message is None or caught.message == message
    assert caught.hint is not None


def test_a_conditional_without_else_is_missing_when_it_does_not_hold() -> None:
    assert "no else" in error("{{ 1 if ctx.nothing }}").message


def test_nothing_in_an_empty_list_is_first() -> None:
    assert "No first item" in error("{{ [] | first }}").message


# ---- results are JSON -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, words",
    [
        ("{{ 1e308 * 10 }}", "inf"),
        ("{{ 1e308 * 10 - 1e308 * 10 }}", "nan"),
        ("{{ [1e308 * 10] }}", "inf"),
        ("{{ 'a\\x00b' }}", "NUL"),
        ("a\x00{{ 1 }}", "NUL"),
        ("{{ '\\ud800' }}", "U+D800"),
        ("a\ud800{{ 1 }}", "U+D800"),
        ("{{ {'\\ud800': 1} }}", "U+D800"),
        ("{{ {1: 2} }}", "must be a text"),
        ("{{ {none: 2} }}", "must be a text"),
        ("{% for x in [1] %}{{ loop }}{% endfor %}", "LoopContext"),
        ("{{ (-8) ** 0.5 }}", "not a real number"),
    ],
)
def test_a_result_that_json_has_no_word_for_is_refused(text: str, words: str) -> None:
    assert words in error(text).message


def test_dates_become_text_and_spans_become_seconds() -> None:
    assert render("{{ '2024-01-02T03:04:05Z' | to_datetime }}") == "2024-01-02T03:04:05+00:00"
    assert render("{{ [0 | to_datetime] }}") == ["1970-01-01T00:00:00+00:00"]
    assert render("{{ ('2024-01-02' | to_datetime) - ('2024-01-01' | to_datetime) }}") == 86400.0
    assert render("{{ ('2024-01-02' | to_datetime).year }}") == 2024


def test_a_result_that_is_json_already_is_not_copied() -> None:
    rows = SCOPE["ctx"]["rows"]
    assert compile_template("{{ ctx.rows }}").render(SCOPE) is rows
    assert compile_template("{{ ctx.rows }}").render_compiled(SCOPE) is rows
    assert compile_template("{{ ctx.rows | sort(attribute='id') }}").render(SCOPE)[0] is rows[0]


def test_a_large_payload_passes_through() -> None:
    payload = {"rows": [{"i": i, "s": "x" * 90} for i in range(20_000)], "blob": "y" * 3_000_000}
    assert compile_template("{{ get.data }}").render({"get": {"data": payload}}) is payload
    assert (
        compile_template("{{ get.data.rows | map(attribute='i') | list | length }}").render(
            {"get": {"data": payload}}
        )
        == 20_000
    )
    assert (
        compile_template("{{ [get.data.blob] | first }}").render({"get": {"data": payload}})
        is payload["blob"]
    )


@pytest.mark.parametrize(
    "text, words",
    [
        ("{{ 7 / 0 }}", "{{ 7 / 0 }} cannot be computed: division by zero"),
        ("{{ 1 + 'a' }}", "unsupported operand"),
        ("{{ ctx.page.upper() }}", "a number has no function 'upper' in a template"),
        ("{{ workload.get('a') }}", "get is a field here, not a function"),
        ("{{ ctx.page | fromjson }}", "a number was given where a text is needed"),
        ("{% for x in ctx.page %}{% endfor %}", "not iterable"),
        ("{{ ctx.page[1:] }}", "a number has no slices"),
        ("{{ 1 in ctx.nothing }}", "not iterable"),
        ("{{ [] | map('no' ~ 'pe') | list }}", "there is no filter 'nope' to map with"),
        ("{{ [1] | select('no' ~ 'pe') | list }}", "nope"),
    ],
)
def test_a_mistake_is_an_error_of_the_template(text: str, words: str) -> None:
    assert words in error(text).message


# ---- envelopes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, value",
    [
        ("{{ output.status }}", "ok"),
        ("{{ output.data.status }}", "shipped"),
        ("{{ output.count }}", 5),
        ("{{ output['count'] }}", 5),
        ("{{ output.get('count') }}", 5),
        ("{{ output.error | default('none') }}", "none"),
        ("{{ output.ref is defined }}", False),
        ("{{ failed.error.kind }}", "timeout"),
        ("{{ failed.count | default(0) }}", 0),
        (
            "{{ output }}",
            {"status": "ok", "data": {"count": 5, "status": "shipped"}, "http": {"status": 200}},
        ),
    ],
)
def test_a_name_that_is_no_field_of_an_envelope_is_looked_for_in_its_data(text: str, value: Any) -> None:
    assert render(text) == value


def test_an_envelope_becomes_a_plain_mapping_in_a_result() -> None:
    scope = {"load": Envelope(status="ok", data=1, results={"a": Envelope(status="ok", data=2)})}
    value = compile_template("{{ load }}").render(scope)
    assert type(value) is dict
    assert type(value["results"]["a"]) is dict
    assert compile_template("{{ load.results.a.data }}").render(scope) == 2


SQL = {"rows": [{"n": 1}], "row_count": 1, "columns": ["n"]}


@pytest.mark.parametrize(
    "text, value",
    [
        ("{{ q.data.command_0.rows }}", [{"n": 1}]),
        ("{{ q.command_0.rows[0].n }}", 1),
        ("{{ many.data.command_0.rows }}", []),
        ("{{ many.data.command_1.rows }}", [{"n": 1}]),
        ("{{ q.data.command_1.rows | default('none') }}", "none"),
        ("{{ q.data.command_x.rows | default('none') }}", "none"),
        ("{{ ctx.command_0.rows | default('none') }}", "none"),
        ("{{ own.command_0 }}", "mine"),
    ],
)
def test_an_sql_result_answers_to_command_n(text: str, value: Any) -> None:
    scope = {
        "q": Envelope(status="ok", data=SQL),
        "many": Envelope(status="ok", data={**SQL, "statements": [{"rows": []}, SQL]}),
        "ctx": {},
        "own": {"command_0": "mine", **SQL},
    }
    assert render(text, scope) == value

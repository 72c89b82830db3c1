"""What can be said of a template without rendering it."""

import pytest

from noetl.dsl.templates.facts import ERROR, OK, analyse, pieces, plain_path, verdict
from noetl.dsl.templates.reads import Read
from noetl.dsl.templates.syntax import is_whole


@pytest.mark.parametrize(
    "text, expected",
    [
        ("{{ ctx.page }}", [Read(("ctx", "page"))]),
        ("{{ ctx.page | default(1) }}", [Read(("ctx", "page"), soft=True)]),
        ("{{ ctx.page | d(ctx.first) }}", [Read(("ctx", "first")), Read(("ctx", "page"), soft=True)]),
        ("{{ ctx.page if ctx.page is defined else 0 }}", [Read(("ctx", "page"), soft=True)]),
        ("{{ ctx.page.size if ctx.page is defined else 0 }}",
         [Read(("ctx", "page"), soft=True), Read(("ctx", "page", "size"), soft=True)]),
        ("{{ ctx['page'] }}", [Read(("ctx", "page"))]),
        ("{{ workload.names.get('a') }}", [Read(("workload", "names"))]),
        ("{% for item in ctx.list %}{{ item.name }}{{ loop.index }}{% endfor %}", [Read(("ctx", "list"))]),
        ("{% set total = ctx.n %}{{ total }}", [Read(("ctx", "n"))]),
        ("{{ range(ctx.n) }}", [Read(("ctx", "n"))]),
        ("no template", []),
        ("{{ not closed", []),
    ],
)  # fmt: skip
def test_reads_are_the_names_from_outside_and_know_when_absence_is_fine(text, expected):
    assert sorted(analyse(text).reads, key=lambda read: read.path) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("{{ output.ref }}", ("output", "ref")),
        ("{{ load['ref'] }}", ("load", "ref")),
        ("{{ output.ref }} ", None),
        ("{{ output.ref | default(none) }}", None),
        ("{{ output.data[ctx.key] }}", None),
        ("output.ref", None),
    ],
)
def test_a_plain_path_is_exactly_one_dotted_name(text, expected):
    assert plain_path(text) == expected


@pytest.mark.parametrize(
    "when, expected",
    [
        (None, True),
        (True, True),
        (False, False),
        ("{{ true }}", True),
        ("{{ 'false' }}", False),
        ("{{ 'maybe' }}", None),
        ("{{ 0 }}", False),
        ("{{ [1] }}", True),
        ("{{ ctx.x }}", None),
        ("{{ true or ctx.x }}", True),
        ("{{ ctx.x and false }}", False),
        ("{{ ctx.x or false }}", None),
        ("{{ not ctx.x }}", None),
        ("{{ ctx.x == 1 }}", None),
        ("{{ 1 < 2 < 3 }}", None),
        ("{{ 1 == 1 == 1 }}", None),
        ("{{ 1 < 2 }}", None),
        ("{{ 'a' not in ['a', 'b'] }}", False),
        ("{{ ctx.x in [1] }}", None),
        ("{{ 'a' in 'abc' }}", None),
        ("{{ ctx.x is defined }}", None),
        ("{{ broken", None),
        ("a text", None),
        (7, None),
    ],
)
def test_a_verdict_is_given_only_where_no_value_can_change_it(when, expected):
    assert verdict(when) is expected


@pytest.mark.parametrize(
    "when, expected",
    [
        ("{{ output.status == 'error' }}", True),
        ("{{ output.status != 'ok' }}", True),
        ("{{ output.status in ['error'] }}", True),
        ("{{ output.status == 'error' or output.http.status == 404 }}", True),
        ("{{ output.error }}", True),
        ("{{ output.error is defined }}", True),
        ("{{ output.error is none }}", False),
        ("{{ output.error is mapping }}", None),
        ("{{ output.error == 1 }}", None),
        ("{{ output.status == 'error' and output.http.status == 404 }}", None),
        ("{{ output.http.status == 404 }}", None),
        ("{{ output.status == 'ok' }}", False),
    ],
)
def test_facts_decide_guards_about_the_output(when, expected):
    assert verdict(when, ERROR) is expected


def test_an_ok_output_has_no_error():
    assert verdict("{{ output.error }}", OK) is False
    assert verdict("{{ output.error is defined }}", OK) is None


@pytest.mark.parametrize(
    "text", ["a" + ".b" * 3000, "+".join(["1"] * 3000), " or ".join(["a"] * 1500), "not " * 900 + "a"]
)
def test_a_template_that_is_refused_is_not_looked_at(text):
    assert analyse("{{ " + text + " }}").reads == ()


def test_comparisons_pair_names_with_constants():
    text = "{{ output.status == 'success' or event.name in ['a', 'b'] or 1 < ctx.n }}"
    assert set(analyse(text).comparisons) == {
        (("output", "status"), "success"),
        (("event", "name"), "a"),
        (("event", "name"), "b"),
        (("ctx", "n"), 1),
    }
    assert analyse("plain").comparisons == ()


def test_pieces_are_the_expressions_put_into_a_text():
    assert pieces("a {{ ctx.x | sql_literal }} b {{ ctx.y }} {{ 1 }}") == (
        ("sql_literal", "ctx.x"),
        (None, "ctx.y"),
        (None, ""),
    )
    assert pieces("{{ broken") == ()


@pytest.mark.parametrize(
    "text, expected", [("{{ x }}", True), (" {{ x }}", False), ("{{ x }}{{ y }}", False), ("x", False)]
)
def test_a_whole_text_is_one_expression_and_nothing_else(text, expected):
    assert is_whole(text) is expected


def test_the_line_break_that_ends_a_block_is_no_part_of_an_expression():
    assert verdict("{{ false }}\n") is False
    assert verdict("{{ false }}\n ") is None

"""How templates are used: as guards, inside values, on lazy scopes, compiled once and shared."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.syntax import syntax_tree, template_problems, tokens
from noetl.dsl.templates.template import compile_template, compile_value
from noetl.dsl.templates.values import truth_of
from noetl.dsl.yaml.tree import Map, Seq
from tests.unit.dsl.template_scope import SCOPE, render

# ---- guards ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, value",
    [
        ("{{ ctx.yes }}", True),
        ("{{ ctx.page }}", True),
        ("{{ ctx.page - 3 }}", False),
        ("{{ ctx.rows }}", True),
        ("{{ [] }}", False),
        ("{{ ctx.nothing }}", False),
        ("{{ nope }}", False),
        ("{{ nope.a.b }}", False),
        ("{{ ctx.nope.a }}", False),
        ("{{ nope == 1 or ctx.yes }}", True),
        ("{{ 'true' }}", True),
        ("{{ 'TRUE' }}", True),
        ("{{ 'False' }}", False),
        ("{{ '' }}", False),
        ("{{ ' true\n' }}", True),
        ("x{{ nope }}"[1:], False),
        ("{{ nope }}{{ nope }}", False),
        ("{{ ctx.page > 2 }}\n", True),
        ("{% if ctx.page > 2 %}true{% endif %}", True),
        ("{% if ctx.page > 9 %}true{% endif %}", False),
        ("{{ ctx.rows | selectattr('id', 'gt', 9) }}", False),
        ("{{ ctx.rows | selectattr('id', 'gt', 1) }}", True),
        ("{{ output }}", True),
        ("true", True),
        ("false", False),
    ],
)
def test_a_guard_counts_by_python_truth_but_text_must_say_it(text: str, value: bool) -> None:
    assert compile_template(text).truth(SCOPE) is value


@pytest.mark.parametrize(
    "text", ["{{ 'yes' }}", "{{ ctx.text }}", "{{ '1' }}", "x{{ ctx.page }}", "{{ 'no' ~ 'pe' }}"]
)
def test_a_guard_that_is_some_other_text_is_an_error(text: str) -> None:
    with pytest.raises(TemplateError, match="a guard must be a boolean"):
        compile_template(text).truth(SCOPE)


@pytest.mark.parametrize("text", ["{{ nope < 1 }}", "{{ nope + 1 }}", "{{ 1 / 0 }}", "{{ ctx.rows < 1 }}"])
def test_a_guard_that_cannot_be_computed_is_an_error_and_never_false(text: str) -> None:
    with pytest.raises(TemplateError):
        compile_template(text).truth(SCOPE)


def test_truth_of_a_literal() -> None:
    assert compile_value(True).truth({}) is True
    assert compile_value(False).truth({}) is False
    assert compile_value("{{ a }}").truth({"a": 1}) is True
    assert truth_of(0.0) is False


# ---- values with templates in them ----------------------------------------------------------------------


def test_a_value_without_templates_is_static_and_plain() -> None:
    tree = Map([("a", Seq([1, "x"])), ("b", None)])
    value = compile_value(tree)
    assert value.static
    assert value.names == frozenset()
    rendered = value.render({})
    assert rendered == {"a": [1, "x"], "b": None}
    assert type(rendered) is dict
    assert type(rendered["a"]) is list


def test_every_template_of_a_value_is_rendered() -> None:
    value = compile_value(
        {
            "url": "{{ workload.url }}/x",
            "params": {"page": "{{ ctx.page }}", "n": 1},
            "l": [1, "{{ ctx.yes }}"],
        }
    )
    assert not value.static
    assert value.names == {"workload", "ctx"}
    assert value.paths == {("workload", "url"), ("ctx", "page"), ("ctx", "yes")}
    assert value.render(SCOPE) == {"url": "http://h/x", "params": {"page": 3, "n": 1}, "l": [1, True]}


def test_keys_are_not_templates() -> None:
    assert compile_value({"{{ a }}": 1}).render({}) == {"{{ a }}": 1}


def test_an_error_in_a_value_says_where() -> None:
    with pytest.raises(TemplateError) as caught:
        compile_value({"params": [{"page": "{{ ctx.pagee }}"}]}).render(SCOPE)
    assert caught.value.where == ("params", 0, "page")
    assert caught.value.message.startswith("params.0.page: ctx.pagee is missing; ctx has: page")
    assert caught.value.missing == "ctx.pagee"


def test_a_bare_template_in_a_value_needs_no_place() -> None:
    with pytest.raises(TemplateError) as caught:
        compile_value("{{ ctx.pagee }}").render(SCOPE)
    assert caught.value.message.startswith("ctx.pagee is missing")
    assert caught.value.where == ()


def test_compiling_a_value_with_a_bad_template_is_an_error() -> None:
    with pytest.raises(TemplateError, match="does not parse"):
        compile_value({"a": ["{{ x"]})


# ---- scopes ---------------------------------------------------------------------------------------------


class Asked(Mapping[str, Any]):
    """A scope that remembers which names were looked up."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values_by_name = values
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("a template must not list its scope")

    def __len__(self) -> int:
        return len(self.values_by_name)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ctx.page }}",
        "{{ ctx.rows | map(attribute='id') | list }}",
        "x{{ ctx.page }}{% if ctx %}{% endif %}",
    ],
)
def test_only_the_names_a_template_reads_are_looked_up(text: str) -> None:
    scope = Asked(SCOPE)
    compile_template(text).render(scope)
    assert scope.names == {"ctx"}


def test_a_name_of_the_scope_cannot_stand_for_a_function() -> None:
    scope = {"range": [1], "dict": 1}
    assert compile_template("{{ range(2) }}").render(scope) == [0, 1]
    assert compile_template("{{ range(2) }}").names == frozenset()


# ---- compiling ------------------------------------------------------------------------------------------


def test_the_same_text_is_compiled_once() -> None:
    assert compile_template("{{ a.b }}") is compile_template("{{ a.b }}")


@pytest.mark.parametrize(
    "text, message",
    [
        ("{{ a", "does not parse"),
        ("{{ a b }}", "does not parse"),
        ("{{ }}", "does not parse"),
        ("{% if a %}", "does not parse"),
        ("{% endif %}", "does not parse"),
        ("{% break %}", "does not parse"),
        ("{{ a ]}}", "does not parse"),
        ("{{ 'a }}", "does not parse"),
        ("{{ a | nope }}", "there is no filter 'nope'"),
        ("{{ a is nope }}", "there is no test 'nope'"),
        ("{% include 'x' %}", "{% include %} is not allowed"),
        ("{{ 1e999 }}", "too large"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_with_the_reason(text: str, message: str) -> None:
    found = template_problems(text)
    assert message in found[0][0]
    with pytest.raises(TemplateError) as caught:
        compile_template(text)
    assert message in caught.value.message


def test_a_syntax_error_knows_its_line() -> None:
    with pytest.raises(TemplateError) as caught:
        compile_template("one\ntwo {{ a b }}")
    assert caught.value.line_offset == 1


def test_a_good_template_has_no_problems() -> None:
    assert template_problems("{{ a.b | default([]) | map(attribute='x') | list }}") == []
    assert template_problems("no template") == []


def test_the_syntax_tree_is_none_for_a_text_that_does_not_parse() -> None:
    assert syntax_tree("{{ a") is None
    assert syntax_tree("{{ a }}") is not None


@pytest.mark.parametrize(
    "text",
    [
        "{{ a }}",
        "x\r\n{%- if a -%}\n y {{ 'q' }}{# c #}\r{% endif %} z\n",
        "{% raw -%} {{ {%- endraw %} {{- 1 }}",
    ],
)
def test_tokens_know_where_they_stand(text: str) -> None:
    for token in tokens(text):
        assert text[token.start : token.start + len(token.text)] == token.text


@pytest.mark.parametrize(
    "text, value",
    [
        (r"{{ '\d+' }}", r"\d+"),
        (r"{{ '\1' }}", r"\1"),
        (r"{{ '\bx' }}", r"\bx"),
        (r"{{ 'a\nb' }}", "a\nb"),
        (r"{{ 'a\tb' }}", "a\tb"),
        (r"{{ 'a\\d' }}", r"a\d"),
        (r"{{ 'it\'s' }}", "it's"),
        (r"{{ '\x41\u0042' }}", "AB"),
        (r"a\d{{ '\d' }}\n", r"a\d\d\n"),
    ],
)
def test_a_backslash_that_is_no_escape_stays(text: str, value: str) -> None:
    assert render(text) == value


def test_templates_can_be_rendered_by_many_threads_at_once() -> None:
    texts = [f"{{% for i in range(50) %}}{{{{ i + n }}}},{{% endfor %}}{number}" for number in range(20)]

    def work(n: int) -> list[str]:
        return [compile_template(text).render({"n": n}) for text in texts]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(16)))
    expected = [
        [",".join(str(i + n) for i in range(50)) + f",{number}" for number in range(20)] for n in range(16)
    ]
    assert results == expected

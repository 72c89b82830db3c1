"""A value of a playbook as the text of one expression."""

import pytest

from noetl.dsl.sugar.inline_expression import inline
from noetl.dsl.templates.template import compile_template, compile_value


@pytest.mark.parametrize(
    "value, expression",
    [
        ("{{ x }}", "(x)"), ("a-{{ x }}", "'a-' ~ (x)"), ("{{ x }}{{ y }}\n", "(x) ~ (y)"), ("{{- x | default('}}') -}}", "(x | default('}}'))"),
        ("text", "'text'"), ("it's \\d\n", r"'it\'s \\d\n'"), (None, "none"), (True, "true"), (5, "5"), (1.5, "1.5"), ("", "''"),
        (["{{ x }}", {"a": 1}], "[(x), {'a': 1}]"), ("{% if x %}1{% endif %}", None), ("{# c #}", None), ("{{ x", None), (["{{ x"], None),
        ({"a": "{% %}"}, None), (object(), None),
    ],
)  # fmt: skip
def test_a_value_becomes_one_expression(value: object, expression: str | None) -> None:
    assert inline(value) == expression


@pytest.mark.parametrize(
    "value", ["a-{{ x }}", "it's \\d\n\\n", ["{{ x }}", {"k'": "{{ x }}b"}], 1.5, "'\"\\", "{{ x }}"]
)
def test_the_expression_has_the_value_that_the_playbook_would_have(value: object) -> None:
    scope = {"x": "v"}
    assert compile_template(f"{{{{ {inline(value)} }}}}").render(scope) == compile_value(value).render(scope)

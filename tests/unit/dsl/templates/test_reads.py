"""What a template is said to read, and what is found wrong with it, before it is run."""

import pytest

from noetl.dsl.templates.problems import problems
from noetl.dsl.templates.reads import paths_read
from noetl.dsl.templates.syntax import syntax_tree
from noetl.dsl.templates.template import compile_template


def paths(text: str) -> set[str]:
    tree = syntax_tree(text)
    assert tree is not None
    return {".".join(path) for path in paths_read(tree)}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("{{ a }}", {"a"}),
        ("{{ a.b.c }}", {"a.b.c"}),
        ("{{ a['b'].c }}", {"a.b.c"}),
        ("{{ a.b[0].c }}", {"a.b.0.c"}),
        ("{{ a.b[-1] }}", {"a.b"}),
        ("{{ a[b.c].d }}", {"a", "b.c"}),
        ("{{ a.b[c].d }}", {"a.b", "c"}),
        ("{{ a.b[1:c] }}", {"a.b", "c"}),
        ("{{ a.b | default(c.d) }}", {"a.b", "c.d"}),
        ("{{ (a.b | first).c }}", {"a.b"}),
        ("{{ a.b | map(attribute='x') | list }}", {"a.b"}),
        ("{{ a.b.split(c.d) }}", {"a.b", "c.d"}),
        ("{{ a.b.get('k').c }}", {"a.b"}),
        ("{{ range(a.n) }}", {"a.n"}),
        ("{{ dict(x=a.b) }}", {"a.b"}),
        ("{{ range }}", set()),
        ("{{ a.b is defined and c }}", {"a.b", "c"}),
        ("{{ a.x if b.y else c.z }}", {"a.x", "b.y", "c.z"}),
        ("{{ [a.x, (b.y, {'k': c.z})] }}", {"a.x", "b.y", "c.z"}),
        ("{{ a ~ b.c ~ 'd.e' }}", {"a", "b.c"}),
        ("{{ 1 < a.b < c }}", {"a.b", "c"}),
        ("{{ 'a.b' }} c.d", set()),
        ("{{ true and none }}", set()),
        ("{{ _prev.x }}", {"_prev.x"}),
        ("{{ a }}{{ a.b }}", {"a", "a.b"}),
        ("{% for x in a.rows %}{{ x.id }}{{ loop.index }}{{ b }}{% endfor %}", {"a.rows", "b"}),
        ("{% for x in a if x.ok and b %}{{ x }}{% endfor %}{{ x.y }}", {"a", "b", "x.y"}),
        ("{% for k, v in a.items() %}{{ k }}{{ v.z }}{% else %}{{ k.q }}{% endfor %}", {"a", "k.q"}),
        ("{% for x in x.children %}{{ x.id }}{% endfor %}", {"x.children"}),
        ("{{ loop.index }}", {"loop.index"}),
        ("{% set n = a.b %}{{ n.c }}", {"a.b"}),
        ("{% set n = n.b %}{{ n.c }}", {"n.b"}),
        ("{{ n.a }}{% set n = 1 %}{{ n.b }}", {"n.a"}),
        ("{% if a %}{% set n = 1 %}{% endif %}{{ n.b }}", {"a", "n.b"}),
        ("{% if a %}{% set n = 1 %}{{ n }}{% else %}{{ n.c }}{% endif %}", {"a", "n.c"}),
        ("{% if a %}{% elif b.c %}{{ d }}{% endif %}", {"a", "b.c", "d"}),
        ("{% for x in a %}{% set n = x %}{% endfor %}{{ n.b }}", {"a", "n.b"}),
        ("{% set a, b = c %}{{ a.x }}{{ b.y }}", {"c"}),
    ],
)
def test_the_paths_a_template_reads(text: str, expected: set[str]) -> None:
    assert paths(text) == expected
    template = compile_template(text)
    assert {".".join(path) for path in template.paths} == expected
    assert template.names == {path.split(".")[0] for path in expected}


@pytest.mark.parametrize(
    "text, message, hint",
    [
        ("{{ a | lenght }}", "there is no filter 'lenght'", "did you mean 'length'?"),
        ("{{ a | zzz }}", "there is no filter 'zzz'", None),
        ("{{ a | map('uper') }}", "there is no filter 'uper'", "did you mean 'upper'?"),
        ("{{ a | select('od') }}", "there is no test 'od'", "did you mean 'odd'?"),
        ("{{ a | selectattr('x', 'defind') }}", "there is no test 'defind'", "did you mean 'defined'?"),
        ("{{ a is defind }}", "there is no test 'defind'", "did you mean 'defined'?"),
        ("{{ a | random }}", "the filter random is not allowed: templates are pure", "draw in a python task"),
        ("{{ now() }}", "there is no function 'now'", "there are: range, dict"),
        ("{{ a.splitt(',') }}", "no value has a function 'splitt' in a template", "did you mean 'split'?"),
        ("{{ a.wxyz() }}", "no value has a function 'wxyz' in a template", "use a filter, or a python task"),
        ("{{ a()() }}", "only a named function can be called in a template", None),
        (
            "{{ range(*a) }}",
            "a call cannot be given * or ** arguments in a template",
            "write the arguments out",
        ),
        (
            "{{ a | default(**b) }}",
            "default cannot be given * or ** arguments in a template",
            "write the arguments out",
        ),
        ("{{ self }}", "self is a word of Jinja's and no name here", "use another name"),
        (
            "{% set loop = 1 %}",
            "loop is what Jinja calls the loop itself and cannot be set",
            "use another name",
        ),
        ("{% set a.b = 1 %}", "a.b cannot be set inside a template", "write ctx, step or iter with `set:`"),
        (
            "{% for a in b recursive %}{% endfor %}",
            "a recursive for is not allowed in a template",
            "do this in a python task",
        ),
        (
            "{% macro m() %}{% endmacro %}",
            "{% macro %} is not allowed in a template",
            "only if, for and set are",
        ),
        (
            "{% call a.get() %}{% endcall %}",
            "{% call %} is not allowed in a template",
            "only if, for and set are",
        ),
        (
            "{% filter upper %}{% endfilter %}",
            "{% filter %} is not allowed in a template",
            "only if, for and set are",
        ),
        (
            "{% block a %}{% endblock %}",
            "{% block %} is not allowed in a template",
            "only if, for and set are",
        ),
        ("{% extends 'a' %}", "{% extends %} is not allowed in a template", "only if, for and set are"),
        ("{% include 'a' %}", "{% include %} is not allowed in a template", "only if, for and set are"),
        ("{% import 'a' as b %}", "{% import %} is not allowed in a template", "only if, for and set are"),
        ("{% from 'a' import b %}", "{% from %} is not allowed in a template", "only if, for and set are"),
        (
            "{% with a = 1 %}{% endwith %}",
            "{% with %} is not allowed in a template",
            "only if, for and set are",
        ),
        (
            "{% set a %}{% endset %}",
            "{% set ... endset %} is not allowed in a template",
            "only if, for and set are",
        ),
        (
            "{% autoescape true %}{% endautoescape %}",
            "{% autoescape %} is not allowed in a template",
            "only if, for and set are",
        ),
        ("{{ 1e999 }}", "a number is too large to be one", None),
        ("{{ 0x%s }}" % ("f" * 2000), "a number of 8,000 bits is too large", None),
    ],
)
def test_a_problem_is_found_before_the_template_runs(text: str, message: str, hint: str | None) -> None:
    tree = syntax_tree(text)
    assert tree is not None
    assert (message, hint) in problems(tree)


def test_all_problems_are_found_at_once_each_once() -> None:
    tree = syntax_tree("{{ a | nope }}{{ b | nope }}{{ c is nope }}{{ f() }}")
    assert tree is not None
    assert [message for message, _ in problems(tree)] == [
        "there is no filter 'nope'",
        "there is no test 'nope'",
        "there is no function 'f'",
    ]

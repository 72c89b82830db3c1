"""Laws of templates: two ways to compute give one answer, any text is handled, and reading is known before."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.exceptions import TemplateSyntaxError

from noetl.dsl.older_spellings.respell import (
    compare_with_ok,
    rename_root,
    respell_event,
    respell_output,
)
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.syntax import ENVIRONMENT, is_template, syntax_tree, template_problems, tokens
from noetl.dsl.templates.template import Template, compile_template, compile_value
from noetl.dsl.templates.values import Envelope

NAMES = ["ctx", "iter", "output", "load"]
KEYS = ["a", "b", "items", "get", "status", "data", "command_0", "rows"]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=5)
    | st.sampled_from(["", "true", "False", "7", "-7", "1.5", " x ", "ok", "error"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)
mappings = st.dictionaries(st.sampled_from(KEYS), values, max_size=5)
scopes = st.fixed_dictionaries(
    {},
    optional={
        "ctx": mappings,
        "iter": mappings,
        "output": mappings.map(Envelope),
        "load": values,
    },
)

paths = st.builds(
    lambda name, keys: name + "".join(keys),
    st.sampled_from(NAMES),
    st.lists(
        st.sampled_from([f".{key}" for key in KEYS] + [f"['{key}']" for key in KEYS[:3]] + ["[0]", "[1]"]),
        max_size=3,
    ),
)
literals = st.sampled_from(
    ["0", "1", "2.5", "'a'", "'ok'", "''", "true", "false", "none", "[]", "{}", "[1, 'a']", "'7'", "9" * 25]
)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def both(template: str) -> st.SearchStrategy[str]:
        return st.builds(template.format, inner, inner)

    def one(template: str) -> st.SearchStrategy[str]:
        return st.builds(template.format, inner)

    signs = [
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "in",
        "not in",
        "and",
        "or",
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "~",
    ]
    filters = [
        "int",
        "length",
        "count",
        "string",
        "lower",
        "upper",
        "trim",
        "first",
        "last",
        "default",
        "int(3)",
    ]
    tests = ["defined", "undefined", "none", "string", "mapping", "not defined"]
    return st.one_of(
        *[both("({} " + sign + " {})") for sign in signs],
        *[one("({} | " + name + ")") for name in filters],
        *[one("({} is " + name + ")") for name in tests],
        both("({} | default({}))"),
        both("({} | default({}, true))"),
        both("({} if {} else 1)"),
        both("(1 if {} else {})"),
        both("({} if {})"),
        both("[{}, {}]"),
        both("{{'k': {}, 'l': {}}}"),
        one("(not {})"),
        one("({} in ['ok', 1, none])"),
        one("({} not in (1, 'a'))"),
    )


expressions = st.recursive(paths | literals, combined, max_leaves=5)
texts = st.lists(
    expressions.map("{{{{ {} }}}}".format) | st.sampled_from(["x", "/", "ü", "\n"]), min_size=2, max_size=4
).map("".join)


def outcome(compute: Any) -> Any:
    """The value with its types, or that it failed."""
    try:
        value = compute()
    except TemplateError as error:
        return ("error", error.message)
    return ("value", json.dumps(value), type(value))


def both_ways(text: str) -> tuple[Template, Template]:
    """A template as it is, and one that leaves everything to Jinja."""
    slow = Template(text)
    slow._fast = None
    return compile_template(text), slow


@given(expressions, scopes)
def test_the_fast_way_and_jinjas_way_agree_and_change_nothing(expression: str, scope: dict[str, Any]) -> None:
    before = json.dumps(scope)
    fast, slow = both_ways("{{ " + expression + " }}")
    assert outcome(lambda: fast.render(scope)) == outcome(lambda: slow.render(scope))
    assert outcome(lambda: fast.truth(scope)) == outcome(lambda: slow.truth(scope))
    assert json.dumps(scope) == before


@given(texts, scopes)
def test_the_fast_way_and_jinjas_way_agree_on_text(text: str, scope: dict[str, Any]) -> None:
    fast, slow = both_ways(text)
    assert outcome(lambda: fast.render(scope)) == outcome(lambda: slow.render(scope))
    assert outcome(lambda: fast.truth(scope)) == outcome(lambda: slow.truth(scope))


@given(expressions, scopes)
def test_what_is_not_said_to_be_read_can_be_left_out(expression: str, scope: dict[str, Any]) -> None:
    template = compile_template("{{ " + expression + " }}")
    whole = outcome(lambda: template.render(scope))
    pruned = {name: value for name, value in scope.items() if name in template.names}
    assert outcome(lambda: template.render(pruned)) == whole
    read = {path[1] for path in template.paths if path[0] == "ctx" and len(path) > 1}
    if "ctx" not in pruned or ("ctx",) in template.paths or "command_0" in read:
        return
    pruned["ctx"] = {key: value for key, value in scope["ctx"].items() if key in read}
    part = outcome(lambda: template.render(pruned))
    assert part == whole or part[0] == whole[0] == "error"


FRAGMENTS = [
    "{{", "}}", "{%", "%}", "{#", "#}", "{{-", "-}}", "{% raw %}", "{% endraw %}", " ", "\n", "\r\n", "a", "b.c", "'", '"', "\\", "(", ")", "[",
    "]", "{", "}", ",", ":", "|", ".", "~", "+", "*", "**", "%", "==", "=", "if", "else", "for", "in", "is", "not", "and", "set", "endif", "endfor",
    "elif", "include", "macro", "range(3)", "default(1)", "map('upper')", "'\\d'", "'\\N{x}'", "'\\ud800'", "1e999", "9" * 30, "\0", "\ud800", "é", "loop",
    "self", "outcome.result", "event.name", "'call.done'", "<", "upper", "recursive", "*a", "**a",
]  # fmt: skip
junk = (
    st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
    | st.text(max_size=30)
    | st.text("{}%# a'|.", max_size=30)
)


@given(junk)
def test_any_text_is_either_refused_by_our_error_or_can_be_rendered(text: str) -> None:
    problems = template_problems(text)
    if not is_template(text):
        assert compile_template(text).render({}) == text
        return
    try:
        fast, slow = both_ways(text)
    except TemplateError:
        assert problems
        return
    assert not problems
    for scope in ({"a": "x", "b": {"c": [1]}}, dict.fromkeys(fast.names, 1)):
        assert outcome(lambda: fast.render(scope)) == outcome(lambda: slow.render(scope))  # noqa: B023
    outcome(lambda: slow.truth({}))


words = st.sampled_from(
    [
        "a",
        "b_1",
        "ctx",
        "In",
        "Is",
        "not",
        "in",
        "is",
        "none",
        "true",
        "None",
        "True",
        "False",
        "self",
        "loop",
        "if",
        "_x",
        "andy",
    ]
)


@given(st.lists(words, min_size=1, max_size=4).map(".".join))
def test_a_plain_path_is_read_as_jinja_reads_it(path: str) -> None:
    text = "{{ " + path + " }}"
    try:
        expected = ENVIRONMENT.parse(text)
    except TemplateSyntaxError:
        expected = None
    assert syntax_tree(text) == expected


@given(junk)
def test_tokens_stand_where_they_say(text: str) -> None:
    try:
        found = tokens(text)
    except TemplateError:
        assert syntax_tree(text) is None
        return
    for token in found:
        assert text[token.start : token.start + len(token.text)] == token.text


@given(junk)
def test_respelling_is_done_once_and_keeps_a_good_template_good(text: str) -> None:
    for respell in (respell_output, respell_event, compare_with_ok, lambda text: rename_root(text, "a", "z")):
        once = respell(text)
        assert respell(once) == once
        assert bool(template_problems(text)) == bool(template_problems(once))


@given(values)
def test_a_value_without_templates_is_itself(value: Any) -> None:
    compiled = compile_value(value)
    if compiled.static:
        assert compiled.render({}) == value


@pytest.mark.parametrize("text", ["{{ ctx.a == 'x' }}", "{{ ctx.a.b | default(0) + 1 }}"])
def test_the_closures_are_what_is_tested(text: str) -> None:
    assert compile_template(text)._fast is not None

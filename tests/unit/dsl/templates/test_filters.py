"""Each filter and test gives what its name says, and says what is wrong with what it was given."""

from typing import Any

import pytest

from noetl.dsl.templates.filters import FILTERS, TESTS
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.template import compile_template

SCOPE: dict[str, Any] = {
    "text": "Hello big world",
    "rows": [{"n": 2, "s": "b"}, {"n": 1, "s": "a"}, {"n": 2, "s": "c"}],
    "map": {"b": 1, "a": 2},
    "list": [3, 1, 2],
    "quote": "O'Neil",
}

EXAMPLES = [
    ("abs", "{{ -3 | abs }}", 3),
    ("attr", "{{ map | attr('b') }}", 1),
    ("b64decode", "{{ 'w7x4' | b64decode }}", "üx"),
    ("b64encode", "{{ 'üx' | b64encode }}", "w7x4"),
    ("batch", "{{ list | batch(2, 0) | list }}", [[3, 1], [2, 0]]),
    ("capitalize", "{{ 'abc DEF' | capitalize }}", "Abc def"),
    ("center", "{{ 'a' | center(5) }}", "  a  "),
    ("count", "{{ list | count }}", 3),
    ("d", "{{ nope | d(4) }}", 4),
    ("default", "{{ '' | default('x', true) }}", "x"),
    ("dictsort", "{{ map | dictsort }}", [["a", 2], ["b", 1]]),
    ("e", "{{ '<a>' | e }}", "&lt;a&gt;"),
    ("escape", "{{ '<a>' | escape }}", "&lt;a&gt;"),
    ("filesizeformat", "{{ 13000 | filesizeformat }}", "13.0 kB"),
    ("first", "{{ list | first }}", 3),
    ("float", "{{ '1.5' | float }}", 1.5),
    ("forceescape", "{{ '<' | forceescape }}", "&lt;"),
    ("format", "{{ '%s is %d' | format('x', 3) }}", "x is 3"),
    ("format", "{{ '%(a)s' | format(a='y') }}", "y"),
    ("fromjson", "{{ '{\"a\": [1, null, true]}' | fromjson }}", {"a": [1, None, True]}),
    ("groupby", "{{ rows | groupby('n') | map('first') | list }}", [1, 2]),
    ("indent", "{{ 'a\nb' | indent(2) }}", "a\n  b"),
    ("int", "{{ '42.9' | int }}", 42),
    ("int", "{{ 'ff' | int(0, 16) }}", 255),
    ("int", "{{ 'x' | int(9) }}", 9),
    ("items", "{{ map | items }}", [["b", 1], ["a", 2]]),
    ("jmespath", "{{ rows | jmespath('[?n==`2`].s') }}", ["b", "c"]),
    ("join", "{{ list | join('-') }}", "3-1-2"),
    ("join", "{{ rows | join(',', attribute='s') }}", "b,a,c"),
    ("last", "{{ list | last }}", 2),
    ("length", "{{ text | length }}", 15),
    ("list", "{{ 'abc' | list }}", ["a", "b", "c"]),
    ("lower", "{{ text | lower }}", "hello big world"),
    ("map", "{{ rows | map(attribute='n') | list }}", [2, 1, 2]),
    ("map", "{{ ['a'] | map('upper') | list }}", ["A"]),
    ("max", "{{ rows | max(attribute='s') }}", {"n": 2, "s": "c"}),
    ("min", "{{ list | min }}", 1),
    ("pprint", "{{ map | pprint }}", "{'a': 2, 'b': 1}"),
    ("regex_replace", r"{{ 'a-b c-d' | regex_replace('(\w)-(\w)', '\2\1') }}", "ba dc"),
    ("regex_replace", "{{ 'aaa' | regex_replace('a', 'b', 2) }}", "bba"),
    ("regex_replace", r"{{ 'a' | regex_replace('(?P<x>a)(b)?', 'é\1€\g<x>\g<0>\2\\t') }}", "éa€aa\t"),
    ("regex_replace", "{{ 'aA' | regex_replace('a', 'x', ignorecase=true) }}", "xx"),
    ("regex_search", r"{{ 'id=42;' | regex_search('\d+') }}", "42"),
    ("regex_search", r"{{ 'id=42;' | regex_search('(\w+)=(\d+)', 2) }}", "42"),
    ("regex_search", r"{{ 'id=42;' | regex_search('(?P<key>\w+)=', 'key') }}", "id"),
    ("regex_search", "{{ 'x' | regex_search('y') }}", None),
    ("reject", "{{ list | reject('odd') | list }}", [2]),
    ("rejectattr", "{{ rows | rejectattr('n', 'eq', 2) | map(attribute='s') | list }}", ["a"]),
    ("replace", "{{ text | replace('l', 'L', 1) }}", "HeLlo big world"),
    ("reverse", "{{ list | reverse | list }}", [2, 1, 3]),
    ("reverse", "{{ 'ab' | reverse }}", "ba"),
    ("round", "{{ 2.345 | round(2) }}", 2.35),
    ("round", "{{ 2.1 | round(0, 'ceil') }}", 3.0),
    ("safe", "{{ '<' | safe }}", "<"),
    ("select", "{{ list | select('gt', 1) | list }}", [3, 2]),
    ("selectattr", "{{ rows | selectattr('n', 'equalto', 1) | list }}", [{"n": 1, "s": "a"}]),
    ("sha256", "{{ 'abc' | sha256 }}", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ("slice", "{{ list | slice(2) | list }}", [[3, 1], [2]]),
    ("sort", "{{ rows | sort(attribute='n,s') | map(attribute='s') | list }}", ["a", "b", "c"]),
    ("sort", "{{ list | sort(reverse=true) }}", [3, 2, 1]),
    ("sql_literal", "{{ quote | sql_literal }}", "'O''Neil'"),
    ("sql_literal", "{{ none | sql_literal }}", "NULL"),
    ("sql_literal", "{{ true | sql_literal }}", "TRUE"),
    ("sql_literal", "{{ 1.5 | sql_literal }}", "1.5"),
    ("sql_literal", "{{ 7 | sql_literal }}", "7"),
    ("sql_literal", "{{ [quote] | sql_literal }}", "'[\"O''Neil\"]'"),
    ("string", "{{ 3 | string }}", "3"),
    ("striptags", "{{ '<b>x</b>  y' | striptags }}", "x y"),
    ("sum", "{{ rows | sum(attribute='n') }}", 5),
    ("sum", "{{ [[1], [2]] | sum(start=[]) }}", [1, 2]),
    ("title", "{{ text | title }}", "Hello Big World"),
    ("to_datetime", "{{ '2024-02-03T04:05:06+02:00' | to_datetime }}", "2024-02-03T04:05:06+02:00"),
    ("to_datetime", "{{ '03/02/2024' | to_datetime('%d/%m/%Y') }}", "2024-02-03T00:00:00+00:00"),
    ("to_datetime", "{{ 1.5 | to_datetime }}", "1970-01-01T00:00:01.500000+00:00"),
    ("to_datetime", "{{ ('2024-02-03' | to_datetime).strftime('%d.%m.%y') }}", "03.02.24"),
    ("tojson", "{{ map | tojson }}", '{"b": 1, "a": 2}'),
    ("tojson", "{{ map | tojson(indent=1) }}", '{\n "b": 1,\n "a": 2\n}'),
    ("tojson", "{{ 'ü' | tojson }}", '"ü"'),
    ("trim", "{{ '  a ' | trim }}", "a"),
    ("truncate", "{{ text | truncate(8, true) }}", "Hello..."),
    ("unique", "{{ rows | map(attribute='n') | unique | list }}", [2, 1]),
    ("upper", "{{ text | upper }}", "HELLO BIG WORLD"),
    ("urlencode", "{{ 'a b/ü&' | urlencode }}", "a%20b/%C3%BC%26"),
    ("urlencode", "{{ {'a': 1, 'b': 'x y'} | urlencode }}", "a=1&b=x+y"),
    ("urlize", "{{ 'www.x.org' | urlize }}", '<a href="https://www.x.org" rel="noopener">www.x.org</a>'),
    ("wordcount", "{{ text | wordcount }}", 3),
    ("wordwrap", "{{ text | wordwrap(5) }}", "Hello\nbig\nworld"),
    ("xmlattr", "{{ {'id': 'a<'} | xmlattr }}", ' id="a&lt;"'),
]


@pytest.mark.parametrize("name, text, value", EXAMPLES, ids=lambda value: str(value)[:40])
def test_filter(name: str, text: str, value: Any) -> None:
    template = compile_template(text)
    assert template.render(SCOPE) == value
    assert template.render_compiled(SCOPE) == value


def test_every_filter_has_an_example() -> None:
    assert {name for name, _, _ in EXAMPLES} == set(FILTERS)


MISUSES = [
    ("{{ 3 | fromjson }}", "a number was given where a text is needed"),
    ("{{ '{' | fromjson }}", "the text is not JSON"),
    ("{{ 'NaN' | fromjson }}", "NaN is not a number that JSON knows"),
    ("{{ '%%' | b64decode }}", "not base64"),
    ("{{ '/w==' | b64decode }}", "not base64 of UTF-8"),
    ("{{ 'soon' | to_datetime }}", "'soon' is not a date"),
    ("{{ true | to_datetime }}", "is not a date"),
    ("{{ 1e300 | to_datetime }}", "is not a date"),
    ("{{ 'x' | to_datetime('%d') }}", "is not a date"),
    ("{{ ('2024-02-03' | to_datetime).strftime('%100d') }}", "has a width"),
    ("{{ 'a' | regex_search('(?=a)') }}", "cannot be used: invalid perl operator"),
    ("{{ 'a' | regex_search('[') }}", "cannot be used"),
    ("{{ 'a' | regex_search('a', 3) }}", "has no group 3"),
    (r"{{ 'a' | regex_replace('a', '\7') }}", "names a group that is not there"),
    ("{{ 'a' | regex_search(5) }}", "a pattern must be a text"),
    ("{{ 5 | regex_search('a') }}", "a number was given"),
    ("{{ [] | jmespath('[') }}", "cannot be used"),
    ("{{ [] | jmespath('nope(@)') }}", "cannot be used"),
    ("{{ [] | jmespath('abs(@)') }}", "cannot be used"),
    ("{{ 'a\\x00' | sql_literal }}", "NUL"),
    ("{{ (1e308 * 10) | sql_literal }}", "no SQL literal"),
    ("{{ 'a' | round }}", "a text cannot be rounded"),
    ("{{ '%s' | format(1, a=2) }}", "not both"),
    ("{{ 'a' is odd }}", "a text cannot be odd"),
    ("{{ 4 is divisibleby 'a' }}", "a text cannot be divisibleby"),
    ("{{ nope | sha256 }}", "nope is missing"),
    ("{{ nope | jmespath('a') }}", "nope is missing"),
    ("{{ nope | sql_literal }}", "nope is missing"),
    ("{{ nope | to_datetime }}", "nope is missing"),
    ("{{ [nope] | sum }}", "nope is missing"),
    ("{{ '{a}'.format() }}", "cannot be computed"),
    ("{{ '{0.a}'.format(map) }}", None),
    ("{{ '{0.zz}'.format(map) }}", "{0.zz} is missing"),
]


@pytest.mark.parametrize("text, words", MISUSES)
def test_misuse_is_an_error_that_says_what_is_wrong(text: str, words: str | None) -> None:
    if words is None:
        assert compile_template(text).render(SCOPE) == "2"
        return
    with pytest.raises(TemplateError) as caught:
        compile_template(text).render(SCOPE)
    assert words in caught.value.message


CHECKED = [
    ("!=", "{{ [1, 2] | select('!=', 1) | list }}", [2]),
    ("<", "{{ [1, 2] | select('<', 2) | list }}", [1]),
    ("<=", "{{ [1, 2] | select('<=', 2) | list }}", [1, 2]),
    ("==", "{{ [1, 2] | select('==', 1) | list }}", [1]),
    (">", "{{ [1, 2] | select('>', 1) | list }}", [2]),
    (">=", "{{ [1, 2] | select('>=', 1) | list }}", [1, 2]),
    ("boolean", "{{ true is boolean }}", True),
    ("defined", "{{ text is defined }}", True),
    ("divisibleby", "{{ 9 is divisibleby 3 }}", True),
    ("eq", "{{ 1 is eq 1 }}", True),
    ("equalto", "{{ 1 is equalto 1 }}", True),
    ("escaped", "{{ 'a' is escaped }}", False),
    ("even", "{{ 2 is even }}", True),
    ("false", "{{ false is false }}", True),
    ("filter", "{{ 'upper' is filter }}", True),
    ("float", "{{ 1.0 is float }}", True),
    ("ge", "{{ 1 is ge 1 }}", True),
    ("greaterthan", "{{ 1 is greaterthan 1 }}", False),
    ("gt", "{{ 1 is gt 0 }}", True),
    ("in", "{{ 1 is in [1] }}", True),
    ("integer", "{{ 1 is integer }}", True),
    ("iterable", "{{ list is iterable }}", True),
    ("le", "{{ 1 is le 0 }}", False),
    ("lessthan", "{{ 1 is lessthan 2 }}", True),
    ("lower", "{{ 'a' is lower }}", True),
    ("lt", "{{ 1 is lt 2 }}", True),
    ("mapping", "{{ map is mapping }}", True),
    ("ne", "{{ 1 is ne 2 }}", True),
    ("none", "{{ none is none }}", True),
    ("number", "{{ 1 is number }}", True),
    ("odd", "{{ 1 is odd }}", True),
    ("sameas", "{{ none is sameas none }}", True),
    ("sequence", "{{ list is sequence }}", True),
    ("string", "{{ text is string }}", True),
    ("test", "{{ 'odd' is test }}", True),
    ("true", "{{ true is true }}", True),
    ("undefined", "{{ nope is undefined }}", True),
    ("upper", "{{ 'A' is upper }}", True),
]


@pytest.mark.parametrize("name, text, value", CHECKED)
def test_test(name: str, text: str, value: Any) -> None:
    assert compile_template(text).render(SCOPE) == value
    assert compile_template(text).render_compiled(SCOPE) == value


def test_every_test_has_an_example() -> None:
    assert {name for name, _, _ in CHECKED} == set(TESTS)


@pytest.mark.parametrize(
    "text, value",
    [
        ("{{ 'a,b'.split(',') }}", ["a", "b"]),
        ("{{ 'a b'.split() }}", ["a", "b"]),
        ("{{ 'a-b-c'.rsplit('-', 1) }}", ["a-b", "c"]),
        ("{{ 'a-b'.partition('-') }}", ["a", "-", "b"]),
        ("{{ '-'.join(['a', 1]) }}", "a-1"),
        ("{{ 'abc'.replace('b', 'x') }}", "axc"),
        ("{{ 'x'.ljust(3, '.') }}", "x.."),
        ("{{ '7'.zfill(3) }}", "007"),
        ("{{ ' a '.strip() }}", "a"),
        ("{{ 'abc'.startswith('ab') }}", True),
        ("{{ 'abc'.find('c') }}", 2),
        ("{{ '{:>4}|{:<3}|{:.2f}|{a}'.format('x', 1, 2.5, a=none) }}", "   x|1  |2.50|None"),
        ("{{ '{0[b]}{1[0]}'.format(map, list) }}", "13"),
        ("{{ '{!r}'.format('a') }}", "a"),
        ("{{ map.get('b') }}", 1),
        ("{{ map.get('z') }}", None),
        ("{{ map.keys() }}", ["b", "a"]),
        ("{{ map.values() }}", [1, 2]),
        ("{{ list.index(1) }}", 1),
        ("{{ list.count(3) }}", 1),
        ("{{ (1.0).is_integer() }}", True),
        ("{{ (0 | to_datetime).isoformat() }}", "1970-01-01T00:00:00+00:00"),
        ("{{ ((60 | to_datetime) - (0 | to_datetime)).total_seconds() }}", 60.0),
        ("{{ ((60 | to_datetime) - (0 | to_datetime)).seconds }}", 60),
    ],
)
def test_functions_of_values(text: str, value: Any) -> None:
    assert compile_template(text).render(SCOPE) == value

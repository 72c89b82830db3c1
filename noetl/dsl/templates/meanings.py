"""What filters and tests of templates do, for the editor and the page of the reference: one source for both.

Each has a sentence and an example, which is a template over nothing; what an example gives is computed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from noetl.dsl.templates.template import compile_template


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one filter or test does."""

    text: str
    example: str  # an expression

    @property
    def gives(self) -> str:
        """What the example gives, as JSON."""
        return json.dumps(compile_template(f"{{{{ {self.example} }}}}").render({}), ensure_ascii=False)

    @property
    def shown(self) -> str:
        """The sentence and the example, in Markdown."""
        return f"{self.text}\n\n`{self.example}` gives `{self.gives}`"


_DEFAULT = Meaning(
    "the value, or another where it is missing; with `true` behind it also where it is null, empty or 0",
    "none | default('x', true)",
)
_LENGTH = Meaning("how many items or characters it has", "[1, 2, 3] | length")
_ESCAPE = Meaning("the text with `<`, `>`, `&` and quotes written for HTML", "'a < b' | escape")

FILTERS: Final[Mapping[str, Meaning]] = {
    "abs": Meaning("the number without its sign", "-3 | abs"),
    "attr": Meaning("a field by its name", "{'a': 1} | attr('a')"),
    "b64decode": Meaning("the text that Base64 stands for", "'aGk=' | b64decode"),
    "b64encode": Meaning("the text as Base64", "'hi' | b64encode"),
    "batch": Meaning("the items in lists of so many", "[1, 2, 3] | batch(2)"),
    "capitalize": Meaning("the first letter large, the others small", "'hELLO' | capitalize"),
    "center": Meaning("the text in the middle of so many characters", "'x' | center(5)"),
    "count": _LENGTH,
    "d": _DEFAULT,
    "default": _DEFAULT,
    "dictsort": Meaning("the pairs of a mapping by key, or by `by='value'`", "{'b': 1, 'a': 2} | dictsort"),
    "e": _ESCAPE,
    "escape": _ESCAPE,
    "filesizeformat": Meaning("a number of bytes in words", "1500000 | filesizeformat"),
    "first": Meaning("the first item", "[3, 1] | first"),
    "float": Meaning("the number of a text, or 0.0; another default may be given", "'1.5' | float"),
    "forceescape": Meaning("as escape, also what is marked as safe", "'<' | forceescape"),
    "format": Meaning("the text with values put into its %s, %d and the like", "'%s: %d' | format('a', 3)"),
    "fromjson": Meaning("the value that a JSON text stands for", "'[1, 2]' | fromjson"),
    "groupby": Meaning(
        "the items by what they have under a key: pairs of that and of their list",
        "[{'k': 'a', 'n': 1}, {'k': 'a', 'n': 2}] | groupby('k')",
    ),
    "indent": Meaning("the lines but the first moved to the right", "'a\\nb' | indent(2)"),
    "int": Meaning("the whole number of a text or number, or 0; another default may be given", "'42' | int"),
    "items": Meaning("the pairs of a mapping", "{'a': 1} | items | list"),
    "jmespath": Meaning(
        "what a JMESPath expression selects", "{'a': [{'b': 1}, {'b': 2}]} | jmespath('a[*].b')"
    ),
    "join": Meaning("the items as one text, with another between them", "['a', 'b'] | join(', ')"),
    "last": Meaning("the last item", "[3, 1] | last"),
    "length": _LENGTH,
    "list": Meaning("the items as a list", "'ab' | list"),
    "lower": Meaning("all letters small", "'Ab' | lower"),
    "map": Meaning(
        "of each item a field, or what a filter gives", "[{'n': 1}, {'n': 2}] | map(attribute='n') | list"
    ),
    "max": Meaning("the largest item; `attribute=` says by what", "[3, 1] | max"),
    "min": Meaning("the smallest item; `attribute=` says by what", "[3, 1] | min"),
    "pprint": Meaning("the value as Python writes it", "{'a': 1} | pprint"),
    "regex_replace": Meaning("the text with what matches replaced", "'a1b2' | regex_replace('[0-9]', '-')"),
    "regex_search": Meaning(
        "what matches first, or a group of it; null where nothing does",
        "'order 17' | regex_search('([a-z]+) ([0-9]+)', 2)",
    ),
    "reject": Meaning("the items for which a test does not hold", "[1, 2, 3] | reject('odd') | list"),
    "rejectattr": Meaning(
        "the items for whose field a test does not hold",
        "[{'n': 1}, {'n': 2}] | rejectattr('n', 'eq', 1) | list",
    ),
    "replace": Meaning("the text with a part replaced wherever it is", "'a-b-c' | replace('-', '.')"),
    "reverse": Meaning("the items or characters from the last to the first", "[1, 2] | reverse | list"),
    "round": Meaning("the number with so many digits; `'ceil'` and `'floor'` say how", "2.345 | round(1)"),
    "safe": Meaning("the text, marked as one that escape leaves alone", "'<' | safe"),
    "select": Meaning("the items for which a test holds", "[1, 2, 3] | select('odd') | list"),
    "selectattr": Meaning(
        "the items for whose field a test holds", "[{'n': 1}, {'n': 2}] | selectattr('n', 'gt', 1) | list"
    ),
    "sha256": Meaning("the SHA-256 of the text, in hexadecimal", "('hi' | sha256)[:12]"),
    "slice": Meaning("the items dealt into so many lists", "[1, 2, 3] | slice(2) | list"),
    "sort": Meaning(
        "the items in order; `attribute=` says by what, `reverse=true` downwards", "[3, 1] | sort"
    ),
    "sql_literal": Meaning(
        "the value as SQL writes it, for statements without parameters", '"it\'s" | sql_literal'
    ),
    "string": Meaning("the value as text", "1.5 | string"),
    "striptags": Meaning("the text without the tags of HTML", "'<b>a</b>' | striptags"),
    "sum": Meaning("the items added up; `attribute=` says what of them", "[1, 2] | sum"),
    "title": Meaning("every word with a large letter", "'a tale' | title"),
    "to_datetime": Meaning(
        "the moment of an ISO text, of a text in a given format, or of seconds since 1970; UTC by default",
        "'01/03/2026' | to_datetime('%d/%m/%Y')",
    ),
    "tojson": Meaning("the value as JSON text", "{'a': [1, none]} | tojson"),
    "trim": Meaning("the text without blanks, or the given characters, at its ends", "'  a ' | trim"),
    "truncate": Meaning("the text, cut to so many characters", "'abcdefgh' | truncate(5, true, '…', 0)"),
    "unique": Meaning("each item once, the first of those that are alike", "[1, 2, 1] | unique | list"),
    "upper": Meaning("all letters large", "'Ab' | upper"),
    "urlencode": Meaning("the text, or the pairs of a mapping, for an address", "{'q': 'a b'} | urlencode"),
    "urlize": Meaning("the text with its addresses as links of HTML", "'http://a.example' | urlize"),
    "wordcount": Meaning("how many words it has", "'a short tale' | wordcount"),
    "wordwrap": Meaning("the text in lines of so many characters", "'one two' | wordwrap(3)"),
    "xmlattr": Meaning("a mapping as attributes of XML", "{'a': 1} | xmlattr"),
}

_EQ = Meaning("equal to another value", "1 is eq 1")
_NE = Meaning("not equal to another value", "1 is ne 2")
_LT = Meaning("less than another value", "1 is lt 2")
_LE = Meaning("less than another value, or equal", "1 is le 1")
_GT = Meaning("greater than another value", "2 is gt 1")
_GE = Meaning("greater than another value, or equal", "1 is ge 1")

TESTS: Final[Mapping[str, Meaning]] = {
    **dict.fromkeys(("==", "eq", "equalto"), _EQ),
    **dict.fromkeys(("!=", "ne"), _NE),
    **dict.fromkeys(("<", "lt", "lessthan"), _LT),
    **dict.fromkeys(("<=", "le"), _LE),
    **dict.fromkeys((">", "gt", "greaterthan"), _GT),
    **dict.fromkeys((">=", "ge"), _GE),
    "boolean": Meaning("true or false", "true is boolean"),
    "defined": Meaning("there", "a.b is defined"),
    "divisibleby": Meaning("divided by a number without a rest", "6 is divisibleby 3"),
    "escaped": Meaning("a text that was escaped", "'<' is escaped"),
    "even": Meaning("an even number", "2 is even"),
    "false": Meaning("false itself", "0 is false"),
    "filter": Meaning("the name of a filter", "'tojson' is filter"),
    "float": Meaning("a number with a fraction", "1.5 is float"),
    "in": Meaning("an item of a list, a key of a mapping, a part of a text", "1 is in [1, 2]"),
    "integer": Meaning("a whole number", "1 is integer"),
    "iterable": Meaning("something with items or characters", "'ab' is iterable"),
    "lower": Meaning("a text whose letters are small", "'ab' is lower"),
    "mapping": Meaning("a mapping", "{'a': 1} is mapping"),
    "none": Meaning("null", "none is none"),
    "number": Meaning("a number", "1.5 is number"),
    "odd": Meaning("an odd number", "3 is odd"),
    "sameas": Meaning("the very same value", "none is sameas none"),
    "sequence": Meaning("something with items by number: a list, a text", "[1] is sequence"),
    "string": Meaning("a text", "'a' is string"),
    "test": Meaning("the name of a test", "'odd' is test"),
    "true": Meaning("true itself", "1 is true"),
    "undefined": Meaning("not there", "a.b is undefined"),
    "upper": Meaning("a text whose letters are large", "'AB' is upper"),
}


HEAD = """\
# Filters and tests

What stands behind `|` and `is` in [templates](templates.md). Most are Jinja's own; all are bounded, and none
knows the clock, randomness or files.

## Filters
"""
TESTS_HEAD = """
## Tests

`is not` asks for the opposite. `select`, `reject`, `selectattr` and `rejectattr` take the name of a test as a
text.
"""


def reference() -> str:
    """The page of the reference, in Markdown."""
    return "\n".join([HEAD, *_table("filter", FILTERS), TESTS_HEAD, *_table("test", TESTS), ""])


def _table(what: str, meanings: Mapping[str, Meaning]) -> list[str]:
    same: dict[Meaning, list[str]] = {}
    for name, meaning in meanings.items():
        same.setdefault(meaning, []).append(f"`{name}`")
    rows = [
        f"| {', '.join(names)} | {meaning.text} | `{_cell(meaning.example)}` | `{_cell(meaning.gives)}` |"
        for meaning, names in same.items()
    ]
    return [f"| {what} | gives | example | which is |", "|---|---|---|---|", *rows]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

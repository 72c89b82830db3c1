"""Names and marks of a statement as a driver wants them, with the values in its order."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.tools.parts.sql import Params
from noetl.tools.parts.statements import tokens

# How each style of PEP 249 marks a value, by its name and its number; `dollar` is PostgreSQL's own.
MARKS: dict[str, Callable[[str, int], str]] = {
    "qmark": lambda name, number: "?",
    "format": lambda name, number: "%s",
    "numeric": lambda name, number: f":{number}",
    "dollar": lambda name, number: f"${number}",
    "named": lambda name, number: f":{name}",
    "pyformat": lambda name, number: f"%({name})s",
}
Values = list[Json] | dict[str, Json]


class Binding:
    """What one driver wants: the style of its marks, and what it cannot be given as a value."""

    def __init__(
        self, style: str, *, escapes: bool = False, writes_null: bool = False, nested: bool = False
    ) -> None:
        self.style, self.escapes, self.writes_null = style, escapes, writes_null
        self.value: Callable[[Json], Json] = _as_it_is if nested else bindable
        self.mark = MARKS[style]

    def bind(self, statement: str, params: Params | None, used: int = 0) -> tuple[str, Values | None, int]:
        """The text to send, its values, and how many of a list are used up by now."""
        if params is None:
            return statement, None, used
        given = params if isinstance(params, dict) else {f"p{n}": each for n, each in enumerate(params, 1)}
        pieces: list[str] = []
        order: list[str] = []
        start = 0
        for first, last, name in _places(statement, self.escapes, params, used):
            used += isinstance(params, list)
            pieces += [self._text(statement[start:first]), self._placed(name, given, order)]
            start = last
        rest = statement[start:]
        if not order:
            return "".join([*pieces, rest]), None, used
        return "".join([*pieces, self._text(rest)]), self._given(given, order), used

    def _placed(self, name: str, values: Mapping[str, Json], order: list[str]) -> str:
        if values[name] is None and self.writes_null:
            return "null"
        if self.style in ("qmark", "format") or name not in order:
            order.append(name)
        return self.mark(name, order.index(name) + 1)

    def _text(self, text: str) -> str:
        """What stands between the marks; a percent sign would be one."""
        return text.replace("%", "%%") if self.style in ("format", "pyformat") else text

    def _given(self, values: Mapping[str, Json], order: list[str]) -> Values:
        if self.style in ("named", "pyformat"):
            return {name: self.value(values[name]) for name in order}
        return [self.value(values[name]) for name in order]


def _places(statement: str, escapes: bool, params: Params, used: int) -> Iterator[tuple[int, int, str]]:
    """Where values stand, and the name of each; Failed when one is not given."""
    depth = 0
    for kind, first, last in tokens(statement, escapes):
        if kind == "bracket":
            depth += 1 if statement[first] == "[" else -1
        if kind == "mark" and isinstance(params, list):
            used += 1
            if used > len(params):
                raise Failed("input", f"the SQL takes at least {used} values, but params has {len(params)}")
            yield first, last, f"p{used}"
        elif kind == "name" and isinstance(params, dict):
            name = statement[first + 1 : last]
            if name in params:
                yield first, last, name
            elif depth == 0:  # inside brackets it is an array slice such as a[1:n]
                known = ", ".join(params) or "nothing"
                raise Failed("input", f"the SQL names :{name}, but params has only: {known}")


def _as_it_is(value: Json) -> Json:
    return value


def bindable(value: Json) -> Json:
    """Lists and mappings bind as JSON text, which every database takes that has no types for them."""
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else value

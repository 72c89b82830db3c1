"""The bounds of a template, as counts, and the error that says one was passed.

Work is counted in steps: one node evaluated, one item made or looked at, or eight characters. Counts, not
clocks, so that a template that fits here fits on every machine. What a step is spent on is decided elsewhere.
"""

from typing import ClassVar

from noetl.errors import NoetlError

SOURCE_CHARS = 16 * 1024
"""The text of one template."""
DEPTH = 64
"""Nodes of an expression inside one another."""
BRACKETS = 32
"""Brackets of an expression inside one another."""
LOOP_DEPTH = 16
"""Loops inside one another."""
NODES = 4_000
"""Nodes of one template."""
COMPARISONS_CHAINED = 8
"""Signs of one comparison, as in `a < b < c`."""
WORK = 500_000
"""Steps of one rendering."""
RESULT_NODES = 2_000_000
"""Steps it takes to look through a result that was computed; a plain path is not looked through."""
TEXT_CHARS = 1024 * 1024
"""One text made by a template, the output of a text template included."""
VALUE_DEPTH = 128
"""Lists and mappings of a computed value inside one another."""
INT_BITS = 4096
"""One whole number made by a template."""
RANGE_ITEMS = 100_000
"""Items of `range`, of a batch or of a slice."""
FORMAT_WIDTH = 1_000
"""A width or precision in a format."""

CHARS_PER_STEP = 8


class TemplateError(NoetlError):
    """The template cannot be used."""

    code: ClassVar[str] = "template"

    def __init__(
        self,
        message: str = "",
        *,
        hint: str | None = None,
        line_offset: int = 0,
        missing: str | None = None,
        where: tuple[str | int, ...] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.line_offset = line_offset
        """The line inside the template's text, counted from 0."""
        self.missing = missing
        """The dotted path whose absence is the error, when that is what it is."""
        self.where = where
        """The place of the template inside the value that was rendered."""

    def at(self, where: tuple[str | int, ...]) -> "TemplateError":
        """The same error with its place in front."""
        place = ".".join(map(str, where))
        return TemplateError(
            f"{place}: {self.message}",
            hint=self.hint,
            line_offset=self.line_offset,
            missing=self.missing,
            where=where,
        )


class Budget:
    """The steps that are left for one piece of work."""

    __slots__ = ("_what", "left", "total")

    def __init__(self, total: int = WORK, what: str = "the template") -> None:
        self.total = total
        self.left = total
        self._what = what

    def spend(self, steps: int) -> None:
        """Take steps; an error when there are not enough left."""
        self.left -= steps
        if self.left < 0:
            raise TemplateError(
                f"{self._what} takes more than {self.total:,} steps of work",
                hint="do this in a python task and read its output here",
            )

    def spend_text(self, chars: int) -> None:
        """Take the steps of making a text of so many characters; an error when it is too long."""
        refuse_long(chars)
        self.spend(1 + chars // CHARS_PER_STEP)


def refuse_long(chars: int) -> None:
    """An error when a text is longer than a template may make."""
    if chars > TEXT_CHARS:
        raise TemplateError(
            f"the template makes a text of {_short(chars)} characters, at most {TEXT_CHARS:,} are allowed",
            hint="do this in a python task and read its output here",
        )


def refuse_above(limit: int, number: object, what: str) -> None:
    """An error when a number that scales the work is above its limit."""
    if isinstance(number, int) and abs(number) > limit:
        raise TemplateError(f"{what} of {_short(number)} is too large, at most {limit:,} is allowed")


def _short(number: int) -> str:
    return f"{number:,}" if number.bit_length() < 128 else f"2^{number.bit_length() - 1} or more"

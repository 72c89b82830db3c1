"""The keywords that ask something of a value itself. None of them applies another schema."""

import math
import re
from collections.abc import Callable, Mapping, Sized
from fractions import Fraction
from typing import TypeGuard

from noetl.dsl.json_schema.document import Document
from noetl.dsl.json_schema.limits import CHARS_PER_STEP, SchemaError
from noetl.dsl.json_schema.run import Check, Run, excerpt, plain_key
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.patterns import compiled_pattern
from noetl.json_value import Json


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[Json], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: (
        value.is_integer()
        if isinstance(value, float)
        else isinstance(value, int) and value is not True and value is not False
    ),
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def types(document: Document, type_or_types: str | list[str]) -> Check:
    """`type`: one, or one of several."""
    names = [type_or_types] if isinstance(type_or_types, str) else list(type_or_types)
    tests = [_TYPES[name] for name in names]
    if document.integers_only:
        whole = lambda value: isinstance(value, int) and not isinstance(value, bool)  # noqa: E731
        tests = [whole if name == "integer" else test for name, test in zip(names, tests, strict=True)]
    quoted = ", ".join(f'"{name}"' for name in names)
    words = f"type{'s' if len(names) > 1 else ''} {quoted}"
    if len(tests) == 1:
        (test,) = tests
        return lambda value, run: test(value) or run.fail(f"{excerpt(value)} is not of {words}")
    return lambda value, run: (
        any(test(value) for test in tests) or run.fail(f"{excerpt(value)} is not of {words}")
    )


def enum(document: Document, values: list[Json]) -> Check:
    """`enum`."""
    own = Run(values, collecting=False)
    keys = {plain_key(item, own) for item in values}
    words = " or ".join(
        part
        for part in (", ".join(map(excerpt, values[:-1][:10])), excerpt(values[-1]) if values else "")
        if part
    )
    return lambda value, run: (
        plain_key(value, run) in keys or run.fail(f"{excerpt(value)} is not one of {words}")
    )


def const(document: Document, constant: Json) -> Check:
    """`const`."""
    key = plain_key(constant, Run(constant, collecting=False))
    return lambda value, run: plain_key(value, run) == key or run.fail(f"{excerpt(constant)} was expected")


def _number(fails: Callable[[float, float], bool], words: str) -> Callable[[Document, Json], Check]:
    def keyword(document: Document, limit: Json) -> Check:
        if not _is_number(limit):
            return lambda value, run: True
        return lambda value, run: (
            not (_is_number(value) and fails(value, limit))
            or run.fail(f"{excerpt(value)} is {words} {excerpt(limit)}")
        )

    return keyword


def multiple_of(document: Document, factor: float) -> Check:
    """`multipleOf`, exact for decimals: 0.3 is a multiple of 0.1."""
    whole = Fraction(str(factor))
    if whole <= 0:
        raise ValueError("multipleOf must be above 0")

    def check(value: Json, run: Run) -> bool:
        if not _is_number(value):
            return True
        if isinstance(value, float) and not math.isfinite(value):
            return run.fail(f"{excerpt(value)} is not a multiple of {excerpt(factor)}")
        exact = Fraction(value if isinstance(value, int) else str(value))
        return exact % whole == 0 or run.fail(f"{excerpt(value)} is not a multiple of {excerpt(factor)}")

    return check


def _size(
    kind: type[Sized], fails: Callable[[int, int], bool], words: str, unit: str
) -> Callable[..., Check]:
    def keyword(document: Document, limit: int) -> Check:
        units = unit if limit == 1 else {"property": "properties"}.get(unit, f"{unit}s")
        return lambda value, run: (
            not (isinstance(value, kind) and fails(len(value), limit))
            or run.fail(f"{excerpt(value)} {words} {int(limit)} {units}")
        )

    return keyword


def usable_pattern(text: str) -> re.Pattern[str]:
    """A pattern of a schema, compiled; SchemaError when it cannot be used."""
    try:
        return compiled_pattern(text, False)
    except TemplateError as error:
        raise SchemaError(error.message, hint=error.hint) from None


def pattern(document: Document, text: str) -> Check:
    """`pattern`."""
    usable = usable_pattern(text)

    def check(value: Json, run: Run) -> bool:
        if not isinstance(value, str):
            return True
        run.spend(2 + len(value) // CHARS_PER_STEP)
        return usable.search(value) is not None or run.fail(
            f"{excerpt(value)} does not match {excerpt(text)}"
        )

    return check


def required(document: Document, names: list[str] | bool) -> Check:
    """`required`."""
    if not isinstance(names, list):  # a boolean, of the first drafts
        return lambda value, run: True

    def check(value: Json, run: Run) -> bool:
        if not isinstance(value, dict):
            return True
        fits = True
        for name in names:
            if name not in value:
                fits = run.fail(f"{excerpt(name)} is a required property")
                if run.enough():
                    break
        return fits

    return check


def dependent_required(document: Document, needs: dict[str, list[str]]) -> Check:
    """`dependentRequired`."""
    inner = [(name, required(document, names)) for name, names in needs.items()]
    return lambda value, run: (
        not isinstance(value, dict) or all(check(value, run) for name, check in inner if name in value)
    )


def unique_items(document: Document, unique: Json) -> Check:
    """`uniqueItems`."""

    def check(value: Json, run: Run) -> bool:
        if not unique or not isinstance(value, list):
            return True
        keys = {plain_key(item, run) for item in value}
        return len(keys) == len(value) or run.fail(f"{excerpt(value)} has non-unique elements")

    return check


def format_of(document: Document, name: str) -> Check:
    """`format`, which only the older drafts hold a value against."""
    if not document.old:
        return lambda value, run: True
    import jsonschema_rs

    validator = jsonschema_rs.Draft7Validator({"format": name}, validate_formats=True)

    def check(value: Json, run: Run) -> bool:
        if not isinstance(value, str):
            return True
        run.spend(len(value) // CHARS_PER_STEP)
        return validator.is_valid(value) or run.fail(f"{excerpt(value)} is not a {excerpt(name)}")

    return check


# Each takes what stands under its keyword in the form it ought to have; another form raises.
ASSERTIONS: Mapping[str, Callable[..., Check]] = {
    "type": types,
    "enum": enum,
    "const": const,
    "minimum": _number(lambda value, limit: value < limit, "less than the minimum of"),
    "maximum": _number(lambda value, limit: value > limit, "greater than the maximum of"),
    "exclusiveMinimum": _number(lambda value, limit: value <= limit, "less than or equal to the minimum of"),
    "exclusiveMaximum": _number(
        lambda value, limit: value >= limit, "greater than or equal to the maximum of"
    ),
    "multipleOf": multiple_of,
    "minLength": _size(str, lambda size, limit: size < limit, "is shorter than", "character"),
    "maxLength": _size(str, lambda size, limit: size > limit, "is longer than", "character"),
    "pattern": pattern,
    "format": format_of,
    "minItems": _size(list, lambda size, limit: size < limit, "has less than", "item"),
    "maxItems": _size(list, lambda size, limit: size > limit, "has more than", "item"),
    "uniqueItems": unique_items,
    "minProperties": _size(dict, lambda size, limit: size < limit, "has less than", "property"),
    "maxProperties": _size(dict, lambda size, limit: size > limit, "has more than", "property"),
    "required": required,
    "dependentRequired": dependent_required,
}

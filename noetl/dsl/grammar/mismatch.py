"""Why a value is not of a tool kind's Python type, in the words of the language. Nothing else lives here."""

import re

from noetl.dsl.templates.syntax import is_template
from noetl.dsl.tool_kind import Field
from noetl.dsl.yaml.tree import Value

_WORDS = {
    "str": "a text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "bytes": "base64 text",
    "datetime": "a date and time",
}
_EXPECTED = re.compile(r"Expected `([^`]+)`(?:, got `[^`]+`)?(.*)")
_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `([^`]+)`")


def mismatch(field: Field, value: Value) -> str | None:
    """What a value would have to be instead; None when it fits, as far as its templates let one see."""
    import msgspec

    try:
        msgspec.convert(value, field.type)
    except msgspec.ValidationError as error:
        text = str(error)
        place = _PLACE.search(text)
        if place and _is_rendered(value, place[1]):
            return None
        problem = _in_words(_PLACE.sub("", text), field)
        return f"its '{place[1]}' {problem}" if place and place[1] else problem
    return None


def _is_rendered(value: Value, place: str) -> bool:
    """Whether a template stands at a place inside a value: what it will be is not known."""
    if "[...]" in place:  # some value of a mapping, and not which
        return _holds_template(value)
    for key, index in _STEPS.findall(place):
        if index and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        elif key and isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return False
    return isinstance(value, str) and is_template(value)


def _holds_template(value: Value) -> bool:
    if isinstance(value, str):
        return is_template(value)
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_holds_template, inside))


def _in_words(text: str, field: Field) -> str:
    if text.startswith("Invalid enum value"):
        words = _choices(field)
        return f"must be one of {', '.join(words)}" if words else "must be another word"
    if found := _FIELD.match(text):
        return f"needs '{found[2]}'" if found[1].startswith("missing") else f"takes no '{found[2]}'"
    if "matching regex" in text:
        return "is not written as it has to be"
    if found := _EXPECTED.match(text):
        options = [_WORDS.get(name, name) for name in found[1].split(" | ") if name != "null"]
        return f"must be {' or '.join(options)}{found[2]}"
    return f"cannot be read: {text[:1].lower()}{text[1:]}"


def _choices(field: Field) -> list[str]:
    """The words a field of few words takes."""
    import msgspec

    schema = msgspec.json.schema(field.type)
    options = [schema, *schema.get("anyOf", ())]
    return [str(word) for option in options for word in option.get("enum", ())]

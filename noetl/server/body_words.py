"""What is wrong with the body of a request, in words: the place, what it has to be, which words it may be.

No request is read here and nothing is decided; the shape has refused the body already.
"""

import re
from typing import Any

import msgspec

from noetl.ports.schedule import KEY_PATTERN, NAME_PATTERN, SPAN_PATTERN

PATTERNS = {
    NAME_PATTERN: "up to 64 letters, digits, _ . and -, with a letter or _ first",
    KEY_PATTERN: "up to 64 letters, digits and _, with a letter or _ first",
    SPAN_PATTERN: "a length of time, as in 30s, 5m, 2h or 1d",
}
_PLACE = re.compile(r"^(?P<what>.*) - at `\$\.?(?P<place>[^`]*)`$", re.DOTALL)
_STEP = re.compile(r"\[(\d+)\]|\[\.\.\.\]|([^.\[\]]+)")
_TYPES = (
    ("`str`", "a text"),
    ("`int`", "a whole number"),
    ("`bool`", "true or false"),
    ("`array`", "a list"),
)


def body_words(error: Exception, shape: Any) -> str:
    """Which part of a body does not fit its shape, and what would."""
    found = _PLACE.match(str(error))
    if found is None:
        return f"the body does not fit: {error}"
    place = found["place"] or "the body"
    node = _node(shape, found["place"])
    if "enum" in node:
        return f"{place} has to be one of {', '.join(map(str, node['enum']))}"
    if node.get("pattern") in PATTERNS and "regex" in found["what"]:
        return f"{place} has to be {PATTERNS[node['pattern']]}"
    what = found["what"].replace("Expected ", "expected ")
    for name, word in _TYPES:
        what = what.replace(name, word)
    return f"{place} does not fit: {what}"


def _node(shape: Any, place: str) -> dict[str, Any]:
    """The part of a shape's JSON Schema that a place is described by; empty where there is none."""
    whole = msgspec.json.schema(shape)
    nodes = _open(whole, whole)
    for step in _STEP.finditer(place):
        key = step[2]
        inner = [node.get("properties", {}).get(key) if key else node.get("items") for node in nodes]
        nodes = [each for node in inner if isinstance(node, dict) for each in _open(node, whole)]
    return next((node for node in nodes if node.get("type") != "null"), {})


def _open(node: dict[str, Any], whole: dict[str, Any]) -> list[dict[str, Any]]:
    """A node with its references followed and its alternatives apart."""
    if "$ref" in node:
        return _open(whole["$defs"][node["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in node:
        return [each for part in node["anyOf"] for each in _open(part, whole)]
    return [node]

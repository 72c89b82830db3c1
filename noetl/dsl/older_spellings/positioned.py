"""The editable tree of a positioned one, and back: `load` rewrites older spellings on it without their text.

A node that a rewrite made stands where the node around it does, so that findings point at the author's text.
"""

from noetl.dsl.diagnostic import NOWHERE, Mark
from noetl.dsl.yaml.editable_tree import Alias, Collection, Entry, Node, Scalar
from noetl.dsl.yaml.scalar import NotANumber, read_plain
from noetl.dsl.yaml.tree import Map, Seq
from noetl.json_value import Json


def editable(value: Json, mark: Mark) -> Node:
    """The editable node of a value that stands at a place."""
    if isinstance(value, Map):
        node = Collection("map", mark=value.mark)
        for key, item in value.items():
            node.entries.append(Entry(editable(item, value.at(key)), key, key, mark=value.at_key(key)))
        return node
    if isinstance(value, Seq):
        node = Collection("list", mark=value.mark)
        for index, item in enumerate(value):
            node.entries.append(Entry(editable(item, value.at(index)), mark=value.at(index)))
        return node
    if isinstance(value, str):
        return Scalar(value, value, "block", mark=mark)
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return Scalar(text, text, mark=mark, data=value)


def positioned(node: Node, around: Mark = NOWHERE) -> Json:
    """The positioned value of an editable node; of two equal keys the first counts."""
    mark = place(node.mark, around)
    if isinstance(node, Scalar):
        return scalar_value(node)
    if isinstance(node, Alias):
        return node.text
    if node.kind == "list":
        items = Seq(mark=mark)
        for entry in node.entries:
            at = place(entry.value.mark, place(entry.mark, mark))
            items.add(positioned(entry.value, at), at)
        return items
    values = Map(mark=mark)
    for entry in node.entries:
        if entry.key is not None and entry.key not in values:
            key_mark = place(entry.mark, mark)
            at = place(entry.value.mark, key_mark)
            values.put(entry.key, positioned(entry.value, at), key_mark=key_mark, value_mark=at)
    return values


def scalar_value(scalar: Scalar) -> Json:
    """What a scalar says as data."""
    if scalar.data is not None:
        return scalar.data
    if scalar.style != "plain":
        return scalar.value
    try:
        return read_plain(scalar.text) if scalar.text else None
    except NotANumber:
        return scalar.value


def place(mark: Mark, around: Mark) -> Mark:
    """Where a node stands: a new one stands where the node around it does."""
    return around if mark is NOWHERE else mark

"""Cutting and joining positioned trees without losing where a node stood. No knowledge of the language."""

from collections.abc import Callable, Iterator

from noetl.dsl.diagnostic import Mark
from noetl.dsl.yaml.tree import Map, Seq, Value

DEPTH_MAX = 200  # far above any playbook, far below what would exhaust a recursive reader


def copy_map(node: Map) -> Map:
    """A shallow copy that keeps every mark."""
    fresh = Map(mark=node.mark)
    fresh.update(node)
    fresh.key_marks = node.key_marks.copy()
    fresh.value_marks = node.value_marks.copy()
    return fresh


def copy_seq(node: Seq) -> Seq:
    """A shallow copy that keeps every mark."""
    fresh = Seq(node, node.mark)
    fresh.item_marks = list(node.item_marks)
    return fresh


def each(items: Seq, change: Callable[[Value], Value]) -> Seq:
    """A list whose items are changed, each where it stood."""
    fresh = Seq(map(change, items), items.mark)
    fresh.item_marks = list(items.item_marks)
    return fresh


def with_value(node: Map, key: str, value: Value) -> Map:
    """A copy with another value under a key, at the place the key had."""
    fresh = copy_map(node)
    put(fresh, key, value)
    return fresh


def put(node: Map, key: str, value: Value) -> None:
    """Set an entry at the place it has, or at the map's."""
    node.put(key, value, key_mark=node.at_key(key), value_mark=node.at(key))


def child_map(node: Map, key: str) -> Map | None:
    """A copy of the map under a key, put in its place; a new one if there is none, None if it is no map."""
    value = node.get(key)
    if key in node and not isinstance(value, Map):
        return None
    fresh = Map(mark=node.at(key)) if value is None else copy_map(value)
    put(node, key, fresh)
    return fresh


def adopt(value: Value, path: str = "") -> Value:
    """A positioned tree of plain data: every node on line 1, with its pointer."""
    if isinstance(value, dict):
        return _adopt_map(value, path)
    if isinstance(value, list | tuple):
        seq = Seq(mark=Mark(1, 1, path))
        for index, item in enumerate(value):
            where = f"{path}/{index}"
            seq.add(adopt(item, where), Mark(1, 1, where))
        return seq
    return value


def _adopt_map(value: dict[str, Value], path: str) -> Map:
    fresh = Map(mark=Mark(1, 1, path))
    for key, item in value.items():
        where = f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"
        mark = Mark(1, 1, where)
        fresh.put(str(key), adopt(item, where), key_mark=mark, value_mark=mark)
    return fresh


def too_deep(value: Value, limit: int = DEPTH_MAX) -> bool:
    """Whether plain data is nested beyond what recursive readers are given."""
    level = [value]
    for _ in range(limit):
        level = [child for node in level for child in _children(node)]
        if not level:
            return False
    return True


def _children(node: Value) -> Iterator[Value]:
    if isinstance(node, dict):
        yield from node.values()
    elif isinstance(node, list | tuple):
        yield from node

"""Items of a list whose text comes piece by piece are the items of the whole text."""

import random
from typing import Any

import msgspec
import pytest

from noetl.core.values.item_scan import JsonItems, Lines, NoItems, NotItems, Scan, Wanted, WantedItems

ITEMS: list[Any] = [
    {"id": 1, "s": 'a "quoted" } ] , \\ text', "deep": [[], {}, [{"x": [1, 2]}]]}, "ü€😀\n", 12345, -1.5e10, 1e-7, 0,
    None, True, False, [], {}, "", 123456789012345678901234567890, {"k": "v" * 70},
]  # fmt: skip


def taken(scan: Scan, body: bytes, size: int, wanted: Wanted = Wanted()) -> tuple[list[Any], int]:  # noqa: B008
    items = WantedItems(scan, wanted, msgspec.json.decode)
    found = [item for at in range(0, len(body), size) for item in items.feed(body[at : at + size])]
    return found + items.feed(b"", last=True), items.total


SPELLINGS = {
    "compact": msgspec.json.encode(ITEMS),
    "indented": msgspec.json.format(msgspec.json.encode(ITEMS), indent=2) + b"\n",
    "escaped": msgspec.json.encode(ITEMS).replace("😀".encode(), b"\\ud83d\\ude00"),
}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
@pytest.mark.parametrize("spelling", sorted(SPELLINGS))
def test_a_list_is_found_wherever_its_text_is_cut(spelling: str, size: int) -> None:
    body = SPELLINGS[spelling]
    assert taken(JsonItems(), body, size) == (ITEMS, len(ITEMS))
    around = b'{"a": [1, "]"], "rows" : ' + body + b', "b": {"rows": [0]}}'
    assert taken(JsonItems("rows"), around, size) == (ITEMS, len(ITEMS))
    one_by_one = b"\n".join(map(msgspec.json.encode, ITEMS)) + b"\n"
    assert taken(JsonItems(bare=True), one_by_one, size) == (ITEMS, len(ITEMS))
    assert taken(Lines(), one_by_one[:-1], size) == (ITEMS, len(ITEMS))


@pytest.mark.parametrize("first, end", [(0, 0), (0, 3), (2, 5), (5, None), (99, None), (99, 100)])
def test_only_the_wanted_items_are_kept_and_all_are_counted(first: int, end: int | None) -> None:
    wanted = Wanted(first, end)
    lines = b"\n".join(map(msgspec.json.encode, ITEMS))
    for scan, body in ((JsonItems(), SPELLINGS["compact"]), (Lines(), lines)):
        assert taken(scan, body, 5, wanted) == (ITEMS[first:end], len(ITEMS))


@pytest.mark.parametrize("body, name", [
    (b' {"a": [1]}', "dict"), (b'"[1]"', "str"), (b"12", "int"), (b"1.5", "float"), (b"true", "bool"), (b"null", "NoneType"),
])  # fmt: skip
def test_what_is_no_list_is_named(body: bytes, name: str) -> None:
    with pytest.raises(NotItems) as raised:
        taken(JsonItems(), body, 1)
    assert raised.value.type_name == name


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b'{"b": [1]}', b'{"rows": 1}', b'{"rows": [1], "rows": [2]}', b""]
)
def test_a_mapping_without_one_list_under_the_key_has_no_items(body: bytes) -> None:
    with pytest.raises(NotItems):
        taken(JsonItems("rows"), body, 2)


def test_a_list_that_is_to_stand_alone_has_no_keys_beside_it() -> None:
    assert taken(JsonItems("rows", alone=True), b'{"rows": [1]}', 4) == ([1], 1)
    with pytest.raises(NotItems):
        taken(JsonItems("rows", alone=True), b'{"rows": [1], "b": 2}', 4)


def test_what_is_known_to_be_something_else_has_no_items() -> None:
    with pytest.raises(NotItems, match="str"):
        taken(NoItems("str"), b"[1]", 1)


def test_lists_without_items_are_lists() -> None:
    assert taken(JsonItems(), b" [ ] ", 1) == ([], 0)
    assert taken(JsonItems("rows"), b'{"rows": []}', 1) == ([], 0)
    assert taken(JsonItems(bare=True), b"\n", 1) == ([], 0)


WRONG = [
    b"", b"[", b"[1", b"[1,", b"[1,]", b"[,1]", b"[1 2]", b"[1]2", b"[1]]", b"[NaN]", b"[01]", b'["a]', b'["\n"]', b"[tru]",
    b'[{"a" 1}]', b"[" + b"9" * 5000 + b"]", b"[1x" + b" " * 99 + b"]", b'["\xff"]',
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize("body", WRONG)
def test_a_list_that_is_no_json_is_an_error(body: bytes, size: int) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
        taken(JsonItems(), body, size)


@pytest.mark.parametrize(
    "body", [b'{"rows": [1]', b'{"rows": [1] 2}', b'{"rows"; [1]}', b"{1: 2}", b'{"rows": [1]} 3']
)
def test_a_mapping_that_is_no_json_is_an_error(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        taken(JsonItems("rows"), body, 3)


def test_a_line_that_is_no_json_is_an_error_wherever_it_is() -> None:
    for body in (b'{"a":1}\n{"a":\n{"a":1}', b'{"a":1}\n', b""):
        with pytest.raises(msgspec.DecodeError):
            taken(Lines(), body, 4, Wanted(0, 1) if body else Wanted())


def test_an_item_longer_than_many_pieces_is_not_read_again_with_each() -> None:
    long = {"text": "x" * 300_000, "numbers": list(range(30_000))}
    body = msgspec.json.encode([long, 1])
    assert taken(JsonItems(), body, 100) == ([long, 1], 2)


def test_whatever_is_listed_and_however_it_is_cut() -> None:
    chance = random.Random(5)

    def value(depth: int) -> Any:
        kind = chance.randrange(8 if depth < 4 else 6)
        if kind == 6:
            return [value(depth + 1) for _ in range(chance.randrange(4))]
        if kind == 7:
            return {chance.choice("ab[]{},\"'\\"): value(depth + 1) for _ in range(chance.randrange(4))}
        return chance.choice(
            [
                chance.randint(-(10**9), 10**9),
                chance.random(),
                "".join(chance.choices('a"\\[]{},\n é', k=9)),
                None,
                True,
            ]
        )

    for _ in range(300):
        items = [value(0) for _ in range(chance.randrange(8))]
        assert taken(JsonItems(), msgspec.json.encode(items), chance.randint(1, 20))[0] == items

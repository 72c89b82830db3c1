"""A worker's name shows which token it has, to a server that never heard of it."""

from noetl.adapters.link.worker_name import marked, may_bear
from noetl.ports.bearer import digest, spelled

BEARER = spelled("0" * 16, "b" * 43)


def key(secret: str) -> bytes:
    return bytes.fromhex(digest(secret))


def test_a_name_with_a_mark_is_borne_by_its_token_alone() -> None:
    name = marked("host-1-abc", BEARER)
    assert name.startswith("host-1-abc_")
    assert may_bear(name, key("b" * 43))
    assert not may_bear(name, key("c" * 43))
    assert not may_bear("other" + name, key("b" * 43))


def test_where_there_is_no_token_a_name_is_just_a_name() -> None:
    assert marked("host-1-abc", None) == "host-1-abc"
    assert may_bear("host-1-abc", key("b" * 43))
    assert may_bear(marked("host-1-abc", BEARER), None)

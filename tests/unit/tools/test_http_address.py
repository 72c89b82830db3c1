"""An address that is read the short way is what the whole way makes of it."""

import itertools

import pytest
from yarl import URL

from noetl.tools.parts.http_address import address_of

TEXTS = [
    "http://a:80/x",
    "https://a.b:443/",
    "http://127.0.0.1:8081/items",
    "http://a/?x=1",
    "http://a/b/",
    "http://a/b..c/d",
    "http://a/../b",
    "http://a/b/./c",
    "http://ä.de/x y?q=ü",
    "http://A.de/X",
    "http://a/x?y=&z",
    "http://a/x?",
    "http://a//b",
    "http://a/x?y=a+b",
    "http://a-b.c/~u/_x-",
    "http://a/%41%2f",
    "http://[::1]:8080/x",
]
PARAMS = [[], [("page", "1")], [("a b", "c&d")], [("t", ""), ("t", "2")], [("ü", "%")]]


@pytest.mark.parametrize(("text", "params"), list(itertools.product(TEXTS, PARAMS)))
def test_an_address_is_what_the_client_would_ask_for(text: str, params: list[tuple[str, str]]) -> None:
    url = URL(text).extend_query(params) if params else URL(text)
    address = address_of(text, params)
    assert address is not None
    assert (str(address), address.path) == (str(url), url.raw_path_qs)
    assert address.server.host == url.host_port_subcomponent
    assert (address.server.name, address.server.port) == (url.raw_host, url.port)
    assert address.server.tls == (url.scheme == "https")


@pytest.mark.parametrize(
    "text", ["http://me:secret@a/x", "http://a/x#part", "http://a:99999/x", "http://[x/", "http:///x"]
)
def test_others_are_left_to_the_whole_client(text: str) -> None:
    assert address_of(text, []) is None

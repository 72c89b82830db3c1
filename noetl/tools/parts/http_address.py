"""Where a plain request goes: its server, which is read once, and the path and query that are sent to it."""

import re
from dataclasses import dataclass
from functools import lru_cache

from yarl import URL

# Nothing in these is written in another way when it is sent.
_PLAIN = re.compile(r"(https?://[a-z0-9.-]+(?::[0-9]+)?)((?:/[\w~-][\w.~-]*)*/?)(\?[\w.~=&-]+)?", re.ASCII)
_PLAIN_TEXT = re.compile(r"[\w.~-]*", re.ASCII)
SERVERS_KEPT = 256
Params = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Server:
    """What is asked: by a name or number, at a port."""

    url: URL
    text: str  # how its addresses begin
    name: str
    port: int | None
    tls: bool
    host: str  # as the header says it


@dataclass(slots=True)
class Address:
    """What is asked for."""

    server: Server
    path: str  # and the query, as they are sent

    def __str__(self) -> str:
        return self.server.text + self.path


def address_of(text: str, params: Params) -> Address | None:
    """The address with its query; None when there is something about it that a whole client has to see to."""
    try:
        return _plain(text, params) or _any(text, params)
    except ValueError:
        return None


def _plain(text: str, params: Params) -> Address | None:
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    server, path, query = match.groups("")
    for name, value in params:
        if _PLAIN_TEXT.fullmatch(name) is None or _PLAIN_TEXT.fullmatch(value) is None:
            return None
        query = f"{query}&{name}={value}" if query else f"?{name}={value}"
    return Address(_server(server), f"{path or '/'}{query}")


def _any(text: str, params: Params) -> Address | None:
    url = URL(text)
    url = url.extend_query(params) if params else url
    if url.raw_user or url.raw_password or url.raw_fragment:
        return None
    return Address(_server(str(url.origin())), url.raw_path_qs)


@lru_cache(SERVERS_KEPT)
def _server(text: str) -> Server:
    url = URL(text)
    begins = str(url.origin())
    host = url.host_port_subcomponent or ""
    return Server(url, begins, url.raw_host or "", url.port, url.scheme == "https", host)

"""What a server tells a worker over the direct link without being asked, beside pushes and orders."""

import msgspec

from noetl.ports.store import ServerAddress

# The first byte of a notice: what it is.
BEAT, HINT, PUSH, ORDERS, PEERS = b"b", b"h", b"p", b"o", b"s"
PATH = "/api/v1/workers/link"


class Peers(msgspec.Struct):
    """Who this server is, and which others there are; the first thing that a worker is told."""

    server: str
    now: int
    servers: list[ServerAddress] = []

"""Names of workers that only the holder of a token can bear, so that a server that has just begun knows too.

Where no token is asked for, a name is just a name.
"""

import hmac

from noetl.ports.bearer import digest, parsed

_MARK_CHARS = 16


def marked(name: str, bearer: str | None) -> str:
    """The name of a worker with the mark of its token, when it has one."""
    token = parsed(bearer) if bearer is not None else None
    return name if token is None else f"{name}_{_mark(name, bytes.fromhex(digest(token[1])))}"


def may_bear(name: str, key: bytes | None) -> bool:
    """Whether whoever has a key may bear a name: one without a mark, or with that of the key."""
    plain, line, mark = name.rpartition("_")
    return key is None or not line or hmac.compare_digest(mark, _mark(plain, key))


def _mark(name: str, key: bytes) -> str:
    return hmac.digest(key, b"worker " + name.encode(), "sha256").hex()[:_MARK_CHARS]

"""Which versions of the protocol between workers and servers this release speaks, and how two sides agree.

Each side says the range it speaks, and both use the highest version that they share. Within a version a
message may get new fields, which whoever does not know them ignores; a new kind of message, and a field whose
meaning changes, need a new version. Nothing here knows how the ranges travel.
"""

from typing import NamedTuple

from noetl import __version__
from noetl.errors import RequestError


class ProtocolRange(NamedTuple):
    """The versions that one side speaks."""

    oldest: int
    newest: int

    def __str__(self) -> str:
        return str(self.newest) if self.oldest == self.newest else f"{self.oldest} to {self.newest}"

    def highest_shared(self, other: "ProtocolRange") -> int | None:
        """The highest version that both sides speak."""
        newest = min(self.newest, other.newest)
        return newest if newest >= max(self.oldest, other.oldest) else None


SPOKEN = ProtocolRange(1, 2)  # this release speaks its own and those of the release before it
LINES_SINCE = 2  # the version in which workers hand in what tasks print, by itself


class Peer(NamedTuple):
    """One side as an error names it."""

    name: str
    release: str
    spoken: ProtocolRange

    def __str__(self) -> str:
        release = f" (release {self.release})" if self.release else ""
        return f"{self.name}{release} speaks {self.spoken}"


class NoCommonProtocol(RequestError):
    """Worker and server share no version of their protocol."""

    code = "protocol"

    def __init__(self, message: str = "", *, hint: str | None = None, spoken: ProtocolRange = SPOKEN) -> None:
        self.spoken = spoken  # by the server
        super().__init__(message, hint=hint)


def no_common_protocol(worker: Peer, server: Peer) -> NoCommonProtocol:
    """Both ranges, and which side is to be upgraded."""
    older = "worker" if worker.spoken.newest < server.spoken.oldest else "server"
    release = (server if older == "worker" else worker).release
    return NoCommonProtocol(
        f"no common version of the worker protocol: {worker}, {server}",
        hint=f"upgrade the {older}" + (f" to release {release}, or one before it" if release else ""),
        spoken=server.spoken,
    )


def this_server(server: str, spoken: ProtocolRange) -> Peer:
    """A server of this release."""
    return Peer(f"server {server}", __version__, spoken)


def unknown_request(what: str, server: Peer, protocol: int) -> RequestError:
    """A request of a kind that is not in the version that was agreed on."""
    return RequestError(
        f"version {protocol} of the worker protocol has no request {what[:40]!r}: {server}",
        hint="upgrade the server",
    )

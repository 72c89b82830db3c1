"""How long a connection is listened to before it has said what it wants, and how many there may be.

A connection that sends nothing, or a request that does not end, holds a descriptor that somebody else needs.
What a request may ask for is the gate's business.
"""

import asyncio
import resource
from typing import Any

HEAD_S = 10.0  # from a connection's first moment, or a request's first byte, to the end of its headers
BODY_S = 120.0  # from there to the end of its body
HEAD_BYTES = 64 * 1024  # of a request that is still only headers
DESCRIPTORS_RESERVED = 128  # for stores, workers and files
CONNECTIONS_MOST = 4096


def connections_most() -> int:
    """How many connections may be open at one time: the descriptors, less what the process needs itself."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    available = CONNECTIONS_MOST if soft == resource.RLIM_INFINITY else soft - DESCRIPTORS_RESERVED
    return max(16, min(CONNECTIONS_MOST, available))


class Patience:
    """The time that one connection has left to say something; what a protocol of the server mixes in."""

    transport: Any
    connections: set[Any]
    loop: asyncio.AbstractEventLoop
    _timer: asyncio.TimerHandle | None = None
    speaking = False  # its present request has all its headers

    def connection_made(self, transport: Any) -> None:
        """Somebody is there; when there are too many, whoever has been silent for longest goes."""
        super().connection_made(transport)  # type: ignore[misc]
        self.wait(HEAD_S)
        if len(self.connections) > connections_most():
            silent = [connection for connection in self.connections if not connection.speaking]
            min(silent, key=lambda connection: connection.since, default=self).hang_up()

    def connection_lost(self, problem: Exception | None) -> None:
        self.no_wait()
        super().connection_lost(problem)  # type: ignore[misc]

    def wait(self, seconds: float) -> None:
        """Hang up unless something happens in time."""
        self.no_wait()
        self.since = self.loop.time()
        self._timer = self.loop.call_later(seconds, self.hang_up)

    def no_wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def hang_up(self) -> None:
        """Close the connection, without a word: whoever is there has not asked for anything."""
        self.no_wait()
        self.transport.abort()

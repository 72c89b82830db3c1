"""How much of one thing callers may have under way at once: each of them, and all together."""

from collections.abc import Iterator
from contextlib import contextmanager

from noetl.server.header_timeout import connections_most
from noetl.server.problem import Problem


class ConcurrencyLimit:
    """What is under way for each caller; `what` it is that is counted, in words."""

    def __init__(self, what: str, of_one: int, of_all: int) -> None:
        self._what, self._of_one, self._of_all = what, of_one, of_all
        self._of: dict[str, int] = {}
        self._all = 0

    def require_room(self, caller: str) -> None:
        """Refuse one more where there are too many."""
        own = self._of.get(caller, 0)
        if own >= self._of_one or self._all >= self._of_all:
            message = f"{own} {self._what} of yours are under way, and {self._all} in all"
            hint = f"wait for one to end; up to {self._of_one} of one caller and {self._of_all} of all are"
            raise Problem(429, message, hint=hint, headers={"Retry-After": "1"})

    @contextmanager
    def counted(self, caller: str) -> Iterator[None]:
        """One more while it lasts."""
        self._of[caller] = self._of.get(caller, 0) + 1
        self._all += 1
        try:
            yield
        finally:
            self._all -= 1
            self._of[caller] -= 1
            if not self._of[caller]:
                del self._of[caller]

    @contextmanager
    def admitted(self, caller: str) -> Iterator[None]:
        """One more while it lasts, if there is room."""
        self.require_room(caller)
        with self.counted(caller):
            yield


def held_connections() -> ConcurrencyLimit:
    """Requests that hold a connection because they wait: what they leave is for requests that do not."""
    most = connections_most()
    return ConcurrencyLimit("streams and requests that wait", most // 4, most // 2)

"""Executions that cannot be decided: each stops alone, keeps its log and mail, and waits to be released.

What cannot be decided is a log that cannot be read, a rule of ours that is broken, a bug while deciding, or
an execution that ended the processes that had it in hand. The mark is a fact of the store, so that every
server respects it; until the store takes it, this process does.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from noetl.control.execution_host import ExecutionHost
from noetl.core.event import iso
from noetl.errors import BackendError, Conflict, InvariantViolation, NotFound
from noetl.ports.store import Stuck, Summary

_LOG = logging.getLogger("noetl.engine")
WORDS = {
    "log": "its log or playbook cannot be read",
    "decision": "deciding on it failed, which is a bug in noetl",
    "mail": "a message that was left for it cannot be read",
    "owners": "it ended the processes that had it in hand",
}
_DECODER = msgspec.json.Decoder(Stuck)


class StuckError(Conflict):
    """The execution was set aside: nobody goes on with it until it is released."""


class FatalDecision(InvariantViolation):
    """What was tried apart from this process ended the process it was tried in."""


def stuck_of(summary: Summary) -> Stuck | None:
    """Why an execution was set aside, if it was."""
    return None if summary.stuck is None else _DECODER.decode(summary.stuck)


def refusal(execution_id: str, why: Stuck) -> StuckError:
    """What whoever speaks to a stuck execution is told."""
    message = f"execution {execution_id} is stuck since {iso(why.since)}: {WORDS[why.reason]}: {why.error}"
    return StuckError(message, hint=f"noetl execution why {execution_id}")


class StuckExecutions:
    """The executions that one engine gave up."""

    def __init__(self, host: ExecutionHost) -> None:
        self._host = host
        self._unmarked: dict[str, Stuck] = {}  # those that the store has not been told of
        self._since: dict[str, int] = {}  # since when those are stuck that are tried again just now

    def check(self, execution_id: str) -> None:
        """Raises StuckError for an execution that this process gave up and the store does not know of yet."""
        why = self._unmarked.get(execution_id)
        if why is not None:
            raise refusal(execution_id, why)

    @contextmanager
    def tried_again(self, execution_id: str, why: Stuck) -> Iterator[None]:
        """While one is tried again: when it is given up meanwhile, it has been stuck all along."""
        self._since[execution_id] = why.since
        try:
            yield
        finally:
            self._since.pop(execution_id, None)

    def put(self, execution_id: str, reason: str, error: Exception) -> StuckError:
        """Give an execution up; its workers are told to stop. What others are told."""
        host = self._host
        message = getattr(error, "message", "") or f"{type(error).__name__}: {error}"
        since = self._since.get(execution_id, host.now())
        why = Stuck(reason, message, since, host.owner, host.version)
        self._unmarked[execution_id] = why
        refused = refusal(execution_id, why)
        _LOG.error(refused.message, exc_info=error, extra={"execution_id": execution_id})
        if host.workers is not None:
            host.workers.abandon(execution_id)
        host.spawn(self.mark())
        return refused

    async def mark(self) -> None:
        """Tell the store of what was given up; one that is away is told later."""
        for execution_id, why in list(self._unmarked.items()):
            try:
                await self._host.store.set_aside(execution_id, self._host.owner, why)
            except NotFound:
                pass
            except BackendError as error:
                _LOG.warning(error.message, extra={"execution_id": execution_id})
                return
            if self._unmarked.get(execution_id) is why:
                del self._unmarked[execution_id]

"""Executions that a newer release wrote: left to servers that can read them, with log and mail as they are.

Nothing is marked and nothing guessed: the claim is given back, and it is said once. This process does not try
again for a while, so that it does not keep from an execution those who can go on with it.
"""

import logging

from noetl.control.execution_host import ExecutionHost
from noetl.core.formats import ROW_FORMAT
from noetl.errors import BackendError, NewerFormat
from noetl.ports.store import Summary

_LOG = logging.getLogger("noetl.engine")
AGAIN_MS = 60_000


def check_summary_format(summary: Summary) -> None:
    """Raises NewerFormat for an execution that the store says this release cannot read."""
    if summary.format > ROW_FORMAT:
        raise NewerFormat(f"its log has rows of format {summary.format}; this noetl reads up to {ROW_FORMAT}")


class LeftExecutions:
    """The executions that one engine leaves to others."""

    def __init__(self, host: ExecutionHost) -> None:
        self._host = host
        self._left: dict[str, tuple[NewerFormat, int]] = {}  # why, and until when

    def __contains__(self, execution_id: str) -> bool:
        return self._left.get(execution_id, (None, 0))[1] > self._host.now()

    def now(self) -> list[str]:
        """Those that this process does not try at the moment."""
        return [execution_id for execution_id in self._left if execution_id in self]

    def check(self, execution_id: str) -> None:
        """Raises NewerFormat for an execution that was left a short while ago."""
        if execution_id in self:
            raise self._left[execution_id][0]

    def check_format(self, summary: Summary) -> None:
        """Raises NewerFormat for one that the store says this release cannot read: it is not even claimed."""
        try:
            check_summary_format(summary)
        except NewerFormat as error:
            raise self.note(summary.execution_id, error) from None

    def note(self, execution_id: str, error: NewerFormat) -> NewerFormat:
        """Leave an execution to others from now on; what whoever speaks to it is told."""
        host = self._host
        message = f"execution {execution_id} is left to servers of a newer release: {error.message}"
        refused = NewerFormat(message, hint=error.hint)
        if execution_id not in self._left:
            _LOG.warning(message, extra={"execution_id": execution_id})
        self._left[execution_id] = (refused, host.now() + AGAIN_MS)
        return refused

    def forget(self, execution_id: str) -> None:
        """It could be read after all."""
        self._left.pop(execution_id, None)

    async def give_back(self, execution_id: str) -> None:
        """Give the claim back; a store that is away lets it run out by itself."""
        try:
            await self._host.store.let_go(execution_id, self._host.owner)
        except BackendError as error:
            _LOG.warning(error.message, extra={"execution_id": execution_id})

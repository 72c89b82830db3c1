"""Payloads of a worker that lives on when its result store is away: it waits for it, within reason."""

import asyncio
import logging
from typing import Protocol

from noetl.core.message import Payload
from noetl.errors import BackendError

_LOG = logging.getLogger("noetl.worker")
PATIENCE_S = 60.0
AGAIN_S, AGAIN_MOST_S = 0.1, 5.0


class _Writer(Protocol):
    async def write(self, payload: Payload) -> None: ...


class PatientPayloads:
    """Writes a payload again and again; raises BackendError when patience is over."""

    def __init__(self, results: _Writer, patience_s: float = PATIENCE_S) -> None:
        self._results, self._patience_s = results, patience_s

    async def write(self, payload: Payload) -> None:
        """Write a payload; writing it again is harmless."""
        until, wait = asyncio.get_running_loop().time() + self._patience_s, AGAIN_S
        while True:
            try:
                return await self._results.write(payload)
            except BackendError as error:
                if asyncio.get_running_loop().time() + wait > until:
                    raise
                _LOG.warning("the result store is away; writing again: %s", error.message)
            await asyncio.sleep(wait)
            wait = min(wait * 2, AGAIN_MOST_S)

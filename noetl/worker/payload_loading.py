"""Payloads of finished steps that the templates of one order read: loaded when they are first read, once.

They stay in memory as long as the order, and never go into a report. Which ones are read is the core's.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from noetl.core.pipeline.frame import PipelineContext
from noetl.core.program.evaluator import EvaluationError
from noetl.core.shapes import Reference
from noetl.core.values.payload_demand import TOGETHER, UnreadablePayload, gone, too_large, too_many
from noetl.errors import BackendError, InvariantViolation, NotFound
from noetl.json_value import Json
from noetl.ports.results import TooLarge

_LOG = logging.getLogger("noetl.worker")
PATIENCE_S = 60.0
AGAIN_S, AGAIN_MOST_S = 0.1, 5.0
GONE = (NotFound, InvariantViolation, msgspec.DecodeError, RecursionError, UnicodeDecodeError)
Get = Callable[[Reference, int], Awaitable[Any]]  # of at most so many bytes


class PayloadLoader:
    """Loads for one order."""

    def __init__(self, around: PipelineContext, get: Get, patience_s: float = PATIENCE_S) -> None:
        self._around, self._get, self._patience_s = around, get, patience_s
        self._bytes = 0
        self._one_by_one = asyncio.Lock()

    async def have(self, refs: Iterable[tuple[str, Reference]]) -> None:
        """Have payloads at hand; in the place of one that cannot be, why."""
        for owner, ref in refs:
            async with self._one_by_one:  # pipelines of one order ask for the same ones
                await self._have(owner, ref)

    async def _have(self, owner: str, ref: Reference) -> None:
        loaded, key = self._around.loaded, ref["locator"]["key"]
        payload = loaded.get(key)
        if key in loaded and not (isinstance(payload, UnreadablePayload) and payload.kind == "backend"):
            return
        most, size = int(self._around.limits["max_hydrate_bytes"]), int(ref["meta"].get("bytes", 0))
        if self._bytes + size > TOGETHER * most:
            loaded[key] = UnreadablePayload("limit", too_many(owner, most))
            return
        loaded[key] = await self._read(owner, ref, most)
        self._bytes += size

    async def whole(self, refs: Iterable[Reference]) -> dict[str, Any]:
        """Values of the order itself, whatever their size; EvaluationError when one cannot be had."""
        found = {}
        for ref in refs:
            size = int(ref["meta"].get("bytes", 0))
            value = found[ref["locator"]["key"]] = await self._read(self._around.step, ref, size)
            if isinstance(value, UnreadablePayload):
                raise EvaluationError(value.kind, value.message)
        return found

    async def read(self, owner: str, ref: Reference) -> Json | UnreadablePayload:
        """The payload, or why it cannot be had; nothing is kept of it."""
        payload: Json | UnreadablePayload = await self._read(
            owner, ref, int(self._around.limits["max_hydrate_bytes"])
        )
        return payload

    async def _read(self, owner: str, ref: Reference, most: int) -> Any:
        """The payload, or why there is none; a result store that is away is waited for, within reason."""
        loop = asyncio.get_running_loop()
        until, wait = loop.time() + self._patience_s, AGAIN_S
        while True:
            try:
                return await self._get(ref, most)
            except GONE:
                return UnreadablePayload("reference", gone(ref))
            except TooLarge as error:
                return UnreadablePayload("limit", too_large(owner, error.bytes, most, at_least=True))
            except BackendError as error:
                if loop.time() + wait > until:
                    return UnreadablePayload("backend", f"the result store is away: {error.message}")
                _LOG.warning("the result store is away; reading again: %s", error.message)
            await asyncio.sleep(wait)
            wait = min(wait * 2, AGAIN_MOST_S)

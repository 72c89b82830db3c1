"""Telling an execution something: directly when it runs here or nobody runs it, else by mail to its owner."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from msgspec.structs import replace

from noetl.control.engine import Displaced, Engine
from noetl.control.history import rows_of
from noetl.control.log_rows import encode_message, events_of, message_of
from noetl.control.stuck_executions import StuckError, refusal, stuck_of
from noetl.core.message import Control, Message
from noetl.errors import BackendError, Conflict, InvariantViolation, NewerFormat
from noetl.ports.store import Summary

POLL_S = 0.1
PATIENCE_S = 60.0  # for an owner that is alive and takes no mail


@dataclass(frozen=True, slots=True)
class _Posted:
    """A wish that was left for the owner of an execution."""

    letter: int
    wish: Control


class Steering:
    """What operators wish, brought to whoever can decide on it."""

    def __init__(self, engine: Engine, *, adopts: bool) -> None:
        self._engine, self._store, self._adopts = engine, engine.store, adopts
        self._wishes = count(1)

    async def tell(self, execution_id: str, wish: Control) -> None:
        """Have a wish decided on; returns when the log has it, raises Conflict when the state forbids it.

        What goes on as another execution is told where it is by now.
        """
        told, wish = False, replace(wish, id=f"{self._engine.owner}/{next(self._wishes)}")
        while not told:
            told = await self._tell(await self._store.newest(execution_id), wish)

    async def _tell(self, summary: Summary, wish: Control) -> bool:
        """Whether it was told; not when it ended, or went on as another, in this moment."""
        execution_id = summary.execution_id
        why = stuck_of(summary)
        if why is not None and wish.what != "cancel":
            raise refusal(execution_id, why)
        if why is not None and await self._engine.store.release(
            execution_id, self._engine.owner, self._engine.lease_ms
        ):
            with self._engine.stuck.tried_again(execution_id, why):
                await self._cancel(execution_id, wish)
            return True
        _check(execution_id, summary.status, wish, over=summary.ended_at is not None)
        end = await self._store.end(execution_id)
        here = self._engine.live_state(execution_id) is not None
        if here or not await self._store.owned(execution_id):
            with suppress(_Elsewhere):  # another process took it up meanwhile
                await self._decide(execution_id, wish, here)
                return True
        letter = await self._store.post(execution_id, encode_message(wish))
        if letter is None:
            return False
        await self._proven(execution_id, _Posted(letter, wish), end)
        if self._adopts and self._engine.live_state(execution_id) is not None:
            await self._go_on(execution_id, wish)
        return True

    async def _cancel(self, execution_id: str, wish: Control) -> None:
        """Cancel what was stuck a moment ago; what cannot be read, or decided on, is stuck again."""
        try:
            await self._decide(execution_id, wish, here=True)
        except StuckError as error:
            hint = f"it stays as it is, with its log: noetl execution why {execution_id}"
            raise StuckError(f"it cannot be cancelled: {error.message}", hint=hint) from None

    async def _decide(self, execution_id: str, wish: Control, here: bool) -> None:
        adopts = self._adopts and not here and wish.what != "cancel"
        try:
            await (self._engine.pick_up if adopts else self._engine.load)(execution_id)
            answer = await self._engine.send(execution_id, wish)
        except StuckError:
            raise
        except Displaced as error:
            raise _Elsewhere from error
        except Conflict as error:
            summary = await self._store.newest(execution_id)
            if summary.ended_at is None:
                raise _Elsewhere from error
            raise
        if not answer.accepted:
            raise Conflict(answer.why, hint=f"noetl execution show {execution_id}")
        if adopts:
            await self._go_on(execution_id, wish)

    async def _go_on(self, execution_id: str, wish: Control) -> None:
        """Work that was out when an execution was paused may be with nobody when it is resumed."""
        if wish.what == "resume":
            with suppress(Conflict):
                await self._engine.pick_up(execution_id)

    async def _proven(self, execution_id: str, posted: _Posted, end: int) -> None:
        """Wait for the process that runs the execution to take the message."""
        wish = posted.wish
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not await self._taken(execution_id, posted, end):
                    successor = (await self._store.summary(execution_id)).continued_as
                    if successor is None:
                        await asyncio.sleep(POLL_S)
                    elif await self._taken(execution_id, posted, end):  # it was told, and then went on
                        return
                    else:  # the letter went with it
                        execution_id, end = successor, 0
        except InvariantViolation as error:
            message = (
                f"whether execution {execution_id} was told to {wish.what} is not known: {error.message}"
            )
            raise Conflict(message, hint=f"noetl execution why {execution_id}") from None
        except TimeoutError:
            message = f"nobody has told execution {execution_id} to {wish.what} in {PATIENCE_S:g} s"
            hint = f"the wish is kept; noetl execution show {execution_id} tells how it went"
            raise BackendError(message, hint=hint) from None

    async def _taken(self, execution_id: str, posted: _Posted, end: int) -> bool:
        """Whether the log says that this wish was decided on; that of another proves nothing."""
        wish, waits = posted.wish, await self._store.is_posted(posted.letter)
        alive = await self._store.owned(execution_id)
        summary = await self._store.summary(execution_id)
        async for row in rows_of(self._store, execution_id, end + 1):
            if events_of(row) and _says(message_of(row), wish):  # raises when either cannot be read
                return not waits
        if summary.ended_at is not None and summary.continued_as is None:
            message = f"execution {execution_id} is {summary.status}; it ended before it could be told"
            raise Conflict(message, hint=f"noetl execution show {execution_id}")
        why = stuck_of(summary)
        if why is not None:
            raise refusal(execution_id, why)
        if not waits and summary.ended_at is None:
            message = f"execution {execution_id} is {summary.status}, and could not be told to {wish.what}"
            raise Conflict(message, hint=f"noetl execution show {execution_id}")
        if not alive and not self._adopts:
            message = f"the process that ran execution {execution_id} ended before it was told to {wish.what}"
            raise Conflict(message, hint=f"it will be once you go on: noetl execution resume {execution_id}")
        if not alive:
            await self._read_here(execution_id)
        return False

    async def _read_here(self, execution_id: str) -> None:
        """Read the mail of what nobody alive owns: nobody takes over what is paused."""
        with suppress(Conflict, NewerFormat):  # another was quicker; or it is left to a newer release
            await self._engine.load(execution_id)
            await self._engine.collect_mail()


class _Elsewhere(Exception):
    """Another process runs it after all."""


def _says(message: Message, wish: Control) -> bool:
    """Whether a message of the log is a wish; an older release told like ones not apart."""
    if isinstance(message, Control) and message.id is None:
        return message == replace(wish, id=None)
    return message == wish


def already_over(execution_id: str, status: str) -> Conflict:
    """The refusal to steer what has ended, with what can be done instead; what succeeded is not retried."""
    hint = f"noetl execution retry {execution_id}, or rerun {execution_id} --from STEP"
    if status == "completed":
        hint = f"noetl execution rerun {execution_id} --from STEP"
    return Conflict(f"execution {execution_id} is already {status}", hint=hint)


def _check(execution_id: str, status: str, wish: Control, *, over: bool) -> None:
    if over:
        raise already_over(execution_id, status)
    if wish.what == "pause" and status == "paused":
        hint = f"noetl execution resume {execution_id}"
        raise Conflict(f"execution {execution_id} is already paused", hint=hint)
    if wish.what == "resume" and status != "paused":
        hint = f"noetl execution watch {execution_id}"
        raise Conflict(f"execution {execution_id} is {status}, not paused", hint=hint)

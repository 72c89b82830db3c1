"""Firing triggers for what arrived: held by one server at a time, decided, started under a key, noted.

Whoever dies after it decided leaves the arrivals pending with the key of their firing: another starts them
under the same key, which gives one execution. Whoever was held up so long that another took the trigger over
changes nothing any more.
"""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from itertools import groupby

import msgspec

from noetl.control.deliveries import ATTEMPTS, FACTOR, FIRST_MS, KEPT_MS, MOST_MS, PRUNE_S
from noetl.control.firing_payload import payload_of_ends
from noetl.control.firing_plan import FiringPlan, body_of, plan
from noetl.control.tick_runner import StartAsked
from noetl.control.trigger_filter import passes
from noetl.control.trigger_rings import IN_A_ROW, firing_key, in_a_row
from noetl.errors import BackendError, Conflict, NoetlError, NotFound, RequestError
from noetl.json_value import Json
from noetl.ports.arrival import Arrival, ArrivalChange
from noetl.ports.front import Ask
from noetl.ports.schedule import Trigger
from noetl.ports.store import Store

_LOG = logging.getLogger("noetl.triggers")
LEASE_MS = 5_000
MESSAGES = ("webhook", "nats")


class RingError(NoetlError):
    """Executions have started one another by their ends for too long."""

    code = "trigger-ring"


class Firings:
    """What one server does for what arrived for the triggers of a store."""

    def __init__(self, store: Store, start: StartAsked) -> None:
        self._store, self._start_playbook = store, start
        self._holder = secrets.token_hex(8)
        self.first_ms = FIRST_MS
        self._pruned = 0.0

    async def round(self) -> None:
        """Fire what is due; raises BackendError when that has to be tried again."""
        names = await self._store.waiting_triggers()
        trouble: BackendError | None = None
        for name in names:
            if not await self._store.hold_trigger(name, self._holder, LEASE_MS):
                continue
            try:
                await self._fire(await self._store.trigger(name))
            except NotFound:  # it was deleted a moment ago, and what arrived for it
                continue
            except BackendError as error:
                trouble = error
            await self._store.let_go_of_trigger(name, self._holder)
        if names:
            await self._prune()
        if trouble is not None:
            raise trouble

    async def _prune(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._pruned or now - self._pruned > PRUNE_S:
            self._pruned = now
            await self._store.prune_arrivals(await self._store.clock() - KEPT_MS)

    async def _fire(self, trigger: Trigger) -> None:
        now = await self._store.clock()
        arrivals = await self._store.pending_arrivals(trigger.name)
        decided = [one for one in arrivals if one.firing is not None]
        for _, together in groupby(sorted(decided, key=_firing), key=_firing):
            await self._begin(trigger, list(together))
        open_ = [one for one in arrivals if one.firing is None]
        passed = [one for one in open_ if await self._passes(trigger, one, now)]
        await self._decide(trigger, plan(trigger, passed, now), now)

    async def _passes(self, trigger: Trigger, arrival: Arrival, now: int) -> bool:
        """Whether the filter lets an arrival through; messages were asked about before they were kept."""
        if trigger.filter is None or trigger.kind in MESSAGES or arrival.next_at != 0:
            return True
        change = ArrivalChange(state="filtered", settled_at=now)
        try:
            [payload] = await self._payloads(trigger, [arrival])
            if await asyncio.to_thread(passes, trigger, payload):
                return True
        except RequestError as error:
            change.state, change.error = "failed", error.message
            _LOG.warning("trigger %s started nothing: %s", trigger.name, error.message)
            await self._store.note_firing(trigger.name, None, error.message)
        await self._change(trigger, [arrival], change)
        return False

    async def _decide(self, trigger: Trigger, decided: FiringPlan, now: int) -> None:
        await self._change(trigger, decided.superseded, ArrivalChange(state="superseded", settled_at=now))
        moved = [one for one in decided.waiting if one.next_at != decided.look_at]
        await self._change(trigger, moved, ArrivalChange(next_at=decided.look_at))
        for group in decided.together:
            firing = secrets.token_hex(8)
            change = ArrivalChange(firing=firing, next_at=now)
            if not await self._change(trigger, group, change):
                return  # another took the trigger over
            for one in group:
                one.firing = firing
            await self._begin(trigger, group)

    async def _change(self, trigger: Trigger, arrivals: Sequence[Arrival], change: ArrivalChange) -> bool:
        numbers = [one.id for one in arrivals]
        return not numbers or bool(
            await self._store.change_arrivals(trigger.name, self._holder, numbers, change)
        )

    async def _begin(self, trigger: Trigger, group: Sequence[Arrival]) -> None:
        """Start the execution of a firing, or find the one that was started for it; note how that went."""
        first, now = group[0], await self._store.clock()
        change = ArrivalChange(firing=first.firing, attempts=first.attempts + 1, settled_at=now)
        try:
            change.execution, change.state = await self._execution(trigger, group), "fired"
        except BackendError:
            raise
        except NoetlError as error:
            change.error, change.state = error.message, "failed"
            _LOG.warning("trigger %s started nothing: %s", trigger.name, error.message)
            if change.attempts < ATTEMPTS and not isinstance(error, RingError):
                pause = min(self.first_ms * FACTOR ** (change.attempts - 1), MOST_MS)
                change.state, change.settled_at, change.next_at = "pending", None, now + pause
        if await self._change(trigger, group, change):
            await self._store.note_firing(trigger.name, change.execution, change.error)

    async def _execution(self, trigger: Trigger, group: Sequence[Arrival]) -> str:
        payload = await self._payload(trigger, group)
        count = await self._in_a_row(trigger, group)
        ask = Ask(path=trigger.path, version=trigger.version, by=f"trigger {trigger.name}")
        ask.workload = {**trigger.workload, trigger.payload_key: payload}
        ask.idempotency_key = firing_key(trigger.name, count, group[0].firing or "")
        ask.trigger = {"kind": trigger.kind, "name": trigger.name, "payload": payload}
        try:
            return (await self._start_playbook(ask)).execution_id
        except Conflict:  # it was started already, and playbook or workload changed since
            summary = await self._store.by_key(ask.idempotency_key)
            if summary is None:
                raise
            return summary.execution_id

    async def _payload(self, trigger: Trigger, group: Sequence[Arrival]) -> Json:
        payloads = await self._payloads(trigger, group)
        return payloads if trigger.match == "all" or trigger.batch is not None else payloads[0]

    async def _payloads(self, trigger: Trigger, group: Sequence[Arrival]) -> list[Json]:
        if trigger.kind == "playbook":
            return await payload_of_ends(self._store, group)
        return [msgspec.json.decode(one.body) for one in group]

    async def _in_a_row(self, trigger: Trigger, group: Sequence[Arrival]) -> int:
        ended = [str(body_of(one).get("execution_id")) for one in group if trigger.kind == "playbook"]
        count = 1 + max([await in_a_row(self._store, one) for one in ended], default=-1)
        if count > IN_A_ROW:
            raise RingError(
                f"{IN_A_ROW} executions in a row were started by the end of the one before, the last is "
                f"{ended[-1]}: this looks like a ring of triggers"
            )
        return count


def _firing(arrival: Arrival) -> str:
    return arrival.firing or ""

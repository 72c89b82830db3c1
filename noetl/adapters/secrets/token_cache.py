"""What was fetched from elsewhere and is still good: one request for all who ask at once, renewed early."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from noetl.json_value import JsonObject

Material = JsonObject
KEPT_MAX = 1000
REFUSED_S = 10.0  # so soon after one refusal another one is not the material's fault
EARLY_S, EARLY_SHARE = 60.0, 0.1


@dataclass(frozen=True, slots=True)
class Fetched:
    """Secret material, and how many seconds it may be used for."""

    material: Material
    lasts_s: float = 60.0


def renewal_s(lasts_s: float) -> float:
    """After how many seconds to fetch again: a minute or a tenth early, but not before half its time."""
    return max(lasts_s - max(EARLY_S, lasts_s * EARLY_SHARE), lasts_s / 2)


class Cache:
    """Material by key, in memory alone."""

    def __init__(self, clock: Callable[[], float], digest: Callable[[Material], str]) -> None:
        self._clock, self._digest = clock, digest
        self._refused_at: dict[str, float] = {}
        self._kept: OrderedDict[str, tuple[float, Material]] = OrderedDict()
        self._asked: dict[str, asyncio.Task[Material]] = {}

    async def get(self, key: str, fetch: Callable[[], Awaitable[Fetched]]) -> Material:
        """What is kept and still good, or what one fetch gives to everybody who waits for it."""
        renew_at, material = self._kept.get(key, (0.0, {}))
        if self._clock() < renew_at:
            return material
        if key not in self._asked:
            task = asyncio.get_running_loop().create_task(self._fetch(key, fetch))
            self._asked[key] = task
            task.add_done_callback(lambda done: self._asked.pop(key, None))
        return await asyncio.shield(self._asked[key])

    def refuse(self, digest: str) -> None:
        """Fetch again what somebody did not let in; at most once in a while for the same key."""
        now = self._clock()
        for key, (renew_at, material) in self._kept.items():
            if now < renew_at and self._digest(material) == digest:
                if now - self._refused_at.get(key, -REFUSED_S) >= REFUSED_S:
                    self._refused_at[key] = now
                    self._kept[key] = (now, material)
                return

    def last(self, key: str) -> Material:
        """What was fetched last, good or not; empty when nothing was."""
        return self._kept.get(key, (0.0, {}))[1]

    async def _fetch(self, key: str, fetch: Callable[[], Awaitable[Fetched]]) -> Material:
        fetched = await fetch()
        self._kept[key] = (self._clock() + renewal_s(fetched.lasts_s), fetched.material)
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_MAX:
            self._refused_at.pop(self._kept.popitem(last=False)[0], None)
        return fetched.material

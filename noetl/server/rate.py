"""How often one caller may ask: a bucket of tokens for each, filled by the clock."""

import time
from collections import OrderedDict
from collections.abc import Callable

CALLERS_MOST = 10_000


class Rate:
    """Buckets by caller; who was not heard of for long is forgotten, with a full bucket."""

    def __init__(self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when

    def wait_s(self, caller: str) -> float:
        """Take one; the seconds to wait when there is none, else 0."""
        now = self._clock()
        budget, then = self._buckets.pop(caller, (float(self._burst), now))
        budget = min(self._burst, budget + (now - then) * self._per_s)
        wait = 0.0 if budget >= 1 else (1 - budget) / self._per_s
        self._buckets[caller] = (budget - 1 if budget >= 1 else budget, now)
        if len(self._buckets) > CALLERS_MOST:
            self._buckets.popitem(last=False)
        return wait

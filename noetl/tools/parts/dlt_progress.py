"""How far a dlt pipeline is, as lines of its log. Imported by the process of the pipeline alone."""

import logging
import time

from dlt.common.runtime.collector_base import Collector

TOLD_EVERY_S = 2.0


class Told(Collector):
    """A line for a step now and then, and one when it ends."""

    def __init__(self) -> None:
        self.step = ""
        self._counts: dict[str, int] = {}
        self._told = 0.0

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,
        label: str | None = None,
    ) -> None:
        """One of the counts goes up."""
        name = f"{name} ({label})" if label else name
        self._counts[name] = self._counts.get(name, 0) + inc
        if time.monotonic() - self._told >= TOLD_EVERY_S:
            self._tell()

    def _start(self, step: str) -> None:
        self.step, self._counts, self._told = step, {}, time.monotonic()

    def _stop(self) -> None:
        self._tell()

    def _tell(self) -> None:
        self._told = time.monotonic()
        counts = ", ".join(f"{name} {count}" for name, count in self._counts.items() if count)
        logging.getLogger("dlt").info("%s: %s", self.step, counts or "nothing")

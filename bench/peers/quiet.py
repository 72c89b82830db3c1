"""What others do on this machine meanwhile: waits for a quiet moment, and tells how quiet it was."""

import os
import resource
import time
from pathlib import Path

QUIET = 0.1  # the share of the processors that others may take when a turn begins
PATIENCE_S = 30.0


class Others:
    """The share of the processors that went to other programs since this was made."""

    def __init__(self) -> None:
        self._began, self._all_s, self._own_s = time.monotonic(), _all_s(), _own_s()

    def share(self) -> float:
        """Between 0 and 1, over all processors; a program of ours counts as ours once its end was awaited."""
        elapsed_s = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        taken_s = _all_s() - self._all_s - (_own_s() - self._own_s)
        return min(1.0, max(0.0, taken_s / elapsed_s))


def wait_for_quiet() -> None:
    """Return when others leave this machine alone, or when that has been awaited long enough."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        others = Others()
        time.sleep(1.0)
        if others.share() < QUIET:
            return


def _all_s() -> float:
    """Seconds that all processors have been busy since the machine started."""
    total = Path("/proc/stat").read_text().partition("\n")[0]
    user, nice, system, _idle, _waiting, *interrupts = map(int, total.split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))

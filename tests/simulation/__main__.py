"""`python -m tests.simulation SEED` repeats a seed and tells what happened; several numbers are a range."""

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable

import yaml

from tests.simulation import history
from tests.simulation.history import History

Play = Callable[[int], History]


def tell(line: str) -> None:
    """Say something to whoever ran this."""
    sys.stdout.write(f"{line}\n")


def main(arguments: list[str], play: Play = history.play) -> int:
    """Play a seed with its trace, or every seed of a range with the failing ones named."""
    if len(arguments) == 1:
        return _tell(play(int(arguments[0])))
    first, last = int(arguments[0]), int(arguments[1])
    gc.set_threshold(20_000, 50, 50)  # a seed leaves little behind: looking often costs a tenth of the time
    began, failed, ended = time.perf_counter(), 0, 0
    seen: Counter[str] = Counter()
    for seed in range(first, last):
        played = play(seed)
        seen += played.seen
        ended += played.ended
        if played.violations:
            failed += 1
            tell(f"{seed}: {played.violations[0]}")
    rate = (last - first) / (time.perf_counter() - began)
    tell(f"{last - first} seeds, {failed} failed, {ended} ended, {rate:.0f} seeds/s")
    tell(str(dict(sorted(seen.items()))))
    return 1 if failed else 0


def _tell(played: History) -> int:
    for tree in played.sample.trees.values():
        tell(yaml.safe_dump(tree, sort_keys=False, width=150))
    tell("\n".join(played.lines))
    for violation in played.violations:
        tell(f"violated: {violation}")
    tell(f"trace {played.trace}")
    return 1 if played.violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

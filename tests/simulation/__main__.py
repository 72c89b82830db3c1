"""`python -m tests.simulation SEED` repeats a seed and tells what happened; several numbers are a range."""

import sys
import time
from collections import Counter

import yaml

from tests.simulation.history import play


def tell(line: str) -> None:
    """Say something to whoever ran this."""
    sys.stdout.write(f"{line}\n")


def main(arguments: list[str]) -> int:
    """Play a seed with its trace, or every seed of a range with the failing ones named."""
    if len(arguments) == 1:
        return _tell(int(arguments[0]))
    first, last = int(arguments[0]), int(arguments[1])
    began, failed, ended = time.perf_counter(), 0, 0
    seen: Counter[str] = Counter()
    for seed in range(first, last):
        history = play(seed)
        seen += history.seen
        ended += history.ended
        if history.violations:
            failed += 1
            tell(f"{seed}: {history.violations[0]}")
    rate = (last - first) / (time.perf_counter() - began)
    tell(f"{last - first} seeds, {failed} failed, {ended} ended, {rate:.0f} seeds/s")
    tell(str(dict(sorted(seen.items()))))
    return 1 if failed else 0


def _tell(seed: int) -> int:
    history = play(seed)
    for tree in history.sample.trees.values():
        tell(yaml.safe_dump(tree, sort_keys=False, width=150))
    tell("\n".join(history.lines))
    for violation in history.violations:
        tell(f"violated: {violation}")
    tell(f"trace {history.trace}")
    return 1 if history.violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

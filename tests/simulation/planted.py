"""`python -m tests.simulation.planted` tells how many seeds and seconds each planted bug takes to be found."""

import logging
import sys
import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.simulation import cluster_history, history, test_planted, test_planted_cluster

Plant = Callable[[pytest.MonkeyPatch], None]


def main() -> None:
    """Look for each bug, one after the other: those of one server first, then those of a cluster."""
    logging.getLogger("noetl").setLevel(logging.CRITICAL)
    for plant in test_planted.PLANTS:
        _tell(plant, test_planted.first_seed)
    for plant, faults in test_planted_cluster.PLANTS.items():
        _tell(plant, partial(test_planted_cluster.first_seed, faults))


def _tell(plant: Plant, first_seed: Callable[[], int | None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        patch.setattr(history, "PATIENCE_S", 120.0)
        patch.setattr(cluster_history, "PATIENCE_S", 200.0)
        began = time.perf_counter()
        seed = first_seed()
        took = time.perf_counter() - began
    sys.stdout.write(f"{plant.__name__:40} seed {seed!s:5} {took:6.2f} s\n")


if __name__ == "__main__":
    main()

"""`python -m tests.simulation.planted` tells how many seeds and seconds each bug planted in a cluster takes."""

import sys
import time

import pytest

from tests.simulation import cluster_history
from tests.simulation.test_planted_cluster import PLANTS, first_seed


def main() -> None:
    """Look for each bug, one after the other."""
    for plant, faults in PLANTS.items():
        with pytest.MonkeyPatch.context() as patch:
            plant(patch)
            patch.setattr(cluster_history, "PATIENCE_S", 200.0)
            began = time.perf_counter()
            seed = first_seed(faults)
            took = time.perf_counter() - began
        sys.stdout.write(f"{plant.__name__:40} seed {seed!s:5} {took:6.2f} s\n")


if __name__ == "__main__":
    main()

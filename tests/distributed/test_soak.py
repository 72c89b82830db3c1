"""Work of all sorts under one fault after another: everything ends well, once."""

from pathlib import Path

import pytest

from tests.distributed.soak import FAULTS, soak


@pytest.mark.timeout(900)
async def test_every_execution_ends_well_whatever_fails_around_it(tmp_path: Path) -> None:
    made = await soak(tmp_path, 20, FAULTS, lambda _: None)
    assert set(made.faults) == set(FAULTS)
    assert len(made.begun) >= len(FAULTS)

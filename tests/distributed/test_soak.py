"""Work of all sorts under one fault after another, over either link: everything ends well, once."""

from pathlib import Path

import pytest

from tests.distributed.soak import BY_LINK, soak


@pytest.mark.timeout(900)
@pytest.mark.parametrize("link", ["direct", "nats"])
async def test_every_execution_ends_well_whatever_fails_around_it(tmp_path: Path, link: str) -> None:
    faults = BY_LINK[link]
    made = await soak(tmp_path, 20, link, faults, lambda _: None)
    assert set(made.faults) == set(faults)
    assert len(made.begun) >= len(faults)

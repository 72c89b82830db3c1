"""A setting that names no place is refused in words that name one."""

import pytest

from noetl.errors import RequestError
from noetl.settings import load
from noetl.wiring.distributed import opened_elsewhere
from noetl.wiring.embedded import store_path


@pytest.mark.parametrize("named", ["postgre", "S3", "gs://bucket/prefix"])
async def test_results_go_to_a_place_that_is_known(named: str) -> None:
    with pytest.raises(RequestError, match="is no place for results") as caught:
        async with opened_elsewhere(named, None):
            pass
    assert "./results" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "store, hint",
    [
        ("postgresql://u:hidden@h/d", "NOETL_SERVER=http://127.0.0.1:8080"),
        ("mysql://u:hidden@h/d", "postgresql://USER@HOST/DATABASE"),
    ],
)
def test_a_store_that_cannot_be_used_here_says_what_can(
    store: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_STORE", store)
    with pytest.raises(RequestError) as caught:
        store_path(load())
    assert hint in (caught.value.hint or "")
    assert "hidden" not in caught.value.message

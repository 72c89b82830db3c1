"""The same pages over a server with PostgreSQL whose work is done by another process."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.distributed.cluster import Cluster
from tests.ui.books import ASK, FLOW
from tests.ui.conftest import Api


@pytest.fixture
def cluster(tmp_path: Path, database: str) -> Iterator[Cluster]:
    made = Cluster(tmp_path, database, lease_s=30.0)
    yield made
    made.close()


def test_an_execution_on_another_process_is_watched_and_steered_live(
    cluster: Cluster, open_page: Callable[..., Page]
) -> None:
    api = Api(cluster.server().said)
    worker = cluster.worker()
    for text in (ASK, FLOW):
        api.call("POST", "/catalog", {"playbook": text})
    execution_id = api.start("ask")
    page = open_page(base=api.url)
    page.goto(f"/executions/{execution_id}")
    expect(page.locator("[data-step=ask]")).to_have_attribute("data-state", "waiting")
    expect(page.locator("[data-link]")).to_have_attribute("data-link", "live")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("[data-step=meet]")).to_have_attribute("data-state", "done")
    expect(page.locator("main header [data-status]").first).to_have_attribute("data-status", "completed")
    page.goto("/workers")
    expect(page.get_by_role("region", name="Pool default")).to_contain_text(worker.said)
    page.goto(f"/executions/{api.ran('flow')}/loops")
    expect(page.locator("[data-counts]")).to_contain_text("5 done")

"""The snippets for other schedulers: what they do with a NoETL server is run against one.

The schedulers are not here: what stands for them calls the decorated functions and nothing more.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import noetl
from tests.docs.pages import blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "start-from-other-schedulers.md"
FILES = {block.title: block.text for block in blocks(PAGE) if block.language == "python"}
ORDERS = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: orders, path: sales/orders}
workload: {day: none}
workflow:
  - step: load
    tool: {kind: python, input: {day: "{{ workload.day }}", code: "assert day != 'bad', 'no such day'\\nresult = f'rows of {day}'"}}
"""


def decorator(*given: Any, **_: Any) -> Any:
    """A decorator with or without arguments that leaves a function as it is."""
    return given[0] if given and callable(given[0]) else lambda function: function


STAND_INS: dict[str, dict[str, Any]] = {
    "airflow": {},
    "airflow.sdk": {"dag": lambda **_: lambda function: lambda: None, "task": decorator},
    "dagster": {
        "asset": decorator,
        "DailyPartitionsDefinition": SimpleNamespace,
        "RetryPolicy": SimpleNamespace,
    },
    "prefect": {"flow": decorator, "task": decorator},
    "prefect.runtime": {"flow_run": SimpleNamespace(id="run-7")},
}


@pytest.fixture
def snippet(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], ModuleType]]:
    """A snippet of the page as a module, with a server that has the playbook."""
    for name, text in FILES.items():
        (tmp_path / str(name)).write_text(text)
    for name, content in STAND_INS.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NOETL_SERVER", url)
    with noetl.Client(url) as client:
        client.register(ORDERS)
    yield importlib.import_module
    for name in FILES:
        sys.modules.pop(Path(str(name)).stem, None)


def test_each_scheduler_runs_the_playbook_once_for_each_of_its_runs(snippet, url: str) -> None:
    airflow = snippet("airflow_orders")
    for _ in range(2):  # a task that is tried again waits for the same execution
        assert airflow.load_orders(run_id="scheduled-1", ds="2026-01-31") == "rows of 2026-01-31"
    dagster = snippet("dagster_orders")
    partition = SimpleNamespace(partition_key="2026-02-01", run_id="r1")
    assert dagster.orders(partition) == "rows of 2026-02-01"
    prefect = snippet("prefect_orders")
    assert prefect.orders("2026-02-02") == "rows of 2026-02-02"
    with noetl.Client(url) as client:
        assert len(list(client.executions(path="sales/orders"))) == 3


def test_a_playbook_that_fails_fails_the_task_and_says_why(
    snippet, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(noetl.ExecutionFailed):
        snippet("airflow_orders").load_orders(run_id="scheduled-2", ds="bad")
    assert "no such day" in capsys.readouterr().out

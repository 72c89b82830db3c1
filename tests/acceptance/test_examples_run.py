"""Every example runs and ends as its first lines say, and so does the demo."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.api import ROWS, Server, Shop
from tests.acceptance.conftest import Noetl
from tests.engine.harness import begin, control, engine, finish

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
LONGEST = "9 words, the longest has 5 letters"
COUNTS = [{"endpoint": name, "items": ROWS[name]} for name in ("customers", "orders", "products")]

# What each example gives when nothing is set; those that need more have a test of their own below.
OUTPUTS: dict[str, Any] = {
    "hello": "hello, world",
    "workload": ["hello, world"] * 3,
    "chain": "14 letters",
    "branching": 108.0,
    "fan_out_join": "sunny sky, light traffic: take the bicycle",
    "loop": ["1. Oslo: 39 F", "2. Rome: 64 F", "3. Cairo: 84 F"],
    "parallel_reduce": LONGEST,
    "nested_loops": {"visited": 5, "failed": 0},
    "workbook": "4.00 CHF",
    "child_playbook": "hello, Ada / hello, Grace",
    "references": [301, 302, 303],
    "admission": "sent: disk almost full",
    "pagination": ROWS["items"],
    "paginate": ROWS["items"],
    "retry": "10 orders",
    "polling": "done in 6 s",
    "parallel_pagination": COUNTS,
}
CALLS = {"child_playbook": "workload"}  # a server knows what was registered with it
ON_THEIR_OWN = {"approval", "etl", "keychain", "ten_thousand"}


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def url(shop: Shop) -> Iterator[str]:
    with Server(shop) as server:
        yield server.url


def ran(noetl: Noetl, name: str, *more: str, **environment: str) -> dict[str, Any]:
    if not (noetl.folder / "examples").exists():
        shutil.copytree(EXAMPLES, noetl.folder / "examples")
    if name in CALLS:
        assert noetl("catalog", "register", f"examples/{CALLS[name]}.yaml").returncode == 0
    done = noetl("run", f"examples/{name}.yaml", "--json", *more, **environment)
    assert done.stdout, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_every_example_is_run() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.yaml")} == OUTPUTS.keys() | ON_THEIR_OWN


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.anywhere
def test_an_example_gives_what_it_promises(name: str, noetl: Noetl, url: str) -> None:
    needs_api = "api_url" in (EXAMPLES / f"{name}.yaml").read_text()
    result = ran(noetl, name, *(("--set", f"api_url={url}") if needs_api else ()))
    assert (result["status"], result["error"]) == ("completed", None)
    assert result["output"] == OUTPUTS[name]
    assert noetl("execution", "replay", "@last").returncode == 0


@pytest.mark.parametrize(
    "name, setting, output",
    [
        ("workload", "greeting.name=Ada", ["hello, Ada"] * 3),
        ("branching", "amount=7", 7),
        ("branching", "amount=null", "no price today"),
        ("admission", "send=false", ["disk almost full"]),
        ("retry", "api_url={url}/nowhere", "no orders today"),
    ],
)
def test_an_example_goes_the_other_way_when_told(
    name: str, setting: str, output: Any, noetl: Noetl, url: str
) -> None:
    result = ran(noetl, name, "--set", setting.format(url=url))
    assert (result["status"], result["output"]) == ("completed", output)


@pytest.mark.anywhere
def test_refused_sending_is_recorded(noetl: Noetl) -> None:
    ran(noetl, "admission", "--set", "send=false")
    (refused,) = noetl(
        "execution", "events", "@last", "--json", "--name", "token.refused"
    ).stdout.splitlines()
    assert json.loads(refused)["step"] == "send"


def test_parallel_pagination_asks_for_each_page_until_it_is_answered(
    noetl: Noetl, shop: Shop, url: str
) -> None:
    result = ran(noetl, "parallel_pagination", "--set", f"api_url={url}")
    assert result["ctx"] == {"pages": 34, "items": 3450, "failed": 0}
    assert shop.asked.total() == 34 + shop.busy.total()
    assert shop.busy.total() > 0


def test_etl_keeps_the_sizes_of_the_files_of_a_folder(noetl: Noetl, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for size in (10, 30, 20, 40):
        (tmp_path / "data" / f"{size}.txt").write_text("x" * size)
    result = ran(noetl, "etl", "--set", "folder=data")
    assert result["output"] == [{"name": f"{size}.txt", "bytes": size} for size in (40, 30, 20)]


def test_keychain_uses_secrets_that_no_log_has(noetl: Noetl, shop: Shop, url: str, tmp_path: Path) -> None:
    (tmp_path / "notes.key").write_text("key-of-the-notes\n")
    result = ran(noetl, "keychain", "--set", f"api_url={url}", API_TOKEN="token-of-the-reader")
    assert (result["status"], result["output"]) == ("completed", {"notes": 1})
    assert shop.notes == [{"text": "the soup is tomato"}]
    told = json.dumps(result) + noetl("execution", "events", "@last", "--json").stdout
    assert "token-of-the-reader" not in told
    assert "key-of-the-notes" not in told


def test_keychain_is_refused_when_a_secret_is_missing(noetl: Noetl, url: str) -> None:
    done = noetl("run", str(EXAMPLES / "keychain.yaml"), "--set", f"api_url={url}")
    assert done.returncode == 1
    assert "API_TOKEN is not set" in done.stderr


@pytest.mark.parametrize(
    "approved, output",
    [(True, "orders_2019 deleted, approved by Ada"), (False, "orders_2019 kept: rejected")],
)
async def test_approval_waits_for_a_person(approved: bool, output: str, tmp_path: Path) -> None:
    async with engine(tmp_path) as made:
        execution_id = await begin(made, (EXAMPLES / "approval.yaml").read_text())
        payload = {"approved": approved, "by": "Ada"}
        await control(made, execution_id, "signal", name="delete orders_2019", payload=payload)
        done = await finish(made, execution_id)
    assert (done.status, done.output) == ("completed", output)


@pytest.mark.parametrize("arguments", [(), ("--crash",)])
def test_the_demo_reads_every_row_and_leaves_one_folder(arguments: tuple[str, ...], tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    command = [sys.executable, str(EXAMPLES / "demo.py"), *arguments]
    done = subprocess.run(
        command, cwd=tmp_path / "work", env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "together        3450      34" in done.stdout
    assert "completed in" in done.stderr
    assert "Traceback" not in done.stderr
    assert [file.name for file in (tmp_path / "work").iterdir()] == [".noetl"]
    assert list((tmp_path / "home").iterdir()) == []


def test_the_shared_loop_does_every_item(noetl: Noetl) -> None:
    assert ran(noetl, "ten_thousand", "--set", "items=200")["output"] == "200 of 200"

"""The registry: every kind of the language is here, described, and cheap to know."""

import subprocess
import sys

import pytest

from noetl import tools
from noetl.errors import NotFound
from noetl.ports.tool import Tool, define

# The table of kinds in the language's contract: name, inputs and keys beside `kind` that it must offer.
CONTRACT = {
    "noop": "",
    "python": "code script timeout",
    "http": "method url headers params json body form files follow_redirects verify response",
    "postgres": "query command params copy store",
    "duckdb": "query command database params attach store",
    "sqlite": "query command database params attach store",
    "sql": "driver query command params",
    "shell": "command cwd env stdin",
    "file": "action path format",
    "object": "action store key",
    "nats": "action subject bucket key value",
    "resolve": "ref select limit",
    "secrets": "name",
    "playbook": "path version wait",
    "workbook": "block",
    "wait": "seconds until signal approval",
    "mcp": "server tool arguments",
    "quantum": "action backend circuit shots",
    "email": "to cc bcc from subject text html attachments reply_to",
    "sftp": "host port user host_key action path content file format mode response limit missing_ok",
    "ssh": "host port user host_key command stdin",
    "kafka": "action topic messages value key headers partition group offsets partitions start limit within",
    "dlt": "pipeline destination dataset database script source args source_auth data table write_disposition primary_key",
    "dbt": "project command select exclude vars target profile full_refresh threads program",
    "container": "image command env files workdir user network pull result",
    "transfer": "source target mapping mode chunk_size",
}


def test_the_kinds_are_those_of_the_language():
    assert set(tools.kinds()) == set(CONTRACT)


@pytest.mark.parametrize("name", CONTRACT)
def test_a_kind_offers_every_input_of_the_contract(name):
    kind = tools.kinds()[name]
    assert set(CONTRACT[name].split()) <= {*kind.inputs, *kind.beside}


@pytest.mark.parametrize("name", CONTRACT)
def test_a_kind_is_described_completely(name):
    tool = tools.get(name)
    assert tool.kind.name == name
    assert tool.kind.summary
    assert tool.doc.strip()
    assert tool.returns
    assert f"kind: {name}" in tool.kind.example
    undocumented = [f.name for f in (*tool.kind.inputs.values(), *tool.kind.knobs.values()) if not f.doc]
    assert undocumented == []
    grouped = [key for group in tool.kind.one_of for key in group]
    assert {*grouped, *tool.kind.sql_text, *tool.kind.untemplated} <= set(tool.kind.inputs)


def test_only_calls_and_waits_are_left_to_the_engine():
    assert {name for name in CONTRACT if tools.get(name).engine} == {"playbook", "workbook", "wait"}


def test_an_unknown_kind_names_the_nearest_one():
    with pytest.raises(NotFound) as caught:
        tools.get("htpp")
    assert "htpp" in caught.value.message
    assert "http" in (caught.value.hint or "")


def test_knowing_every_kind_imports_no_driver_and_no_event_loop():
    heavy = "asyncio aiohttp apsw asyncpg duckdb nats obstore arro3 jmespath sqlalchemy pymysql adbc_driver_manager deltalake pyiceberg pyarrow aiokafka dlt"
    code = (
        f"import sys, noetl.tools; noetl.tools.kinds(); "
        f"print([m for m in {heavy.split()!r} if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


class Point:
    """An entry point of another package."""

    name, value = "brew", "brewing"

    def load(self) -> Tool:
        return define("brew", "Brews tea.")


def test_another_package_adds_a_kind_by_an_entry_point(monkeypatch):
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [Point()] if group == "noetl.tools" else []
    )
    tools.added.cache_clear()
    assert tools.get("brew").kind.summary == "Brews tea"
    tools.added.cache_clear()


def test_a_known_kind_does_not_scan_other_packages(monkeypatch):
    def scan(group: str) -> list[Point]:
        raise AssertionError("scanned")

    monkeypatch.setattr("importlib.metadata.entry_points", scan)
    tools.added.cache_clear()
    assert tools.get("noop").kind.name == "noop"

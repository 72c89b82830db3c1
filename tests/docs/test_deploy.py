"""What compose.yaml and the chart set exists: a renamed setting must not leave a deployment behind."""

import re
from pathlib import Path

import pytest
import yaml

from noetl.settings import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    "compose.yaml",
    *(str(place.relative_to(ROOT)) for place in ROOT.glob("deploy/helm/noetl/templates/*")),
]
GIVEN_BY_THE_USER = {"NOETL_WORKER_TOKEN"}


@pytest.mark.parametrize("file", FILES)
def test_every_variable_of_a_deployment_is_a_setting(file: str) -> None:
    known = {setting.variable for setting in SETTINGS} | GIVEN_BY_THE_USER
    assert set(re.findall(r"NOETL_[A-Z_]+", (ROOT / file).read_text())) <= known


def test_compose_has_the_parts_of_a_cluster() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert set(services) == {"postgres", "server", "worker"}
    assert services["server"]["command"] == ["server", "start"]
    assert services["worker"]["command"] == ["worker", "start"]
    assert services["worker"]["deploy"]["replicas"] == 2


def test_the_values_of_the_chart_are_those_its_templates_read() -> None:
    values = yaml.safe_load((ROOT / "deploy/helm/noetl/values.yaml").read_text())
    texts = "".join(place.read_text() for place in (ROOT / "deploy/helm/noetl/templates").iterdir())
    for path in set(re.findall(r"\.Values\.([A-Za-z.]+)", texts)):
        found = values
        for part in path.split("."):
            assert part in found, f"values.yaml has no {path}"
            found = found[part]


def test_overdue_work_takes_no_server_away_from_its_users() -> None:
    probes = re.findall(r"(\w+Probe): {httpGet: {path: ([^,]+),", _chart("server.yaml"))
    assert dict(probes) == dict.fromkeys(("startupProbe", "livenessProbe", "readinessProbe"), "/health/live")


@pytest.mark.parametrize("file", ["server.yaml", "workers.yaml"])
def test_no_variable_of_a_service_is_taken_for_a_setting(file: str) -> None:
    assert "enableServiceLinks: false" in _chart(file)


def test_what_playbooks_run_has_no_token_of_the_cluster() -> None:
    assert "automountServiceAccountToken: false" in _chart("workers.yaml")


def _chart(file: str) -> str:
    return (ROOT / "deploy/helm/noetl/templates" / file).read_text()

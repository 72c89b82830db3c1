"""What compose.yaml and the chart set exists: a renamed setting must not leave a deployment behind."""

import re
import subprocess
import tomllib
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


def test_all_that_the_image_is_built_of_reaches_its_build() -> None:
    admitted = {
        line[1:]
        for line in (ROOT / "deploy/Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", _dockerfile(), re.MULTILINE)
    wanted = {name for line in copied for name in line.split()}
    assert wanted == admitted
    assert all((ROOT / name).exists() for name in wanted)
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    assert wanted >= {*packed["only-include"], "README.md", "LICENSE", "pyproject.toml"}


def test_the_image_takes_every_pinned_version() -> None:
    script = re.findall(r"sed -n '(.+)' requirements.lock", _dockerfile())[0]
    lock = ROOT / "requirements.lock"
    taken = subprocess.run(["sed", "-n", script, lock], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^([A-Za-z0-9._-]+)==", lock.read_text(), re.MULTILINE)
    assert [line.partition("==")[0] for line in taken.splitlines()] == names
    assert "\\" not in taken


def test_the_image_runs_as_the_user_that_the_chart_names_and_reaps_what_tasks_leave() -> None:
    user = re.findall(r"^USER (\d+)$", _dockerfile(), re.MULTILINE)
    assert user == re.findall(r"runAsUser: (\d+)", _chart("_names.tpl"))
    assert 'ENTRYPOINT ["tini", "--", "noetl"]' in _dockerfile()


def _dockerfile() -> str:
    return (ROOT / "deploy/Dockerfile").read_text()

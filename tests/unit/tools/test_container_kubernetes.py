"""Commands as Jobs of Kubernetes, over the wire of its API: how they end, what they print, what is left of them."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from noetl import tools
from noetl.ports.network import PUBLIC_ONLY
from tests.fork_server import FORK_SERVER
from tests.kubernetes_cluster import EVICTED, GREEDY, MISSING, TOKEN, Cluster, kubernetes_cluster

IMAGE = "registry.example/shop/tools:1"
LONG = 120.0


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with kubernetes_cluster() as started:
        yield started


@pytest.fixture
def start(use, cluster: Cluster):
    """What the kind answers of a command in an image."""

    async def started(command: Any = None, /, **more: Any) -> Any:
        names = ("spec", "network_policy", "output", "auth")
        call = {name: more.pop(name) for name in names if name in more}
        if "network_policy" in call:
            call["network"] = call.pop("network_policy")
        given = {"image": IMAGE, "command": command, **more}
        async with asyncio.timeout(LONG):
            return await use("container", given, **({"auth": cluster.login()} | call))

    return started


class Lines:
    """What a call prints, and an event for when it first does."""

    keep: int | None = None

    def __init__(self) -> None:
        self.said = b""
        self.began = asyncio.Event()

    def write(self, data: bytes, stream: int = 1) -> None:
        if stream:
            self.said += data
            self.began.set()


async def test_a_job_answers_with_what_its_pod_printed_and_is_gone(start, cluster):
    lines = Lines()
    output = await start("echo out; echo err >&2", output=lines)
    assert output["data"] == {"exit_code": 0, "stdout": "out\nerr\n", "stderr": ""}
    assert lines.said == b"out\nerr\n"
    assert cluster.left() == []


async def test_another_exit_code_is_an_error_and_what_was_printed_is_kept(start, cluster):
    output = await start("echo out; exit 3")
    assert (output["error"]["kind"], output["error"]["code"]) == ("container", "3")
    assert output["data"]["stdout"] == "out\n"
    assert cluster.left() == []


async def test_a_job_runs_once_with_its_limits_and_without_an_account(start, cluster):
    await start(["echo", "$(HOME)"], workdir="/tmp", user="1234:5", spec={"cpus": 0.5, "memory_bytes": 2**20})
    (job,) = cluster.asked
    pod = job["spec"]["template"]["spec"]
    assert (job["spec"]["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"] == {"runAsUser": 1234, "runAsGroup": 5}
    main = pod["containers"][0]
    assert main["resources"]["limits"] == {"cpu": "500m", "memory": "1048576"}
    assert main["args"] == ["echo", "$$(HOME)"]
    assert {"name": "NOETL_EXECUTION_ID", "value": "e1"} in main["env"]


async def test_files_and_variables_are_in_a_secret_that_goes_with_the_job(start, cluster):
    files = {"/data/a.json": '{"item": "tea"}', "/data/b": "b"}
    output = await start(
        "cat /data/a.json; test ${#TEA} = 5", files=files, env={"TEA": "green"}, result="json"
    )
    assert output["data"]["result"] == {"item": "tea"}
    job, secret = cluster.asked
    assert "green" not in json.dumps(job)
    assert secret["metadata"]["ownerReferences"][0]["uid"] == f"uid-{job['metadata']['name']}"
    assert cluster.left() == []


@pytest.mark.parametrize("command", ["echo on; sleep 600", "trap '' TERM; echo on; sleep 600; sleep 600"])
async def test_a_cancelled_job_ends_and_is_gone(start, cluster, command):
    lines = Lines()
    call = asyncio.create_task(start(command, output=lines, spec={"grace": 1}))
    await asyncio.wait_for(lines.began.wait(), LONG)
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    assert cluster.left() == []
    assert all(process.returncode is not None for process in cluster.processes.values())


async def test_a_job_whose_cluster_cannot_be_asked_is_left_to_the_call_that_is_repeated(start, cluster):
    lines = Lines()
    go_on = cluster.folder / "go-on"
    command = f"echo on; until [ -e {go_on} ]; do sleep 0.05; done; echo off"
    first = asyncio.create_task(start(command, output=lines))
    await asyncio.wait_for(lines.began.wait(), LONG)
    cluster.refused = 503
    await asyncio.to_thread(go_on.touch)
    lost = (await first)["error"]
    assert (lost["kind"], lost["code"], lost["retryable"]) == ("container", "503", True)
    cluster.refused = None
    assert (await start(command))["data"]["stdout"] == "on\noff\n"
    assert (cluster.started, cluster.left()) == (1, [])


async def test_a_log_that_is_cut_off_is_read_on(start, cluster):
    cluster.cut_log_at = 100_000
    output = await start("i=0; while [ $i -lt 30000 ]; do echo $i; i=$((i+1)); done")
    assert output["data"]["stdout"].split() == [str(number) for number in range(30000)]


@pytest.mark.parametrize(
    "image, code, says",
    [
        (
            MISSING,
            "ImagePullBackOff",
            "the pod cannot start: ImagePullBackOff: no registry.example/missing:1",
        ),
        (EVICTED, "Evicted", "the cluster ended the job: Evicted: the node was low on memory"),
        (GREEDY, "137", "needs more memory than spec.memory_bytes"),
    ],
)
async def test_what_the_cluster_does_not_run_says_why_and_leaves_nothing(start, cluster, image, code, says):
    error = (await start("true", image=image))["error"]
    assert (error["kind"], error["code"]) == ("container", code)
    assert says in error["message"]
    assert cluster.left() == []


@pytest.mark.parametrize(
    "given, auth, kind, says",
    [
        ({}, {"token": "wrong-canary"}, "auth", "Unauthorized"),
        ({}, {"ca": None}, "tls", "certificate verify failed"),
        ({}, {"kubernetes": "http://127.0.0.1:1"}, "auth", "'kubernetes' is https://HOST:PORT"),
        ({}, {"kubernetes": "https://127.0.0.1:1"}, "connect", "there is no connection to the cluster at"),
        ({}, {"namespace": "elsewhere"}, "not_found", ""),
        ({"user": "root"}, {}, "input", "Kubernetes wants numbers"),
        ({"network": "host"}, {}, "input", "a pod is in the network of its cluster"),
        ({"files": {"data": ""}}, {}, "input", "no absolute path of a file"),
        ({"files": {"/data": "x" * 2_000_000}}, {}, "too_large", "a Secret of Kubernetes holds"),
    ],
)
async def test_what_cannot_be_asked_says_why_and_leaves_nothing(start, cluster, given, auth, kind, says):
    error = (await start("true", auth=cluster.login(**auth), **given))["error"]
    assert error["kind"] == kind, error
    assert says in error["message"]
    assert "canary" not in json.dumps(error)
    assert cluster.left() == []


async def test_a_cluster_is_reached_where_the_network_allows_it(start):
    assert (await start("true", network_policy=PUBLIC_ONLY))["error"]["kind"] == "network"


async def test_the_example_runs_there(cluster, tmp_path: Path):
    (tmp_path / "container.yaml").write_text(tools.kinds()["container"].example)
    environment = {
        "PATH": "/usr/bin:/bin", "NOETL_HOME": str(tmp_path / "home"),
        "CONTAINER_ENGINE": json.dumps(cluster.login()),
    }  # fmt: skip
    command = ["run", "container.yaml", "--json", "--set", f"image={IMAGE}"]
    done = await asyncio.to_thread(FORK_SERVER.run, command, tmp_path, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["output"]["result"] == {"item": "tea", "price": 3.5}
    assert TOKEN.encode() not in done.stdout + done.stderr

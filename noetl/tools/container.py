"""Runs a command in a container of Docker or Podman, or as a Job of Kubernetes.

`auth` names the engine, since whoever starts containers may do anything on its machine: `host` is
`unix:///run/podman/podman.sock`, `unix:///var/run/docker.sock` or `tcp://engine.example.com:2376`, for which
`ca`, `certificate` and `private_key` are PEM. A socket is reached where playbooks may reach `loopback`, an
address where the network policy allows it. `networks` of the credential are those that containers may be in;
a container is in none unless the task names one of them, since what it can reach there is up to the engine.

The image is pulled when the engine does not have it, unless `pull` is `never`; a registry that wants a login
is one the engine itself is logged in to. A command that is a list is passed as it is, to the entry point of
the image if it has one; a text goes through `/bin/sh` of the image instead. The container has no folder of
the machine: `files` are put into it, and what it prints is its answer. It has `spec.cpus`,
`spec.memory_bytes` and `spec.pids` and no more, no privileges and no way to get any, `env`, and
`NOETL_EXECUTION_ID`, `NOETL_STEP`, `NOETL_TASK`, `NOETL_ATTEMPT` and `NOETL_IDEMPOTENCY_KEY`. Its lines are
the task's log while it runs; each output is kept up to `spec.max_output_bytes` (1 MiB), what goes beyond is
counted and dropped. With `result: json` the answer has what it printed as a value.

Another exit code than 0 is error kind `container` whose `code` is the exit code, 137 for one that was killed,
as by its limit of memory; `data` still holds what was printed. The container is named after the idempotency
key, so that a call which is repeated because its worker died finds the one that runs, or has run, and follows
it. It is removed when its end was read, and when its task is cancelled or times out: asked to stop first,
killed after `spec.grace` seconds. One whose engine cannot be reached any more stays there.

A credential with `kubernetes`, the address of a cluster's API as in `https://cluster.example.com:6443`,
runs it as a Job of one pod, once, in its `namespace` (`default`), with `token`, or `certificate` and
`private_key`, and `ca`. The pod has the cluster's network, whatever its policies leave of it; no token of
an account, unless `service_account` names one whose pull secrets it needs, and `spec.cpus` and
`spec.memory_bytes` as requests and limits. `user` is a number, as in `1000:1000`. `files` and `env` are
in a Secret that goes with the Job and holds 1 MiB at most. Both outputs are one there, `stdout`. The
error's `code` may also be why the cluster ended it, as `Evicted`, or would not start it, as
`ImagePullBackOff`; an image that cannot be pulled at once is waited for until then. What is asked needs
these rights: `jobs` create, get, list, watch, patch and delete; `pods` list and watch; `pods/log` get;
`secrets` create. What nobody comes back for, the cluster deletes a day after its end. This is tested
against the wire protocol and Kubernetes' own schemas (1.37), not on a cluster.
"""

import msgspec

from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.values import to_json
from noetl.tools.parts.container_work import Knobs, Work
from noetl.tools.parts.function import tool
from noetl.tools.parts.process import Printed
from noetl.tools.parts.tool_context import ToolContext

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: container, path: tools/container}
keychain:
  - {name: engine, kind: env, env: CONTAINER_ENGINE}
workload: {image: registry.example/tools/busybox}
workflow:
  - step: start
    tool:
      kind: container
      auth: engine
      input:
        image: "{{ workload.image }}"
        command: [cat, /data/sale.json]
        files: {/data/sale.json: '{"item": "tea", "price": 3.5}'}
        result: json
"""
STDERR_CHARS = 8_000  # more than is shown: secrets are taken out before it is cut
KILLED = 137


@tool(
    page=__doc__,
    returns="`{exit_code, stdout, stderr}`; with `result: json`, `{exit_code, result, stderr}`",
    example=EXAMPLE,
)
async def container(work: Work, knobs: Knobs, context: ToolContext) -> dict[str, Json]:
    """Run it, or find it running, and answer with what it printed and how it ended."""
    from noetl.tools.parts import container_run, kubernetes_job

    place = kubernetes_job if "kubernetes" in (context.auth or {}) else container_run
    done = await place.ran(work, knobs, context)
    stdout, stderr = done.stdout.text, done.stderr.text
    ended: dict[str, Json] = {"exit_code": done.exit_code, "stdout": stdout, "stderr": stderr}
    if ended["exit_code"] != 0:
        raise _failed(ended, knobs)
    if work.result == "json":
        ended = {"exit_code": 0, "result": _value(done.stdout, ended), "stderr": stderr}
    return ended


def _value(printed: Printed, ended: dict[str, Json]) -> Json:
    """What it printed, as the JSON that it is."""
    if printed.dropped:
        told = "it printed more than spec.max_output_bytes, and its JSON is cut off"
        raise Failed("too_large", told, answered=True, data=ended)
    try:
        value: Json = msgspec.json.decode(bytes(printed.buffer))
        return to_json(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Failed("format", f"what it printed is no JSON: {problem}", answered=True, data=ended) from None


def _failed(ended: dict[str, Json], knobs: Knobs) -> Failed:
    code, stderr = ended["exit_code"], str(ended["stderr"])
    message = f"the container ended with exit code {code}"
    if code == KILLED:
        message += f", killed as when it needs more memory than spec.memory_bytes, {knobs.memory_bytes}"
    if last := stderr.strip().splitlines()[-1:]:
        message += f": {last[0][:500]}"
    details: dict[str, Json] = {"stderr": stderr[-STDERR_CHARS:]} if stderr.strip() else {}
    return Failed("container", message, code=str(code), answered=True, details=details, data=ended)

"""The API of a Kubernetes cluster on the loopback interface, as far as Jobs go: over TLS, for whoever has the token.

Objects are checked against Kubernetes' own schemas, as its servers do when they are strict. A pod is a process of
this machine; files that are mounted into it lie in a folder, whose path its arguments are given instead.
"""

import asyncio
import contextlib
import json
import os
import signal
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs
from aiohttp import web

from tests.mail_server import certificate_for

TOKEN = "kube-token-canary"
MISSING = "registry.example/missing:1"
EVICTED = "registry.example/evicted:1"
GREEDY = "registry.example/greedy:1"
SCHEMAS = json.loads((Path(__file__).parent / "fixtures" / "kubernetes-1.37.json").read_text())
CHECKS = {
    kind: jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": SCHEMAS["$defs"]})
    for kind, name in (("jobs", "io.k8s.api.batch.v1.Job"), ("secrets", "io.k8s.api.core.v1.Secret"))
}
Object = dict[str, Any]


class Cluster:
    """One namespace, its objects, and what its pods print."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects: dict[tuple[str, str], Object] = {}
        self.events: list[tuple[int, str, str, Object]] = []
        self.changed = asyncio.Condition()
        self.asked: list[Object] = []  # every object that was made
        self.logs: dict[str, bytearray] = {}
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.started = 0
        self.cut_log_at: int | None = None  # after so many bytes the next reader of a log is cut off
        self.refused: int | None = None  # the status that everything is answered with
        self.url = ""
        self.authority = ""
        self._tasks: set[asyncio.Task[None]] = set()

    def login(self, **more: Any) -> dict[str, Any]:
        """A credential for it."""
        return {"kubernetes": self.url, "token": TOKEN, "ca": self.authority, "namespace": "shop", **more}

    def left(self) -> list[tuple[str, str]]:
        return sorted(self.objects)

    # ---- objects ----------------------------------------------------------------------------------------

    async def put(self, kind: str, thing: Object) -> Object:
        name = thing["metadata"]["name"]
        what = "MODIFIED" if (kind, name) in self.objects else "ADDED"
        thing["metadata"].setdefault("uid", f"uid-{name}")
        thing["metadata"].setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        self.objects[kind, name] = thing
        await self._tell(what, kind, thing)
        return thing

    async def gone(self, kind: str, name: str) -> None:
        if thing := self.objects.pop((kind, name), None):
            await self._tell("DELETED", kind, thing)

    async def _tell(self, what: str, kind: str, thing: Object) -> None:
        async with self.changed:
            thing["metadata"]["resourceVersion"] = str(len(self.events) + 1)
            self.events.append((len(self.events) + 1, what, kind, json.loads(json.dumps(thing))))
            self.changed.notify_all()

    # ---- pods -------------------------------------------------------------------------------------------

    def begin(self, job: Object) -> None:
        task = asyncio.create_task(self._pod(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pod(self, job: Object) -> None:
        name = f"{job['metadata']['name']}-x1"
        spec = job["spec"]["template"]["spec"]
        image = spec["containers"][0]["image"]
        labels = {"job-name": job["metadata"]["name"]}
        pod = {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"phase": "Pending"}}
        await self.put("pods", pod)
        if image == MISSING:
            for reason in ("ErrImagePull", "ImagePullBackOff"):
                await self._state(pod, "Pending", waiting={"reason": reason, "message": f"no {image}"})
            return
        if image == EVICTED:
            pod["status"] = {"phase": "Failed", "reason": "Evicted", "message": "the node was low on memory"}
            await self.put("pods", pod)
            return
        await self._run(pod, spec)

    async def _run(self, pod: Object, spec: Object) -> None:
        name, container = pod["metadata"]["name"], spec["containers"][0]
        self.started += 1
        self.logs[name] = bytearray()
        process = await asyncio.create_subprocess_exec(
            *self._argv(spec, container), env=self._variables(container), start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        self.processes[name] = process
        await self._state(pod, "Running", running={"startedAt": "2026-01-01T00:00:00Z"})
        assert process.stdout is not None
        while piece := await process.stdout.read(65536):
            async with self.changed:
                self.logs[name] += piece
                self.changed.notify_all()
        code = await process.wait()
        async with self.changed:
            self.changed.notify_all()
        if ("pods", name) not in self.objects:
            return
        greedy = container["image"] == GREEDY
        ended = {"exitCode": 137 if greedy else code if code >= 0 else 128 - code}
        phase = "Failed" if ended["exitCode"] else "Succeeded"
        await self._state(pod, phase, terminated={**ended, "reason": "OOMKilled" if greedy else "Completed"})

    async def _state(self, pod: Object, phase: str, **state: Any) -> None:
        pod["status"] = {"phase": phase, "containerStatuses": [{"name": "main", "state": state}]}
        if ("pods", pod["metadata"]["name"]) in self.objects:
            await self.put("pods", pod)

    def _argv(self, spec: Object, container: Object) -> list[str]:
        argv = [*container.get("command", ()), *container.get("args", ())]
        argv = [each.replace("$$(", "$(") for each in argv]
        for mount in container.get("volumeMounts", ()):
            volume = next(each for each in spec["volumes"] if each["name"] == mount["name"])
            secret = self.objects["secrets", volume["secret"]["secretName"]]
            file = self.folder / mount["subPath"]
            file.write_text(secret["stringData"][mount["subPath"]])
            argv = [each.replace(mount["mountPath"], str(file)) for each in argv]
        return argv

    def _variables(self, container: Object) -> dict[str, str]:
        variables = {"PATH": os.environ["PATH"]}
        for each in container["env"]:
            if key := each.get("valueFrom", {}).get("secretKeyRef"):
                variables[each["name"]] = self.objects["secrets", key["name"]]["stringData"][key["key"]]
            else:
                variables[each["name"]] = each["value"]
        return variables

    async def end(self, job_name: str, grace: int) -> None:
        """What the cluster does about a Job that is deleted: its pods first."""
        name = f"{job_name}-x1"
        if process := self.processes.get(name):
            for sign in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, sign)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), grace)
                    break
        await self.gone("pods", name)
        await self.gone("secrets", job_name)
        await self.gone("jobs", job_name)

    async def close(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await asyncio.gather(*self._tasks, return_exceptions=True)


def refusal(code: int, message: str) -> web.Response:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}
    return web.json_response(status, status=code)


class Wire:
    """How the cluster is spoken to."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @web.middleware
    async def admitted(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return refusal(401, "Unauthorized")
        if self.cluster.refused is not None:
            return refusal(self.cluster.refused, "the server is currently unable to handle the request")
        response: web.StreamResponse = await handler(request)
        return response

    async def make(self, request: web.Request) -> web.Response:
        kind, thing = request.match_info["kind"], await request.json()
        name = thing["metadata"]["name"]
        if problem := next(CHECKS[kind].iter_errors(thing), None):
            return refusal(422, f"strict decoding error: {problem.message} at {list(problem.instance_path)}")
        if (kind, name) in self.cluster.objects:
            return refusal(409, f'{kind} "{name}" already exists')
        self.cluster.asked.append(json.loads(json.dumps(thing)))
        made = await self.cluster.put(kind, thing)
        if kind == "jobs" and not thing["spec"]["suspend"]:
            self.cluster.begin(thing)
        return web.json_response(made, status=201)

    async def change(self, request: web.Request) -> web.Response:
        assert request.content_type == "application/merge-patch+json"
        job = self.cluster.objects["jobs", request.match_info["name"]]
        begins = job["spec"]["suspend"]
        job["spec"].update((await request.json())["spec"])
        await self.cluster.put("jobs", job)
        if begins and not job["spec"]["suspend"]:
            self.cluster.begin(job)
        return web.json_response(job)

    async def get(self, request: web.Request) -> web.Response:
        kind, name = request.match_info["kind"], request.match_info["name"]
        thing = self.cluster.objects.get((kind, name))
        return refusal(404, f'{kind} "{name}" not found') if thing is None else web.json_response(thing)

    async def delete(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        assert request.query["propagationPolicy"] == "Foreground"
        job = self.cluster.objects.get(("jobs", name))
        if job is None:
            return refusal(404, f'jobs "{name}" not found')
        job["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        await self.cluster.put("jobs", job)
        grace = job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        task = asyncio.create_task(self.cluster.end(name, grace))
        self.cluster._tasks.add(task)
        return web.json_response(job)

    async def list(self, request: web.Request) -> web.StreamResponse:
        kind, query = request.match_info["kind"], request.query
        word, _, wanted = (query.get("labelSelector") or query["fieldSelector"]).partition("=")

        def selected(thing: Object) -> bool:
            meta = thing["metadata"]
            return bool((meta["name"] if word == "metadata.name" else meta["labels"].get(word)) == wanted)

        if query.get("watch") != "1":
            items = [each for (of, _), each in self.cluster.objects.items() if of == kind and selected(each)]
            version = {"resourceVersion": str(len(self.cluster.events))}
            return web.json_response({"metadata": version, "items": items})
        response = web.StreamResponse()
        await response.prepare(request)
        at = int(query["resourceVersion"])
        while True:
            async with self.cluster.changed:
                while at == len(self.cluster.events):
                    await self.cluster.changed.wait()
                new, at = self.cluster.events[at:], len(self.cluster.events)
            for _, what, of, thing in new:
                if of == kind and selected(thing):
                    await response.write(json.dumps({"type": what, "object": thing}).encode() + b"\n")

    async def log(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        assert request.query["container"] == "main"
        if name not in self.cluster.logs:
            return refusal(400, f'container "main" in pod "{name}" is waiting to start')
        response = web.StreamResponse()
        await response.prepare(request)
        at, cut = 0, self.cluster.cut_log_at
        while True:
            async with self.cluster.changed:
                piece = bytes(self.cluster.logs[name][at:])
                ended = self.cluster.processes[name].returncode is not None
                if not piece and not ended:
                    await self.cluster.changed.wait()
                    continue
            if cut is not None and at + len(piece) >= cut:
                self.cluster.cut_log_at = None
                await response.write(piece[: cut - at])
                assert request.transport is not None
                request.transport.abort()
                return response
            if not piece:
                return response
            await response.write(piece)
            at += len(piece)


@asynccontextmanager
async def kubernetes_cluster() -> AsyncIterator[Cluster]:
    """A cluster that is there while it is needed."""
    with tempfile.TemporaryDirectory(prefix="kubernetes-") as place:
        cluster = Cluster(Path(place))
        wire = Wire(cluster)
        application = web.Application(middlewares=[wire.admitted])
        batch, core = (
            "/apis/batch/v1/namespaces/shop/{kind:jobs}",
            "/api/v1/namespaces/shop/{kind:secrets|pods}",
        )
        application.add_routes([
            web.post(batch, wire.make), web.get(batch, wire.list), web.get(batch + "/{name}", wire.get),
            web.patch(batch + "/{name}", wire.change), web.delete(batch + "/{name}", wire.delete),
            web.post(core, wire.make), web.get(core, wire.list), web.get(core + "/{name}/log", wire.log),
        ])  # fmt: skip
        file = certificate_for("127.0.0.1", Path(place))
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(file)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        port = runner.addresses[0][1]
        cluster.url = f"https://127.0.0.1:{port}"
        text = await asyncio.to_thread(Path(file).read_text)
        cluster.authority = text.partition("-----END PRIVATE KEY-----\n")[2]
        try:
            yield cluster
        finally:
            await cluster.close()
            await runner.cleanup()

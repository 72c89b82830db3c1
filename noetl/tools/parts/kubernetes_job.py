"""A Job of Kubernetes that runs one pod once: made, followed and taken away over the cluster's API."""

import asyncio
from typing import Any

from noetl.core.values.output import ANSWERED
from noetl.ports.envelope import Failed
from noetl.tools.parts.container_engine import in_peace
from noetl.tools.parts.container_work import NONE, Ended, Knobs, Work, name_of
from noetl.tools.parts.kubernetes_api import Cluster, cluster
from noetl.tools.parts.kubernetes_manifest import MAIN, manifest, secret_manifest
from noetl.tools.parts.process import Printed
from noetl.tools.parts.tool_context import ToolContext

Pod = dict[str, Any]
EXISTS = 409
GONE = 404
LOOK_AGAIN_S = 0.5
# Why a container waits that will not start by itself; the cluster would try for ever.
HOPELESS = (
    "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerError", "RunContainerError",
    "CreateContainerConfigError", "ImageInspectError",
)  # fmt: skip


async def ran(work: Work, knobs: Knobs, context: ToolContext) -> Ended:
    """Run it, or find it running, until it ends; nothing is left of it."""
    secret = context.auth or {}
    if work.network != NONE:
        told = "a pod is in the network of its cluster; leave out the input 'network'"
        raise Failed("input", told)
    name = name_of(context)
    asked = manifest(name, work, knobs, context, secret)
    async with cluster(secret, context.call.network, knobs.connect_timeout, knobs.answer_timeout) as there:
        try:
            await _made(there, name, asked, secret_manifest(name, work, knobs), context)
            ended = await _Followed(there, name, knobs, context).to_its_end()
        except Failed as failure:
            if failure.output.get(ANSWERED):
                await _removed(there, name)
            raise
        except asyncio.CancelledError:
            await in_peace(_removed(there, name), knobs.grace + knobs.answer_timeout)
            raise
        await _removed(there, name)
    return ended


async def _made(there: Cluster, name: str, asked: Pod, private: Pod | None, context: ToolContext) -> None:
    """See that the Job is there. It waits for its files and variables, which go when it goes."""
    status, job = await there.ask("POST", there.jobs(), json=asked, accept=(EXISTS,))
    if status == EXISTS:
        _, job = await there.ask("GET", there.jobs(name))
        context.log(f"the job {name} is there already")
    if private is None or not job["spec"].get("suspend"):
        return
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"]}
    private["metadata"]["ownerReferences"] = [owner]
    await there.ask("POST", there.core("secrets"), json=private, accept=(EXISTS,))
    headers = {"Content-Type": "application/merge-patch+json"}
    await there.ask("PATCH", there.jobs(name), json={"spec": {"suspend": False}}, headers=headers)


class _Followed:
    """The pod of a Job, whose lines are told while it runs."""

    def __init__(self, there: Cluster, name: str, knobs: Knobs, context: ToolContext) -> None:
        self.there, self.name, self.knobs, self.context = there, name, knobs, context
        self.printed = Printed(knobs.max_output_bytes)
        self._heard = False  # whether the log was read to its end
        self._said = ""
        self._selected = {"labelSelector": f"job-name={name}"}

    async def to_its_end(self) -> Ended:
        while True:
            pod, version = await self._look()
            if pod is None:
                await self._job_goes_on()
            elif _finished(pod):
                await self._lines(pod)  # a node that hears of the end may stop before it has told all
                return self._ended(pod)
            elif _started(pod) and not self._heard:
                await self._lines(pod)
                continue
            else:
                self._check(pod)
            if not await self.there.changed(self.there.core("pods"), version, self._selected):
                self._heard = False  # its log ended and it did not: there may be more

    async def _look(self) -> tuple[Pod | None, str]:
        _, listed = await self.there.ask("GET", self.there.core("pods"), params=self._selected)
        pods: list[Pod] = listed["items"]
        newest = max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp")), default=None)
        return newest, str(listed["metadata"]["resourceVersion"])

    async def _lines(self, pod: Pod) -> None:
        """What is printed from where the last look ended, until the log ends or is cut off."""
        path = self.there.core("pods", pod["metadata"]["name"]) + "/log"
        log = self.there.stream("GET", path, params={"container": MAIN, "follow": "true"})
        at = 0
        try:
            async for piece in log:
                new = piece[max(self.printed.size - at, 0) :]
                at += len(piece)
                if new:
                    self.printed.add(new)
                    self.context.call.output.write(new, 1)
            self._heard = True
        except Failed as failure:
            if failure.output["error"]["kind"] not in ("connect", "timeout", "container", "not_found"):
                raise
            await asyncio.sleep(LOOK_AGAIN_S)  # its node may be gone: the cluster says whether the pod is too

    async def _job_goes_on(self) -> None:
        """Without a pod, the Job itself says why there is none."""
        status, job = await self.there.ask("GET", self.there.jobs(self.name), accept=(GONE,))
        if status == GONE:
            raise _broken("Deleted", "somebody else has deleted it")
        for each in job.get("status", {}).get("conditions") or ():
            if each["type"] == "Failed" and each["status"] == "True":
                raise _broken(str(each.get("reason") or "Failed"), str(each.get("message") or ""))

    def _check(self, pod: Pod) -> None:
        """A pod that does not start says why, or fails."""
        waiting = _state(pod).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        if reason in HOPELESS:
            raise Failed(
                "container", f"the pod cannot start: {reason}: {waiting.get('message') or ''}",
                code=reason, retryable=reason == "ImagePullBackOff", answered=True,
            )  # fmt: skip
        for each in pod.get("status", {}).get("conditions") or ():
            if each["type"] == "PodScheduled" and each["status"] == "False":
                said = f"the pod waits for a node: {each.get('message') or each.get('reason')}"
                if said != self._said:
                    self.context.log(said)
                self._said = said

    def _ended(self, pod: Pod) -> Ended:
        terminated = _state(pod).get("terminated")
        if terminated is None:
            status = pod.get("status", {})
            raise _broken(str(status.get("reason") or "PodFailed"), str(status.get("message") or ""))
        return Ended(int(terminated["exitCode"]), self.printed, Printed(self.knobs.max_output_bytes))


def _broken(reason: str, message: str) -> Failed:
    """The cluster ended it, not what ran in it: nobody knows how far that came."""
    told = f"the cluster ended the job: {reason}{': ' if message else ''}{message}"
    return Failed("container", told, code=reason, retryable=True, answered=True)


def _state(pod: Pod) -> Pod:
    """Whether the container waits, runs or has ended."""
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    return next((each.get("state") or {} for each in statuses if each["name"] == MAIN), {})


def _started(pod: Pod) -> bool:
    return "running" in _state(pod)


def _finished(pod: Pod) -> bool:
    return "terminated" in _state(pod) or pod.get("status", {}).get("phase") in ("Failed", "Succeeded")


async def _removed(there: Cluster, name: str) -> None:
    """Take it away with its pod, which is asked to stop first, and wait until they are gone."""
    params = {"propagationPolicy": "Foreground"}
    status, _ = await there.ask("DELETE", there.jobs(name), params=params, accept=(GONE,))
    while status != GONE:
        status, job = await there.ask("GET", there.jobs(name), accept=(GONE,))
        if status != GONE:
            named = {"fieldSelector": f"metadata.name={name}"}
            await there.changed(there.jobs(), job["metadata"]["resourceVersion"], named)

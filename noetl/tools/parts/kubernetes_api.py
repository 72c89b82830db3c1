"""The API of a Kubernetes cluster, as a credential names it: asked for objects, and watched.

What is asked of Jobs is `kubernetes_job.py`'s.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from urllib.parse import quote, urlsplit

from noetl.json_value import Json
from noetl.ports.call import Secret
from noetl.ports.envelope import Failed
from noetl.ports.network import Network
from noetl.tools.parts.container_engine import Door, Engine
from noetl.tools.parts.guard import connector
from noetl.tools.parts.tls import tls_of

WATCH_S = 60
REFUSALS = {401: "auth", 403: "auth", 404: "not_found"}


class Cluster(Engine):
    """A namespace of a cluster."""

    namespace = "default"

    def jobs(self, name: str = "") -> str:
        return f"/apis/batch/v1/namespaces/{self.namespace}/jobs" + (f"/{name}" if name else "")

    def core(self, kind: str, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/{kind}" + (f"/{name}" if name else "")

    async def changed(self, path: str, version: str, selected: Mapping[str, str]) -> bool:
        """Wait until objects have changed since a version; False when nothing is told for a while."""
        params = {**selected, "watch": "1", "resourceVersion": version, "timeoutSeconds": str(WATCH_S)}
        with suppress(TimeoutError):
            async with asyncio.timeout(WATCH_S), aclosing(self.stream("GET", path, params=params)) as told:
                async for _ in told:
                    return True
        return False

    def _refusal(self, status: int, told: Json) -> Failed:
        said = told.get("message") if isinstance(told, dict) else None
        message = f"{self.where}: {said or f'it answers with the status {status}'}"
        busy = status == 429 or status >= 500  # what it was asked may have been done: nothing is taken away
        kind = REFUSALS.get(status, "container")
        return Failed(kind, message, code=str(status), retryable=busy, answered=not busy)


@asynccontextmanager
async def cluster(
    secret: Secret, network: Network, connect_s: float, answer_s: float
) -> AsyncIterator[Cluster]:
    """The cluster that a credential names, for one call."""
    import aiohttp

    address = str(secret["kubernetes"])
    timeout = aiohttp.ClientTimeout(sock_connect=connect_s)
    headers = {"Authorization": f"Bearer {secret['token']}"} if secret.get("token") else {}
    door = Door(connector(network), _checked_address(address), tls_of(secret))
    async with aiohttp.ClientSession(
        connector=door.connector, timeout=timeout, trust_env=False, headers=headers
    ) as session:
        there = Cluster(session, door, f"the cluster at {address}", answer_s)
        there.namespace = quote(str(secret.get("namespace") or "default"), safe="")
        yield there


def _checked_address(address: str) -> str:
    """Over TLS alone: whoever hears the token is whom it names."""
    try:
        parts = urlsplit(address)
        fine = parts.scheme == "https" and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine or "@" in parts.netloc or parts.query or parts.fragment:
        hint = f"not {address[:100]!r}" if "@" not in address else "and holds no password"
        raise Failed("auth", f"the credential's 'kubernetes' is https://HOST:PORT, {hint}")
    return address.rstrip("/")

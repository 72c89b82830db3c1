"""A keychain to ask in tests, and servers that answer it."""

import json
from pathlib import Path
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from noetl.adapters.memory.store import MemoryStore
from noetl.adapters.secrets.keychain import Keychain
from noetl.adapters.secrets.sealed_credentials import Sealer
from noetl.dsl.load import load
from noetl.dsl.model import Secret

NOW = 1_700_000_000.0
KV = {"data": {"data": {"user": "app", "password": "pw-canary"}, "metadata": {"version": 3}}}


class World:
    """A keychain with an environment, a clock and a store that tests can change."""

    def __init__(self, folder: Path) -> None:
        self.environ: dict[str, str] = {}
        self.now = NOW
        store = MemoryStore(lambda: 1)
        self.keychain = Keychain(
            store, lambda: Sealer([b"k" * 32]), self.environ.get, folder, clock=lambda: self.now
        )

    async def get(self, kind: str, **source: Any) -> dict[str, Any]:
        """The material of an entry that is the playbook's own text, validated."""
        entry = {"name": "tok", "kind": kind, **source}
        return await self.keychain.material(entries_of(entry), "tok")


def entries_of(*entries: dict[str, Any]) -> tuple[Secret, ...]:
    text = (
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: p, path: p}\n"
        f"keychain: {json.dumps(entries)}\nworkflow: [{{step: a, tool: {{kind: noop}}}}]\n"
    )
    from noetl import tools

    loaded = load(text, kinds=tools.kinds())
    assert [d.message for d in loaded.diagnostics if d.severity == "error"] == []
    assert loaded.playbook is not None
    return loaded.playbook.keychain


def answers(httpserver: HTTPServer, method: str, path: str, *bodies: Any, status: int = 200) -> list[Request]:
    """Answer with the bodies in turn, the last one again and again; the requests that came."""
    seen: list[Request] = []

    def handle(request: Request) -> Response:
        request.get_data()
        seen.append(request)
        body = bodies[min(len(seen), len(bodies)) - 1]
        return Response(json.dumps(body), status, content_type="application/json")

    httpserver.expect_request(path, method=method).respond_with_handler(handle)
    return seen

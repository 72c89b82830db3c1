"""Targets over the network: an object that appears when it is whole, and an address that is sent chunks."""

import os
import tempfile
from contextlib import ExitStack
from io import BufferedReader

from noetl.ports.call import Call
from noetl.ports.envelope import Failed, Reference, reference
from noetl.tools.parts.content import MEDIA, encode, format_of
from noetl.tools.parts.transfer_files import FileWriter
from noetl.tools.parts.transfer_places import Row, Target, in_thread, require
from noetl.tools.parts.transfer_types import Types


def _open(path: str) -> BufferedReader:
    return open(path, "rb")


class ObjectWriter:
    """An object; its bytes are gathered in a file and sent at the end."""

    def __init__(self, target: Target, mode: str, call: Call) -> None:
        if mode != "replace":
            raise Failed("input", f"an object cannot be changed by {mode}; use mode: replace")
        self.store, self.key = require(target.store, "store", "object"), require(target.key, "key", "object")
        self.call = call
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="noetl-transfer-"))
        self.file = FileWriter.at(os.path.join(folder, "rows"), format_of(self.key, target.format))
        self.size = 0

    async def begin(self, columns: list[str], rows: list[Row], types: Types) -> None:
        await in_thread(self.file.begin, columns, rows, types)

    async def write(self, rows: list[Row]) -> None:
        await in_thread(self.file.write, rows)

    async def commit(self) -> None:
        await in_thread(self.file.commit)
        await self.send()

    async def send(self) -> None:
        """Send the file; the object is there when all of it has arrived."""
        from noetl.tools.parts.object_stores import bucket

        with await in_thread(_open, self.file.path) as file:
            self.size = os.fstat(file.fileno()).st_size
            await (await bucket(self.store, self.call)).put(self.key, file, "replace")

    async def aclose(self) -> None:
        await in_thread(self.stack.close)

    def ref(self) -> Reference:
        form = self.file.form
        meta = {"content_type": MEDIA[form], "bytes": self.size, "format": form}
        locator = {"store": self.store, "key": self.key, "tool": "object"}
        return reference("object_store", locator, auth=self.call.auth_name, meta=meta)


class HttpWriter:
    """An address; each chunk is one request, with a key by which a repeated one is known."""

    def __init__(self, target: Target, mode: str, call: Call) -> None:
        if mode != "append":
            raise Failed(
                "input", f"what was sent to an address cannot be changed by {mode}; use mode: append"
            )
        self.url, self.headers = require(target.url, "url", "http"), target.headers
        self.lines = target.format == "jsonl"
        if target.format not in (None, "json", "jsonl"):
            raise Failed("input", f"a transfer sends json or jsonl to an address, not {target.format}")
        self.call = call
        self.sent = 0

    async def begin(self, columns: list[str], rows: list[Row], types: Types) -> None:
        """There is nothing to prepare."""

    async def write(self, rows: list[Row]) -> None:
        from noetl.tools.http import Knobs, Request, send
        from noetl.tools.parts.http_answer import RETRYABLE

        self.sent += 1
        form = "jsonl" if self.lines else "json"
        key = f"{self.call.idempotency_key}-{self.sent}"
        headers = {"Content-Type": MEDIA[form], "Idempotency-Key": key, **(self.headers or {})}
        body = encode([*rows], "jsonl" if self.lines else "json").decode()
        request = Request(url=self.url, method="POST", headers=headers, body=body)
        async with send(request, Knobs(), self.call) as response:
            if not 200 <= response.status < 300:
                message = f"{self.url} answered {response.status} to chunk {self.sent}"
                again = response.status in RETRYABLE
                raise Failed("http", message, code=str(response.status), retryable=again)
            await response.read()

    async def commit(self) -> None:
        """Everything has been sent."""

    async def aclose(self) -> None:
        """What was sent cannot be taken back."""

    def ref(self) -> Reference | None:
        """Nobody knows where the rows are now."""
        return None

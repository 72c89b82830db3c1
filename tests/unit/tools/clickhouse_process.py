"""Calls kinds where ClickHouse's driver and chDB are, in an environment of their own: one call a line, one answer a line.

The first line says what the secret `house` is and which folders may be used.
"""

import asyncio
import sys
from typing import Any

import msgspec

from noetl import tools
from noetl.ports.call import Call, Resources
from noetl.ports.network import Network
from noetl.ports.tool import invoke


async def main(folder: str, house: str) -> None:
    resources = Resources()
    auth: dict[str, Any] = {"url": house}

    async def secret(name: str) -> dict[str, Any]:
        return auth

    usual: dict[str, Any] = {
        "work_dir": folder, "secret": secret, "auth": auth, "auth_name": "house", "roots": ("/",),
        "network": Network(("loopback",)), "idempotency_key": "key-1",
    }  # fmt: skip
    reading = asyncio.get_running_loop()
    while line := await reading.run_in_executor(None, sys.stdin.readline):
        asked = msgspec.json.decode(line)
        call = Call(None, resources, **(usual | asked["call"]))  # type: ignore[arg-type]
        answer = await invoke(tools.get(asked["kind"]), asked["input"], call)
        print(msgspec.json.encode(answer).decode(), flush=True)  # noqa: T201
    await resources.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

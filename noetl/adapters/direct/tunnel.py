"""A way through a forward proxy: CONNECT, and what the proxy answers."""

import asyncio
from base64 import b64encode
from urllib.parse import SplitResult, unquote, urlsplit

from noetl.errors import BackendError, RequestError

HEAD_BYTES = 16 * 1024
LATER = (408, 429)  # another try may go better
HINT = "NO_PROXY names hosts that are reached without a proxy"
_END = b"\r\n\r\n"


class _Asking(asyncio.Protocol):
    """What a proxy says before it leads on."""

    def __init__(self) -> None:
        self.head: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._heard = b""

    def data_received(self, data: bytes) -> None:
        """Hear its answer."""
        self._heard += data
        head, found, _ = self._heard.partition(_END)
        if self.head.done():
            return
        if found:
            self.head.set_result(head.decode("latin-1"))
        elif len(self._heard) > HEAD_BYTES:
            self.head.set_exception(OSError("its answer has no end"))

    def connection_lost(self, exc: Exception | None) -> None:
        """It hung up."""
        if not self.head.done():
            self.head.set_exception(exc or OSError("it hung up"))


async def tunnel(proxy: str, host: str, port: int) -> asyncio.Transport:
    """A connection to a host that a proxy made; raises OSError, BackendError or RequestError."""
    parts, loop = urlsplit(proxy), asyncio.get_running_loop()
    place = f"{parts.hostname}:{parts.port or 80}"
    transport, asking = await loop.create_connection(_Asking, parts.hostname or "", parts.port or 80)
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}", *_login(parts)]
    transport.write("\r\n".join([*lines, "", ""]).encode())
    led = False
    try:
        refused = _refusal(await asking.head, place, target)
        if refused is not None:
            raise refused
        led = True
    finally:
        if not led:
            transport.abort()
    return transport


def _login(proxy: SplitResult) -> list[str]:
    if proxy.username is None:
        return []
    word = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return [f"Proxy-Authorization: Basic {b64encode(word.encode()).decode()}"]


def _refusal(head: str, proxy: str, target: str) -> RequestError | BackendError | None:
    said = head.partition("\r\n")[0].partition(" ")[2]
    status = said[:3]
    if status.isdigit() and 200 <= int(status) < 300:
        return None
    final = status.isdigit() and 400 <= int(status) < 500 and int(status) not in LATER
    message = f"the proxy {proxy} does not lead to {target}: it answers {said[:80] or 'nothing'}"
    return (RequestError if final else BackendError)(message, hint=HINT)

"""One connection to a server: requests and answers as JSON, every failure as one of our errors."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from noetl.adapters.forward_proxy import forward_proxy
from noetl.adapters.http.problem import error_of
from noetl.adapters.http.silence import Silence
from noetl.errors import BackendError, RequestError

PREFIX = "/api/v1"
CONNECT_S = 10.0
ANSWER_S = 120.0  # a wish may wait for the process that runs the execution
IDLE_S = 3.0  # servers close a connection that was idle for 5 s: what is sent just then is lost with it
TOO_MANY = 429
TRIES = 5
HINT = "noetl server start, or look what is wrong with: noetl doctor"
CERTIFICATE_HINT = "let SSL_CERT_FILE name the authority that signed it"
PROXY_HINT = "HTTPS_PROXY names the proxy, and NO_PROXY hosts that are reached without it"

Query = Mapping[str, str | int | bool | None]


class Client:
    """Speaks to one server under one token. Opened when it is first used; close it."""

    def __init__(
        self, url: str, token: str | None = None, notify: Callable[[str], None] | None = None
    ) -> None:
        self.url = address(url)
        self._token = token
        self._silence = None if notify is None else Silence(self.url, self._session_of, notify)
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # the session's, which works in no other
        self.answered = False  # whether it ever did

    def _session_of(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is not None and self._loop is not loop:
            message = "this client was used in another event loop before"
            raise RequestError(message, hint="make one in each event loop, as with: async with")
        if self._session is None:
            self._loop = loop
            headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
            timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_S, sock_read=ANSWER_S)
            unbound = aiohttp.TCPConnector(  # a question that waits must not hold up others
                limit=0, keepalive_timeout=IDLE_S
            )
            self._session = aiohttp.ClientSession(
                headers=headers,
                timeout=timeout,
                auto_decompress=True,
                connector=unbound,
                proxy=forward_proxy(self.url),
            )
        return self._session

    async def close(self) -> None:
        """Let go of the connection."""
        if self._session is not None:
            await self._session.close()

    async def ask(
        self, method: str, path: str, *, query: Query | None = None, body: object = None, prefix: str = PREFIX
    ) -> Any:
        """What the server answers, as a value; raises the error that it answers with."""
        return (await self.answer(method, path, query=query, body=body, prefix=prefix))[1]

    async def answer(
        self, method: str, path: str, *, query: Query | None = None, body: object = None, prefix: str = PREFIX
    ) -> tuple[int, Any]:
        """The status and the value that the server answers with; raises the error that it answers with."""
        for attempt in range(1, TRIES + 1):
            async with self.open(method, path, query=query, body=body, prefix=prefix) as answer:
                content = await self._content(answer)
                if answer.status == TOO_MANY and attempt < TRIES:
                    wait = answer.headers.get("Retry-After", "1")
                elif answer.status >= 300:
                    raise error_of(self.url, answer.status, content)
                else:
                    return answer.status, self._value(content)
            await asyncio.sleep(min(30, int(wait)) if wait.isdecimal() else 1)
        raise AssertionError("the last try answers or raises")

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        prefix: str = PREFIX,
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """An answer whose content is still to be read; raises BackendError when there is none.

        What is sent is JSON: a value as `body`, or bytes that are some already as `content`.
        """
        url = URL(f"{self.url}{prefix}{path}", encoded=True).with_query(_query(query))
        data = content if body is None else msgspec.json.encode(body)
        sent = {**({"Content-Type": "application/json"} if data is not None else {}), **(headers or {})}
        asked = self._session_of().request(method, url, data=data, headers=sent, allow_redirects=False)
        try:
            async with self._watched(query) as heard, asked as answer:
                heard()
                self.answered = True
                yield answer
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError) as error:
            raise self.unreachable(error, sent=method != "GET") from error
        except aiohttp.ClientHttpProxyError as error:
            message = f"the proxy before {self.url} does not lead there: {error.status} {error.message}"
            raise BackendError(message, hint=PROXY_HINT) from error
        except aiohttp.ClientResponseError as error:  # raised for what is no HTTP at all
            message = f"what answers at {self.url} is no NoETL server: it does not speak HTTP"
            raise BackendError(message, hint=HINT) from error
        except aiohttp.ClientError as error:
            message = f"the server at {self.url} was not understood: {type(error).__name__}: {error}"
            raise BackendError(message, hint=HINT) from error

    def _watched(self, query: Query | None) -> AbstractAsyncContextManager[Callable[[], object]]:
        """Whoever asked the server to wait is not told that it does."""
        if self._silence is None or (query or {}).get("wait"):
            return nullcontext(bool)
        return self._silence.watched()

    def unreachable(self, error: BaseException, *, sent: bool = False) -> BackendError:
        """The error of a server that does not answer; `sent`: it may have been told to do something."""
        words = _words(error)
        if sent and not isinstance(error, aiohttp.ClientConnectorError):
            message = (
                f"the server at {self.url} did not answer: {words}; what was asked of it may have happened"
            )
            return BackendError(message, hint="look before you ask again, as with: noetl execution list")
        hint = CERTIFICATE_HINT if isinstance(error, aiohttp.ClientConnectorCertificateError) else HINT
        return BackendError(f"the server at {self.url} cannot be reached: {words}", hint=hint)

    async def _content(self, answer: aiohttp.ClientResponse) -> bytes:
        if 300 <= answer.status < 400:
            place = answer.headers.get("Location", "nowhere")
            message = f"the server at {self.url} sends elsewhere, to {place}; nothing is sent there unasked"
            raise RequestError(message, hint="name the server by its own address")
        return await answer.read()

    def _value(self, content: bytes) -> Any:
        if not content:
            return None
        try:
            value = msgspec.json.decode(content)
        except (msgspec.DecodeError, RecursionError):
            raise _not_ours(self.url, "it did not send JSON") from None
        return Answer(self.url, value) if isinstance(value, dict) else value


class Answer(dict[str, Any]):
    """What a server answered, in which everything is that a NoETL server sends."""

    def __init__(self, url: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self._url = url

    def __missing__(self, name: str) -> Any:
        raise _not_ours(self._url, f"its answer has no {name!r}")


def _not_ours(url: str, why: str) -> BackendError:
    return BackendError(f"what answers at {url} is no NoETL server: {why}", hint=HINT)


def _words(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return "the connection was cut"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = error.certificate_error
        return f"its certificate is not believed: {getattr(why, 'verify_message', '') or why}"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return f"no TLS: {error.os_error.strerror}"
    number = getattr(getattr(error, "os_error", None), "errno", None)
    words = os.strerror(number) if number and number > 0 else str(error) or type(error).__name__
    return f"the proxy: {words}" if isinstance(error, aiohttp.ClientProxyConnectionError) else words


def _query(query: Query | None) -> dict[str, str]:
    parameters = {name: value for name, value in (query or {}).items() if value is not None}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in parameters.items()
    }


def address(url: str) -> str:
    """The address of a server, without what is added to it; raises RequestError."""
    try:
        parsed = URL(url.strip())
    except ValueError:
        parsed = URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise RequestError(f"'{url}' is no address of a server", hint="as in http://127.0.0.1:8080")
    if parsed.user is not None:
        raise RequestError("a server's address has no user in it", hint="give a token instead")
    path = parsed.path.rstrip("/").removesuffix(PREFIX)
    return str(parsed.with_path(path).with_query(None).with_fragment(None)).rstrip("/")

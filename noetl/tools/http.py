"""Sends one HTTP request and answers with the parsed body.

Any 2xx answer is ok. Every other status is an error of kind `http` with the body still in `data`, so that
rules can look at it, and its beginning as text in `error.details.body`. Connections are kept and shared by
all tasks of a worker.

`output.http` is `{status, headers, url, request_id}` with lower-case header names. `error.retryable` says
whether another try can help: it is true for refused and broken connections, timeouts, and the statuses 408,
425, 429 and 5xx. Other error kinds are `dns`, `connect`, `tls`, `timeout`, `redirect`, `network`
and `too_large`.

Names are resolved once and only addresses that the deployment allows are connected to, redirects included:
a loopback, link-local, private or otherwise special address is error kind `network`, unless
`NOETL_ALLOW_NETWORKS` allows it. `noetl run` on your own machine allows loopback.

With `auth: NAME` the request carries a bearer token, basic credentials or an API key from that secret; it
is sent to the first host only, never to where a redirect leads. The fields of the secret say which: `token`
(or `value`); `username` and `password`; `value` with `header`, the name of its header, or with `param`, the
name of its parameter, and perhaps a `prefix`. When it is answered 401 and the secret is one that is fetched,
such as `oauth2`, a new token is asked for and the request sent once more. Digests are not spoken.

A body is text where its type says so, as CSV, XML, YAML and JSON lines do. It is read in the charset that it
names, else as UTF-8; what is none of it becomes U+FFFD, and `response: bytes` gives it as it came.

With `spec: {idempotency: true}` the request carries an `Idempotency-Key` that stays the same when the engine
has to repeat a call whose answer it never saw; 502 and 504 are a gateway's words for that. A worker that
traces sends its W3C `traceparent` with the request.

A body over `spec.limits.max_hydrate_bytes` (16 MiB) goes into the result store while it arrives, and
`output.ref` says where; so does every body with `response: ref`. Nothing over
`spec.max_response_bytes` (1 GiB, counted after decompression) is read.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

from noetl import __version__
from noetl.dsl.yaml.tree import Value
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, error, ok
from noetl.ports.network import Network
from noetl.ports.tool import Input, Seconds, Size, define, doc, read_knobs
from noetl.tools.parts import http_answer, http_request
from noetl.tools.parts.paths import inside

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout

    from noetl.tools.parts.http_exchange import Answer

UNAUTHORIZED = 401
EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: http, path: tools/http}
workload: {api_url: "http://127.0.0.1:8081"}
workflow:
  - step: start
    tool:
      kind: http
      input:
        url: "{{ workload.api_url }}/items"
        params: {page: 1, tag: [red, blue]}
      spec:
        timeout: {connect: 5, read: 15}
        policy:
          rules:
            - when: "{{ output.status == 'error' and output.error.retryable }}"
              then: {do: retry, attempts: 5, backoff: exponential, delay: 0.5, jitter: true}
            - when: "{{ output.status == 'error' }}"
              then: {do: fail}
            - else: {then: {do: continue}}
"""

Scalar = str | int | float | bool
GIB = 1024**3
HOLD_BYTES = 16 * 1024**2
CONNECT_S, READ_S = 10.0, 60.0
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


class Part(Input):
    """One file of a multipart body."""

    path: Annotated[str | None, doc("The file to send, inside the allowed folders.")] = None
    content: Annotated[str | None, doc("The text to send instead of a file.")] = None
    filename: Annotated[str | None, doc("The name to send it under.")] = None
    content_type: Annotated[str | None, doc("Its media type.")] = None


class Request(Input):
    """The request."""

    url: Annotated[str, doc("Where to, as `http://` or `https://`.")]
    method: Annotated[str, doc("The method, in any case.", examples=METHODS)] = "GET"
    headers: Annotated[dict[str, Scalar | None] | None, doc("Headers to send.")] = None
    params: Annotated[
        dict[str, Scalar | list[Scalar] | None] | None,
        doc("Query parameters. A list repeats its key; `null` leaves it out."),
    ] = None
    json: Annotated[Any, doc("A value to send as a JSON body.")] = None
    body: Annotated[str | None, doc("Text to send as the body; a mapping or list goes into `json`.")] = None
    form: Annotated[
        dict[str, Scalar | list[Scalar] | None] | None, doc("Fields to send as an HTML form.")
    ] = None
    files: Annotated[
        dict[str, str | Part] | None,
        doc("Files to send as a multipart body, by field: a path, or a mapping."),
    ] = None
    follow_redirects: Annotated[bool, doc("Whether redirects are followed, at most ten of them.")] = True
    verify: Annotated[bool | str, doc("Whether TLS certificates are checked, or a file of authorities.")] = (
        True
    )
    response: Annotated[
        Literal["auto", "json", "text", "bytes", "ref"],
        doc("How the body is read: by its content type, as one of these, or stored by reference."),
    ] = "auto"


class Timeouts(Input):
    """How long each part of a request may take."""

    connect: Annotated[Seconds | None, doc("Seconds to reach the host, TLS included.")] = None
    read: Annotated[Seconds | None, doc("Seconds between two pieces of the answer.")] = None


class Knobs(Input):
    timeout: Annotated[Seconds | Timeouts | None, doc("Seconds for one attempt, or `{connect, read}`.")] = (
        None
    )
    idempotency: Annotated[bool, doc("Send an idempotency key with the request.")] = False
    idempotency_header: Annotated[str | None, doc("The header for the key; naming one turns it on.")] = None
    max_response_bytes: Annotated[Size, doc("The largest body that is read, after decompression.")] = GIB


class Session:
    """The connections that all requests of a worker share; no cookie passes from one task to another."""

    def __init__(self, network: Network) -> None:
        import aiohttp

        from noetl.tools.parts.guard import connector
        from noetl.tools.parts.http_exchange import Exchanges

        agent = {"User-Agent": f"noetl/{__version__}"}
        self.client: ClientSession = aiohttp.ClientSession(
            connector=connector(network), cookie_jar=aiohttp.DummyCookieJar(), headers=agent
        )
        self.exchanges = Exchanges(self.client)
        self._trusted: dict[str, ssl.SSLContext] = {}

    def trust(self, verify: bool | str, call: Call) -> "ssl.SSLContext | bool":
        """How certificates are checked: as usual, not at all, or against a file of authorities."""
        if isinstance(verify, bool):
            return verify
        path = inside(call, verify)
        if path not in self._trusted:
            import ssl

            try:
                self._trusted[path] = ssl.create_default_context(cafile=path)
            except (OSError, ssl.SSLError) as problem:
                raise Failed("tls", f"the authorities in {verify!r} cannot be read: {problem}") from None
        return self._trusted[path]

    async def close(self) -> None:
        """Close every connection."""
        await self.client.close()


def shared_session(call: Call) -> Session:
    """The connections of the worker, within what its deployment allows."""
    return call.resource(_session_name(call.network.allow), partial(Session, call.network))


@cache
def _session_name(allow: tuple[str, ...]) -> str:
    return f"http {allow}"


async def run(request: Request, call: Call) -> Envelope:
    """Send the request and answer with the body, or with why there is none."""
    knobs: Knobs = read_knobs(Knobs, call)
    output = await _attempt(request, knobs, call)
    if call.auth is None or output.get("http", {}).get("status") != UNAUTHORIZED:
        return output
    newer = await call.renew_auth()
    return output if newer is None else await _attempt(request, knobs, replace(call, auth=newer))


async def _attempt(request: Request, knobs: Knobs, call: Call) -> Envelope:
    import asyncio

    import aiohttp

    total = _total(knobs)
    try:
        if total is None:
            return await _exchange(request, knobs, call)
        async with asyncio.timeout(total):
            return await _exchange(request, knobs, call)
    except (aiohttp.ClientError, OSError, ValueError, TypeError) as problem:
        raise _failure(problem, request.url) from None


async def _exchange(request: Request, knobs: Knobs, call: Call) -> Envelope:
    async with await _begin(request, knobs, call) as response:
        return await _answer(response, request, knobs, call)


@asynccontextmanager
async def send(request: Request, knobs: Knobs, call: Call) -> AsyncIterator["Answer | ClientResponse"]:
    """The answer to a request, its body still to be read; what goes wrong is the call's failure."""
    import asyncio

    import aiohttp

    try:
        async with asyncio.timeout(_total(knobs)), await _begin(request, knobs, call) as response:
            yield response
    except (aiohttp.ClientError, OSError, ValueError, TypeError) as problem:
        raise _failure(problem, request.url) from None


async def _begin(request: Request, knobs: Knobs, call: Call) -> "Answer | ClientResponse":
    if not request.url[:8].lower().startswith(("http://", "https://")):
        raise Failed("input", f"not an http:// or https:// address: {request.url}")
    session = shared_session(call)
    options = await _options(request, knobs, call)
    options["ssl"] = session.trust(request.verify, call)
    credentials = http_request.auth_headers(call.auth) if call.auth else {}
    if credentials:
        from yarl import URL

        options["middlewares"] = (http_request.for_origin(URL(request.url).origin(), credentials),)
    method = request.method.upper()
    answer = await session.exchanges.ask(method, request.url, options, credentials)
    return answer or await session.client.request(method, request.url, **options)


def _failure(problem: "ClientError | OSError | ValueError | TypeError", url: str) -> Failed:
    """What the client raised as the failure of a call."""
    import aiohttp

    if isinstance(problem, aiohttp.ClientError | OSError):
        return http_answer.failure(problem, url)
    return Failed("input", f"the request cannot be sent: {problem}")  # a newline in a header, …


async def _options(request: Request, knobs: Knobs, call: Call) -> dict[str, Any]:
    headers = http_request.plain_headers(request.headers)
    if knobs.idempotency or knobs.idempotency_header:
        headers.setdefault(knobs.idempotency_header or "Idempotency-Key", call.idempotency_key)
    if call.trace is not None:
        headers.setdefault("traceparent", call.trace)
    options: dict[str, object] = {
        "params": http_request.pairs(request.params)
        + (http_request.auth_query(call.auth) if call.auth else []),
        "allow_redirects": request.follow_redirects,
        "max_redirects": 10,
        "timeout": _timeout(knobs),
    }
    options["data"] = await _body(request, headers, call)
    options["headers"] = headers
    return options


def _timeout(knobs: Knobs) -> "ClientTimeout":
    parts = knobs.timeout
    if isinstance(parts, Timeouts):
        return _timeouts(None, parts.connect or CONNECT_S, parts.read or READ_S)
    return _timeouts(parts, CONNECT_S, parts or READ_S)


def _total(knobs: Knobs) -> float | None:
    """Seconds for the whole of an attempt."""
    return knobs.timeout if isinstance(knobs.timeout, float) else None


@lru_cache
def _timeouts(total: float | None, connect: float, read: float) -> "ClientTimeout":
    from aiohttp import ClientTimeout

    return ClientTimeout(total=total, connect=connect, sock_connect=connect, sock_read=read)


async def _body(request: Request, headers: dict[str, str], call: Call) -> object:
    if request.json is None and request.body is None and request.form is None and not request.files:
        return None
    bodies = [name for name in ("json", "body", "form") if getattr(request, name) is not None]
    if len(bodies) > 1 or (request.files and {"json", "body"} & set(bodies)):
        raise Failed("input", f"http sends one body; it was given {' and '.join(bodies)}")
    if request.json is not None:
        _content_type(headers, "application/json")
        return http_request.json_body(request.json)
    if request.body is not None:
        _content_type(headers, "text/plain; charset=utf-8")
        return request.body.encode()
    return http_request.multipart(http_request.pairs(request.form), await _files(request.files or {}, call))


def _content_type(headers: dict[str, str], media: str) -> None:
    if not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = media


async def _files(files: Mapping[str, str | Part], call: Call) -> list[dict[str, object]]:
    import asyncio

    parts = []
    for field, part in files.items():
        part = Part(path=part) if isinstance(part, str) else part
        if (part.path is None) == (part.content is None):
            raise Failed("input", f"file {field!r} needs exactly one of path, content")
        path = inside(call, part.path) if part.path is not None else ""
        content: object = await asyncio.to_thread(_open, path) if path else (part.content or "").encode()
        name = part.filename or os.path.basename(path) or field
        parts.append({"field": field, "content": content, "filename": name, "type": part.content_type})
    return parts


def _open(path: str) -> BinaryIO:
    try:
        return open(path, "rb")  # the client closes what it has sent
    except OSError as problem:
        raise Failed("not_found", f"the file to send cannot be read: {problem}") from None


async def _answer(
    response: "Answer | ClientResponse", request: Request, knobs: Knobs, call: Call
) -> Envelope:
    hidden = str(call.auth["param"]) if call.auth and "param" in call.auth else None
    http = http_answer.http_part(response, hidden)
    hold = call.limit("max_hydrate_bytes", HOLD_BYTES)
    try:
        body = await http_answer.read_body(
            response, request.response, http_answer.Bounds(hold, knobs.max_response_bytes), call.payloads
        )
    except Failed as failure:
        return failure.output | {"http": http}
    parts: dict[str, Value] = {"http": http} if body.ref is None else {"http": http, "ref": body.ref}
    if not 200 <= response.status < 300:
        message = (
            f"{response.method} {http['url']} answered {response.status} {response.reason or ''}".rstrip()
        )
        parts |= {
            "details": http_answer.beginning(body, response),
            "retryable": response.status in http_answer.RETRYABLE,
        }
        parts |= {"answered": response.status not in http_answer.UNANSWERED}
        return error("http", message, code=str(response.status), data=body.data, **parts)
    if body.problem is not None:
        parts |= {"details": http_answer.beginning(body, response)}
        return error("body", body.problem, code="json", data=body.data, **parts)
    return ok(body.data, **parts)


TOOL = define(
    "http",
    __doc__,
    Request,
    run,
    knobs=Knobs,
    returns="the body: parsed when it is JSON, else text; bytes as base64",
    helper="http",
    example=EXAMPLE,
)

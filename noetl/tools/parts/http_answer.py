"""What comes back from an HTTP request: the body in the form that was asked for, or why there is none."""

import base64
import codecs
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from noetl.core.values.nesting import NESTED_MOST, TOO_DEEP, is_too_deep
from noetl.json_value import Json
from noetl.ports.call import CallPayloads
from noetl.ports.envelope import Envelope, Failed, Reference, error
from noetl.ports.values import ValueProblem, to_json
from noetl.tools.parts.guard import Refused, may_be_found_later
from noetl.tools.parts.paths import errno_name

if TYPE_CHECKING:
    from aiohttp import ClientError, ClientResponse

    from noetl.tools.parts.http_exchange import Answer

CHUNK = 64 * 1024
OPENING_BYTES = 8 * 1024  # more than is shown: secrets are taken out before it is cut
RETRYABLE = frozenset({408, 425, 429, *range(500, 600)})
UNANSWERED = frozenset({502, 504})
"""What a gateway says when it has seen no answer: the request may have been carried out behind it."""
_TEXT_TYPES = (
    "text/", "application/xml", "application/javascript", "application/x-www-form-urlencoded",
    "application/x-ndjson", "application/jsonl", "application/csv", "application/yaml", "application/x-yaml",
)  # fmt: skip


@dataclass(slots=True)
class Body:
    """A body: its value, or where it was stored; `problem` says why it could not be parsed."""

    data: Json = None
    ref: Reference | None = None
    problem: str | None = None
    opening: bytes = b""  # how it begins


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a body is held in memory, and how much is read at all."""

    hold: int
    read: int


def http_part(response: "Answer | ClientResponse", hidden: str | None) -> dict[str, Json]:
    """The envelope's `http`; a query parameter that carried a secret is left out of the address."""
    headers: dict[str, Json] = {}
    for name, value in response.headers.items():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    url = str(response.url) if hidden is None else _without(str(response.url), hidden)
    request_id = headers.get("x-request-id") or headers.get("request-id")
    return {"status": response.status, "headers": headers, "url": url, "request_id": request_id}


def _without(url: str, param: str) -> str:
    from yarl import URL

    return str(URL(url).without_query_params(param))


async def read_body(
    response: "Answer | ClientResponse", mode: str, bounds: Bounds, payloads: CallPayloads
) -> Body:
    """The body by mode; one that is too large to hold goes into the result store while it arrives."""
    size = response.content_length
    if size is not None and size > bounds.read:
        raise _too_large(bounds.read, f"{size} bytes were announced")
    if (
        size is not None
        and size <= bounds.hold
        and mode != "ref"
        and "content-encoding" not in response.headers
    ):
        return _parsed(await response.read(), mode, response)
    chunks = pieces(response, bounds.read)
    buffer: list[bytes] = []
    size = 0
    async for chunk in chunks:
        buffer.append(chunk)
        size += len(chunk)
        if size > bounds.hold or mode == "ref":
            break
    opening = b"".join(buffer)
    if mode == "ref" or size > bounds.hold:
        ref = await payloads.put_stream(_then(buffer, chunks), response.content_type)
        return Body(ref=ref, opening=opening[:OPENING_BYTES])
    return _parsed(opening, mode, response)


def _parsed(raw: bytes, mode: str, response: "Answer | ClientResponse") -> Body:
    kind = response.headers.get("content-type", "")
    body = parse(raw, mode, kind, response.charset if ";" in kind else None)
    body.opening = raw[:OPENING_BYTES]
    return body


def beginning(body: Body, response: "Answer | ClientResponse") -> dict[str, Json]:
    """The error detail that says how a body begins; of one that is no text, what it is."""
    raw = body.opening
    if not raw:
        return {}
    text = raw.decode(_charset(response.charset), errors="replace").removeprefix("\ufeff")
    odd = sum(not (char.isprintable() or char in "\r\n\t") for char in text) + text.count("\ufffd")
    if odd > len(text) // 20 + 1:
        size = f"{response.content_length} bytes, " if response.content_length else ""
        return {"body": f"({size}{response.content_type}, not text)"}
    return {"body": text.replace("\0", "\ufffd")}


async def pieces(response: "Answer | ClientResponse", limit: int) -> AsyncIterator[bytes]:
    """The body's pieces, decompressed; more than the limit is an error, not a full memory."""
    size = 0
    async for chunk in response.content.iter_chunked(CHUNK):
        size += len(chunk)
        if size > limit:
            raise _too_large(limit, "more arrived")
        yield chunk


async def _then(buffer: list[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in buffer:
        yield chunk
    async for chunk in rest:
        yield chunk


def _too_large(limit: int, size_seen: str) -> Failed:
    return Failed(
        "too_large", f"the body is over {limit} bytes ({size_seen}); raise spec.max_response_bytes to read it"
    )


def parse(raw: bytes, mode: str, content_type: str, charset: str | None) -> Body:
    """The bytes as JSON, text or base64, by mode or by what the server says they are."""
    media = content_type.partition(";")[0].strip().lower()
    if mode == "bytes":
        return Body(base64.b64encode(raw).decode())
    if mode == "text":
        return Body(_text(raw, charset))
    if mode == "json" or media == "application/json" or media.endswith("+json"):
        return _json(raw, charset)
    if not raw:
        return Body(None)
    if not media:
        guessed = _json(raw, charset)
        return guessed if guessed.problem is None else Body(_text_or_base64(raw))
    if media.startswith(_TEXT_TYPES) or media.endswith("+xml") or charset:
        return Body(_text(raw, charset))
    return Body(base64.b64encode(raw).decode())


def _json(raw: bytes, charset: str | None) -> Body:
    if not raw.strip():
        return Body(None)
    try:
        value = msgspec.json.decode(raw.removeprefix(codecs.BOM_UTF8))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        message = _half_character(raw) or f"the body is not JSON: {problem}"
        return Body(_text(raw, charset), problem=message)
    if raw.count(b"[") + raw.count(b"{") > NESTED_MOST and is_too_deep(value):
        return Body(_text(raw, charset), problem=f"the body cannot be kept: {TOO_DEEP}")
    # Only an escape can smuggle in what a JSON text may hold and the log may not.
    return Body(to_json(value) if b"\\u0000" in raw else value)


def _half_character(raw: bytes) -> str | None:
    """What is wrong with a body that is JSON but for half of a surrogate pair."""
    try:
        to_json(json.loads(raw))
    except ValueProblem as problem:
        return f"the body cannot be kept: {problem.message}"
    except (ValueError, RecursionError):
        return None
    return None


def _text(raw: bytes, charset: str | None) -> str:
    return to_json(raw.decode(_charset(charset), errors="replace"))


def _charset(name: str | None) -> str:
    """An encoding that Python knows and that makes text."""
    try:
        b" ".decode(name or "utf-8", errors="replace")
    except LookupError:
        return "utf-8"
    return name or "utf-8"


def _text_or_base64(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return base64.b64encode(raw).decode()
    return base64.b64encode(raw).decode() if "\0" in text else text


def explain(problem: "ClientError | TimeoutError | OSError", url: str) -> Envelope:
    """An error envelope from what the client raised, with what we know about trying again."""
    import aiohttp

    def say(kind: str, what: str, *, code: str | None = None, retryable: bool = False) -> Envelope:
        return error(kind, f"{what}: {url}", code=code, retryable=retryable)

    match problem:
        case aiohttp.ClientConnectorError(os_error=Refused() as refused):
            return say("network", refused.sentence, code=refused.address_class)
        case aiohttp.ClientConnectorDNSError():
            again = may_be_found_later(problem.os_error)
            return say("dns", f"the host {problem.host!r} cannot be found", retryable=again)
        case aiohttp.ClientSSLError():
            return say("tls", f"TLS failed ({problem})", code=type(problem.os_error).__name__)
        case aiohttp.ClientConnectorError():
            what = f"cannot connect to {problem.host}:{problem.port} ({_words(problem)})"
            return say("connect", what, code=errno_name(problem), retryable=True)
        case aiohttp.ConnectionTimeoutError():
            return say("timeout", "no connection in time", code="connect", retryable=True)
        case aiohttp.SocketTimeoutError():
            return say("timeout", "the answer stopped arriving", code="read", retryable=True)
        case TimeoutError():
            return say("timeout", "no answer in time", code="total", retryable=True)
        case aiohttp.TooManyRedirects():
            return say("redirect", "more than ten redirects")
        case aiohttp.RedirectClientError():
            return say("redirect", f"a redirect leads to an address that cannot be used ({problem})")
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return say("input", "not an http:// or https:// address")
        case aiohttp.ClientPayloadError() if _is_encoding(problem):
            return say("body", f"the body cannot be decompressed ({problem})", code="encoding")
        case aiohttp.ClientResponseError():
            return say(
                "protocol", f"the answer is not valid HTTP ({problem.message})", code=str(problem.status)
            )
        case _:
            return say("connect", f"the connection broke ({problem})", code="disconnected", retryable=True)


def failure(problem: "ClientError | TimeoutError | OSError", url: str) -> Failed:
    """What the client raised, as the failure of a call."""
    message = explain(problem, url)["error"]
    return Failed(message["kind"], message["message"], code=message["code"], retryable=message["retryable"])


def _is_encoding(problem: BaseException) -> bool:
    cause = problem.__cause__ or problem.__context__
    return "encoding" in f"{problem} {cause!r}".lower()


def _words(problem: OSError) -> str:
    """Why there is no connection, without the driver's own words for it."""
    number = problem.errno
    return os.strerror(number) if number and number > 0 else str(problem)

"""What a provider of secrets is handed, and how it speaks HTTP. Which requests to send is each provider's."""

import asyncio
import base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import msgspec

from noetl.errors import BackendError, NotFound
from noetl.json_value import Json, JsonObject

if TYPE_CHECKING:
    from aiohttp import BaseConnector, StreamReader

TIMEOUT_S = 15.0
ANSWER_MAX = 1024**2

Connector = Callable[[], "BaseConnector"]


class RequestOptions(TypedDict, total=False):
    """What may go with a request."""

    headers: Mapping[str, str]
    params: Mapping[str, str]
    data: Mapping[str, str] | bytes
    json: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said: its status, and its body when that is JSON."""

    status: int
    body: Json

    def reason(self) -> str:
        """The server's own words about what went wrong, as far as there are any."""
        body = self.body if isinstance(self.body, dict) else {}
        words = [body.get(name) for name in ("error_description", "message", "Message", "errors", "error")]
        reason = next((word for word in words if word), "")
        text = reason.get("message", "") if isinstance(reason, dict) else reason
        return f": {str(text)[:200]}" if text else ""


@dataclass(frozen=True, slots=True)
class Ask:
    """One keychain entry: its fields as values, and what fetching it may use."""

    what: str  # how the entry is called in messages
    fields: Mapping[str, Json]
    written: frozenset[str]  # the fields whose value stands in the playbook itself
    environ: Callable[[str], str | None]
    clock: Callable[[], float]  # seconds since 1970
    connector: Connector | None = None  # for addresses that a playbook names; None: anything may be reached
    place: Callable[[str], Path] = Path  # where a file is that a playbook names; NotFound when it may not

    def text(self, name: str, variable: str | None = None, default: str | None = None) -> str:
        """A field, or an environment variable, or a default; NotFound when there is none of them."""
        value = self.optional(name, variable) or default
        if value is None:
            instead = f", or set {variable}" if variable else ""
            raise NotFound(f"{self.what}: it has no {name}; write {name}: …{instead}")
        return value

    def optional(self, name: str, variable: str | None = None) -> str | None:
        """A field or an environment variable, when there is one."""
        value = self.fields.get(name)
        if value is None and variable is not None:
            value = self.environ(variable)
        return None if value is None or value == "" else str(value)

    async def file(self, path: str) -> str:
        """The text of a file of this machine that the deployment names."""
        return await self._text(path, Path)

    async def named_file(self, path: str) -> str:
        """The text of a file that a playbook may name."""
        return await self._text(path, self.place)

    async def _text(self, path: str, place: Callable[[str], Path]) -> str:
        try:
            return (await asyncio.to_thread(lambda: place(path).read_text())).strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise NotFound(f"{self.what}: the file {path} cannot be read: {problem}") from None

    async def send(
        self,
        method: str,
        url: str,
        *,
        named_by: str | None = None,
        authority: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Answer:
        """One request; `named_by` is the field that the address came from, when a playbook may name it."""
        import ssl

        import aiohttp

        guarded = named_by in self.written and self.connector is not None
        trust = await asyncio.to_thread(ssl.create_default_context, cafile=authority) if authority else True
        session = aiohttp.ClientSession(
            connector=self.connector() if guarded and self.connector is not None else None,
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        try:
            async with (
                session,
                session.request(method, url, allow_redirects=False, ssl=trust, **options) as answer,
            ):
                return Answer(answer.status, _json(await self._body(url, answer.content)))
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
            raise NotFound(f"{self.what}: {url} is no http:// or https:// address") from None
        except (aiohttp.ClientError, OSError, TimeoutError) as problem:
            message = str(getattr(getattr(problem, "os_error", None), "sentence", "") or problem)
            message = message or "no answer in time"
            raise BackendError(
                f"{self.what}: {_place(url)} cannot be reached: {message}", hint="try again"
            ) from None

    async def _body(self, url: str, content: "StreamReader") -> bytes:
        """All of an answer: it comes in pieces."""
        body = bytearray()
        async for piece in content.iter_any():
            body += piece
            if len(body) > ANSWER_MAX:
                raise NotFound(f"{self.what}: {_place(url)} answered with more than {ANSWER_MAX} bytes")
        return bytes(body)

    async def json(
        self,
        method: str,
        url: str,
        *,
        named_by: str | None = None,
        authority: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> JsonObject:
        """The JSON of a good answer; what is missing or refused is NotFound, a broken server BackendError."""
        answer = await self.send(method, url, named_by=named_by, authority=authority, **options)
        if 200 <= answer.status < 300 and isinstance(answer.body, dict):
            return answer.body
        raise self.refusal(url, answer)

    def refusal(self, url: str, answer: Answer) -> NotFound | BackendError:
        """Why there is no secret in an answer."""
        message = f"{self.what}: {_place(url)} answered {answer.status}{answer.reason()}"
        if answer.status == 429 or answer.status >= 500:
            return BackendError(message, hint="try again")
        return NotFound(message, hint="look at the entry's fields and at what its login may read")


def _json(raw: bytes) -> Json:
    value: Json = None
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        value = msgspec.json.decode(raw)
    return value


def decoded(value: Json) -> str:
    """The text that base64 stands for; raises ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError("it is no base64")
    return base64.b64decode(value, validate=True).decode()


def part(answer: JsonObject, name: str) -> JsonObject:
    """A mapping inside an answer; an empty one where there is none."""
    value = answer.get(name)
    return value if isinstance(value, dict) else {}


def _place(url: str) -> str:
    """An address without its query, in which there may be a secret."""
    return url.partition("?")[0]


def material_of(text: str, ask: Ask) -> JsonObject:
    """A secret's text: the field that `key` names, the fields of a JSON mapping, or one value."""
    fields = fields_of(text)
    return _single(text, ask) if fields is None else chosen(fields, ask)


def fields_of(text: str) -> JsonObject | None:
    """The fields of a secret whose text is a JSON mapping."""
    parsed = _json(text.encode()) if text.lstrip().startswith("{") else None
    return parsed if isinstance(parsed, dict) else None


def _single(text: str, ask: Ask) -> JsonObject:
    if key := ask.optional("key"):
        raise NotFound(f"{ask.what}: the secret is one text and has no field {key!r}; leave key out")
    return {"value": text}


def chosen(fields: Mapping[str, Json], ask: Ask) -> JsonObject:
    """All fields of a secret, or the one that `key` names as `value`."""
    key = ask.optional("key")
    if key is None:
        return dict(fields)
    if key not in fields:
        raise NotFound(f"{ask.what}: the secret has no field {key!r}; it has {', '.join(sorted(fields))}")
    return {"value": fields[key]}

"""Webhooks, signed as the Standard Webhooks say: the HMAC of id, time and body.

https://www.standardwebhooks.com describes it, and has libraries that check it in most languages.
"""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from noetl.json_value import Json
from noetl.ports.notification import NotDelivered, NotificationMessage

if TYPE_CHECKING:
    from aiohttp import ClientResponse, TCPConnector

ANSWER_BYTES = 1024
SHOWN = 200  # characters of an answer in an error
PREFIX = "whsec_"
AGENT = "noetl"
Connector = Callable[[], "TCPConnector"]


class Webhook:
    """Sends what is told as JSON, signed."""

    def __init__(self, connector: Connector, now_s: Callable[[], float] = time.time) -> None:
        self._connector, self._now_s = connector, now_s

    async def send(
        self, address: str | None, material: Mapping[str, Json], message: NotificationMessage
    ) -> int | None:
        """Post it once; redirects are not followed."""
        body = msgspec.json.encode(message)
        moment = str(int(self._now_s()))
        headers = {
            "webhook-id": message.id,
            "webhook-timestamp": moment,
            "webhook-signature": signature(_secret(material), message.id, moment, body),
        }
        return await post(self._connector, address or url_of(material), body, headers)


def signature(secret: bytes, key: str, moment: str, body: bytes) -> str:
    """The proof that a body is ours and of a moment."""
    signed = hmac.new(secret, b".".join((key.encode(), moment.encode(), body)), hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def _secret(material: Mapping[str, Json]) -> bytes:
    """The bytes of a secret: base64 behind `whsec_`, else the text itself."""
    secret = material.get("secret", material.get("value"))
    if not isinstance(secret, str) or not secret:
        raise NotDelivered("the credential has no field 'secret' to sign with")
    if secret.startswith(PREFIX):
        with suppress(ValueError):
            return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        raise NotDelivered(f"the secret begins with {PREFIX} and goes on with something that is no base64")
    return secret.encode()


def url_of(material: Mapping[str, Json]) -> str:
    """The address that a credential holds."""
    url = material.get("url", material.get("value"))
    with suppress(ValueError):
        parts = urlsplit(url if isinstance(url, str) else "")
        if parts.scheme in ("http", "https") and parts.hostname:
            return str(url)
    raise NotDelivered("the credential has no field 'url' with an address that begins with https://")


async def post(connector: Connector, url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Post JSON once; the code of a good answer. Nothing of the address is in an error but its host."""
    import aiohttp

    sent = {"Content-Type": "application/json", "User-Agent": AGENT, **headers}
    try:
        async with (
            aiohttp.ClientSession(connector=connector(), cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.post(url, data=body, headers=sent, allow_redirects=False) as answer,
        ):
            if 200 <= answer.status < 300:
                return answer.status
            raise NotDelivered(
                f"{urlsplit(url).hostname} answered {answer.status}{await _beginning(answer)}",
                status=answer.status,
                retry_after_s=_retry_after(answer.headers.get("Retry-After"), time.time()),
            )
    except (aiohttp.ClientError, OSError, ValueError) as problem:
        refused = getattr(getattr(problem, "os_error", None), "sentence", None)
        what = refused or getattr(problem, "strerror", None) or type(problem).__name__
        raise NotDelivered(f"{urlsplit(url).hostname} cannot be reached: {what}") from None


async def _beginning(answer: "ClientResponse") -> str:
    """The first words of an answer, for people."""
    text = (await answer.content.read(ANSWER_BYTES)).decode(errors="replace")
    words = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return f": {words[:SHOWN]}" if words else ""


def _retry_after(value: str | None, now_s: float) -> float | None:
    """For how many seconds the other side wants to be left alone: it says a number or a moment."""
    if value is None:
        return None
    with suppress(ValueError, OverflowError):
        if value.isascii() and value.isdecimal():
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - now_s)
    return None

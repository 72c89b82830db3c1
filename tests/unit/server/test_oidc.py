"""Tokens of an OpenID provider, over the wire: a local issuer publishes keys, forgets them, and goes away."""

import base64
import hmac
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from noetl.errors import BackendError, NotFound
from noetl.ports.store import AccessToken
from noetl.server.access import NotProven
from noetl.server.auth import Auth, Doorkeeper
from noetl.server.oidc import AGAIN_S, ANSWER_BYTES, FRESH_S, Oidc, Provider


class Issuer:
    """A provider with its two documents."""

    def __init__(self) -> None:
        self.keys: list[Any] = [RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})]
        self.asked = 0
        self.broken = False
        self.padded = 0  # bytes behind the keys
        self.url = ""

    async def discovery(self, request: web.Request) -> web.Response:
        return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/keys"})

    async def published(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if self.broken:
            return web.Response(text="<html>", content_type="text/html")
        keys = json.dumps(KeySet(self.keys).as_dict(private=False)).encode()
        answer = web.StreamResponse()
        await answer.prepare(request)
        for piece in (keys[:20], keys[20:], b" " * self.padded):
            await answer.write(piece)
        return answer

    def token(self, *, key: Any = None, alg: str = "RS256", kid: str | None = "one", **claims: Any) -> str:
        now = int(time.time())
        given = {"iss": self.url, "aud": "noetl", "sub": "u1", "exp": now + 300, "scope": "openid noetl:run"}
        header = {"alg": alg, **({"kid": kid} if kid else {})}
        kept = {name: value for name, value in {**given, **claims}.items() if value is not None}
        return jwt.encode(header, kept, key or self.keys[0], algorithms=[alg])


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    made = Issuer()
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", made.discovery)
    app.router.add_get("/keys", made.published)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}"
    yield made
    await runner.cleanup()


async def nothing(token_id: str) -> AccessToken:
    raise NotFound("no tokens here")


def provider(issuer: Issuer, clock: list[float] | None = None, **more: Any) -> Provider:
    now = clock or [0.0]
    return Provider(Oidc(issuer=issuer.url, audience="noetl", **more), clock=lambda: now[0])


async def test_an_answer_that_comes_in_pieces_is_read_whole_and_one_without_end_is_not(
    issuer: Issuer,
) -> None:
    assert (await provider(issuer).who(issuer.token())).key == "oidc:u1"
    issuer.padded = ANSWER_BYTES
    with pytest.raises(BackendError, match="does not answer"):
        await provider(issuer).who(issuer.token())


@pytest.mark.parametrize("claim", [[], "", {}, [["team/a"]], 0, [""], False])
async def test_a_limit_to_paths_that_names_none_leaves_nothing(issuer: Issuer, claim: Any) -> None:
    who = await provider(issuer).who(issuer.token(noetl_prefixes=claim))
    assert not any(who.may(scope) for scope in ("read", "run", "write", "admin", "worker"))


async def test_a_token_of_the_provider_brings_its_scopes_and_prefixes(issuer: Issuer) -> None:
    keeper = Doorkeeper(Auth(nothing, Oidc(issuer=issuer.url, audience="noetl")))
    who = await keeper.who(issuer.token(preferred_username="ann", noetl_prefixes=["team", "shared"]))
    assert (who.name, who.scopes, who.prefixes) == ("ann", frozenset({"run"}), ("shared", "team"))
    assert who.may("read")
    assert not who.may("write")


@pytest.mark.parametrize(
    "claims, scopes",
    [
        ({"scope": None, "roles": ["noetl:admin", "other"]}, {"admin"}),
        ({"scope": None, "scp": "noetl:read noetl:write"}, {"read", "write"}),
        ({"scope": "openid admin"}, set()),
        ({"scope": {"noetl:admin": True}}, set()),
        ({"scope": 5}, set()),
    ],
)
async def test_only_claims_that_are_named_become_scopes(
    issuer: Issuer, claims: dict[str, Any], scopes: set[str]
) -> None:
    assert (await provider(issuer).who(issuer.token(**claims))).scopes == scopes


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"exp": None},
        {"nbf": 99_999_999_999},
        {"iss": "https://elsewhere.example"},
        {"aud": "another"},
        {"aud": None},
        {"iss": None},
        {"sub": None},
    ],
    ids=str,
)
async def test_a_token_with_wrong_claims_is_no_token(issuer: Issuer, claims: dict[str, Any]) -> None:
    with pytest.raises(NotProven):
        await provider(issuer).who(issuer.token(**claims))


def _coded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


async def test_a_forged_token_is_no_token(issuer: Issuer) -> None:
    other = RSAKey.generate_key(2048, {"kid": "one"})
    public = issuer.keys[0].as_pem(private=False)
    good = issuer.token()
    head, body, signature = good.split(".")
    signed = b".".join([_coded(b'{"alg":"HS256","kid":"one"}'), body.encode()])
    confused = signed + b"." + _coded(hmac.digest(public, signed, "sha256"))
    forged = [
        issuer.token(key=other),
        confused.decode(),
        f"{head}.{body}.",
        f"{head}.{body}.{signature[:-4]}AAAA",
        f"eyJhbGciOiJub25lIn0.{body}.",
        "x.y.z",
        "..",
        "",
        good + "x",
    ]
    checking = provider(issuer)
    for token in forged:
        with pytest.raises(NotProven):
            await checking.who(token)
    assert (await checking.who(good)).name == "u1"


async def test_keys_are_asked_for_once_and_again_when_one_is_new(issuer: Issuer) -> None:
    clock = [0.0]
    checking = provider(issuer, clock)
    for _ in range(5):
        await checking.who(issuer.token())
    assert issuer.asked == 1
    issuer.keys.append(ECKey.generate_key("P-256", {"kid": "two"}))
    new = issuer.token(key=issuer.keys[1], alg="ES256", kid="two")
    with pytest.raises(NotProven):
        await checking.who(new)
    assert issuer.asked == 1, "strangers cannot have the provider asked at will"
    clock[0] = AGAIN_S + 1
    assert (await checking.who(new)).name == "u1"
    assert issuer.asked == 2
    clock[0] += FRESH_S + 1
    await checking.who(issuer.token())
    assert issuer.asked == 3


async def test_a_provider_that_is_away_is_a_backend_that_is_away(issuer: Issuer) -> None:
    issuer.broken = True
    with pytest.raises(BackendError, match="no JSON"):
        await provider(issuer).who(issuer.token())
    with pytest.raises(BackendError, match="does not answer"):
        await provider(issuer, jwks="http://127.0.0.1:1/keys").who(issuer.token())


async def test_a_provider_that_goes_away_is_missed_only_for_new_keys(issuer: Issuer) -> None:
    clock = [0.0]
    checking = provider(issuer, clock)
    await checking.who(issuer.token())
    issuer.broken = True
    clock[0] = FRESH_S + 1
    assert (await checking.who(issuer.token())).name == "u1"
    assert (await checking.who(issuer.token())).name == "u1"
    assert issuer.asked == 2


async def test_a_provider_that_never_answered_is_not_asked_by_every_stranger(issuer: Issuer) -> None:
    issuer.broken = True
    checking = provider(issuer)
    for _ in range(5):
        with pytest.raises(BackendError):
            await checking.who(issuer.token())
    assert issuer.asked == 1


async def test_a_token_of_our_own_never_goes_to_the_provider(issuer: Issuer) -> None:
    keeper = Doorkeeper(Auth(nothing, Oidc(issuer=issuer.url, audience="noetl")))
    with pytest.raises(NotProven):
        await keeper.who("noetl_0000000000000000_" + "A" * 43)
    with pytest.raises(NotProven):
        await keeper.who("x" * 100_000)
    assert issuer.asked == 0

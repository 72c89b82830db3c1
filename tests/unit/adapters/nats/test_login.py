"""Logging in to a real NATS server with an NKEY over TLS with a certificate of our own; credentials as files."""

import base64
import json
from binascii import crc_hqx
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from noetl.adapters.nats.bus import Bus
from noetl.adapters.nats.login import Credentials, read_credentials, read_login
from noetl.errors import BackendError, RequestError
from tests.servers import NatsServer
from tests.unit.adapters.direct.test_direct import certificate

SEED_HEAD = bytes((149, 0))  # S, of a user
OPERATOR, ACCOUNT = 14 << 3, 0  # what the names of their keys begin with: O, A
LETTERS = (b"o", b"a", b"s", b"x")
UNLIMITED = dict.fromkeys(("subs", "data", "payload", "conn", "leaf", "imports", "exports"), -1)
STORAGE = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)


def seed_of(key: Ed25519PrivateKey) -> str:
    raw = SEED_HEAD + key.private_bytes_raw()
    return base64.b32encode(raw + crc_hqx(raw, 0).to_bytes(2, "little")).rstrip(b"=").decode()


def name_of(kind: int, key: Ed25519PrivateKey) -> str:
    raw = bytes((kind,)) + key.public_key().public_bytes_raw()
    return base64.b32encode(raw + crc_hqx(raw, 0).to_bytes(2, "little")).rstrip(b"=").decode()


def token(issuer: str, signing: Ed25519PrivateKey, subject: str, **nats: object) -> str:
    """What vouches for a key, signed by the one above it."""
    claims = {"jti": subject, "iat": 1, "iss": issuer, "name": "test", "sub": subject}
    parts = ({"typ": "JWT", "alg": "ed25519-nkey"}, claims | {"nats": {**nats, "version": 2}})
    signed = b".".join(encoded(json.dumps(part).encode()) for part in parts)
    return (signed + b"." + encoded(signing.sign(signed))).decode()


def encoded(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


@pytest.fixture
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(b"k" * 32)


@pytest.fixture
def server(tmp_path: Path, key: Ed25519PrivateKey) -> Iterator[NatsServer]:
    pem = certificate(tmp_path)
    config = tmp_path / "nats.conf"
    config.write_text(
        f'authorization {{ users = [ {{ nkey: "{Credentials(key, None).public}" }} ] }}\n'
        f'tls {{ cert_file: "{pem}", key_file: "{pem}" }}\n'
    )
    with NatsServer.start(tmp_path, ["-c", str(config)]) as made:
        yield made


async def test_a_key_logs_in_over_tls_with_a_private_authority(
    server: NatsServer, tmp_path: Path, key: Ed25519PrivateKey
) -> None:
    (tmp_path / "user.nk").write_text(seed_of(key))
    bus = Bus(server.url, "test", read_login(str(tmp_path / "user.nk"), str(tmp_path / "server.pem")))
    await bus.connect()
    try:
        bus.serve("echo", _echo)
        assert await bus.request("echo", b"hello", 30.0) == b"hello"
        account = await (await bus.client()).jetstream().account_info()
        assert account.limits is not None
    finally:
        await bus.close()


@pytest.mark.parametrize("signed_by", ["the account", "somebody"])
async def test_a_user_logs_in_with_a_jwt_that_its_account_has_signed(
    tmp_path: Path, key: Ed25519PrivateKey, signed_by: str
) -> None:
    operator, account, system, other = (
        Ed25519PrivateKey.from_private_bytes(letter * 32) for letter in LETTERS
    )
    top, middle, own = name_of(OPERATOR, operator), name_of(ACCOUNT, account), name_of(ACCOUNT, system)
    limits = {**UNLIMITED, **STORAGE, "wildcards": True}
    of_account = token(top, operator, middle, type="account", limits=limits)
    of_system = token(top, operator, own, type="account", limits={**UNLIMITED, "wildcards": True})
    config = tmp_path / "operator.conf"
    config.write_text(
        f"operator: {token(top, operator, top, type='operator')}\nsystem_account: {own}\nresolver: MEMORY\n"
        f"resolver_preload: {{ {middle}: {of_account}, {own}: {of_system} }}\n"
    )
    signing, user = account if signed_by == "the account" else other, Credentials(key, None).public
    jwt = token(middle, signing, user, type="user", pub={}, sub={}, **UNLIMITED)
    file = tmp_path / "user.creds"
    file.write_text(f"-----BEGIN NATS USER JWT-----\n{jwt}\n\n{seed_of(key)}\n")
    with NatsServer.start(tmp_path, ["-c", str(config)]) as server:
        bus = Bus(server.url, "test", read_login(str(file), None))
        try:
            if signing is other:
                with pytest.raises(BackendError, match="Authorization"):
                    await bus.connect()
                return
            await bus.connect()
            bus.serve("echo", _echo)
            assert await bus.request("echo", b"hello", 30.0) == b"hello"
        finally:
            await bus.close()


async def test_another_key_and_an_unknown_authority_are_refused(server: NatsServer, tmp_path: Path) -> None:
    other = Ed25519PrivateKey.from_private_bytes(b"o" * 32)
    (tmp_path / "other.nk").write_text(seed_of(other))
    with pytest.raises(BackendError, match="Authorization"):
        await Bus(
            server.url, "test", read_login(str(tmp_path / "other.nk"), str(tmp_path / "server.pem"))
        ).connect()
    with pytest.raises(BackendError, match=r"(?i)certificate"):
        await Bus(server.url, "test", read_login(str(tmp_path / "other.nk"), None)).connect()


async def _echo(subject: str, body: bytes) -> bytes:
    return body


def test_a_file_as_nsc_writes_it_has_a_jwt_and_a_seed(tmp_path: Path, key: Ed25519PrivateKey) -> None:
    file = tmp_path / "user.creds"
    file.write_text(
        "-----BEGIN NATS USER JWT-----\neyJ0eXAi.eyJqdGki.c2ln\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed_of(key)}\n------END USER NKEY SEED------\n"
    )
    credentials = read_credentials(str(file))
    answer = credentials.answer("nonce")
    assert (answer["jwt"], "nkey" in answer) == ("eyJ0eXAi.eyJqdGki.c2ln", False)
    signature = str(answer["sig"])
    key.public_key().verify(base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4)), b"nonce")


def test_what_is_no_file_of_credentials_is_refused_by_name(tmp_path: Path, key: Ed25519PrivateKey) -> None:
    with pytest.raises(RequestError, match="cannot be read"):
        read_credentials(str(tmp_path / "missing"))
    file = tmp_path / "file"
    file.write_text("nothing")
    with pytest.raises(RequestError, match="has no seed"):
        read_credentials(str(file))
    seed = seed_of(key)
    file.write_text(seed[:-1] + ("A" if seed[-1] != "A" else "B"))
    with pytest.raises(RequestError, match="misspelt"):
        read_credentials(str(file))
    with pytest.raises(RequestError, match="has no certificates"):
        read_login(None, str(file)).context()

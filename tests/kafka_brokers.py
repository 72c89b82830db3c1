"""Brokers of Kafka on the loopback interface, and a gate before them that speaks TLS and asks for a login.

The brokers are those that librdkafka brings: they keep what they are sent in memory, and speak Kafka's protocol
to any client. They know neither TLS nor logins, which the gate plays for them, byte for byte.
"""

import asyncio
import base64
import hashlib
import hmac
import ssl
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from confluent_kafka import Producer

LONG = 60.0
METADATA, VERSIONS, HANDSHAKE, AUTHENTICATE = 3, 18, 17, 36
REFUSED = 58  # SASL_AUTHENTICATION_FAILED
ROUNDS = 4096


@contextmanager
def kafka_brokers(number: int = 1) -> Iterator[str]:
    """Brokers that are there while they are needed, as host:port with commas."""
    keeper = Producer({"test.mock.num.brokers": number, "log_level": 0})
    brokers = keeper.list_topics(timeout=LONG).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    keeper.flush(LONG)


class Gate:
    """Passes requests on to one broker once a client has shown who it is, and calls itself that broker."""

    def __init__(self, broker: str, password: str | None = None) -> None:
        self.host, _, port = broker.rpartition(":")
        self.broker_port, self.password = int(port), password
        self.named_host, self.named_port = self.host, self.broker_port  # what is told instead of the broker's
        self.logins: list[str] = []
        self.deaf, self.asked = (
            False,
            asyncio.Event(),
        )  # whether it answers but how it is spoken to, and was asked more
        self._clients: set[asyncio.Task[Any]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        behind, ahead = await asyncio.open_connection(self.host, self.broker_port)
        try:
            await self._carry(reader, writer, behind, ahead)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # one of the two has hung up, or the test is over
        finally:
            self._clients.discard(task)
            ahead.close()
            writer.close()

    async def close(self) -> None:
        for task in list(self._clients):
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _carry(self, reader: Any, writer: Any, behind: Any, ahead: Any) -> None:
        login = _Login(self)
        while True:
            request = await _frame(reader)
            key, _, correlation = struct.unpack_from(">hhi", request)
            if self.password is not None and key in (HANDSHAKE, AUTHENTICATE):
                answer = struct.pack(">i", correlation) + login.answer(key, request)
            elif self.password is not None and key != VERSIONS and not login.done:
                return
            elif self.deaf and key not in (VERSIONS, METADATA):
                self.asked.set()
                continue
            else:
                ahead.write(struct.pack(">i", len(request)) + request)
                answer = await _frame(behind)
            if self.password is not None and key == VERSIONS:
                answer = _with_logins(answer)
            answer = answer.replace(
                _place(self.host, self.broker_port), _place(self.named_host, self.named_port)
            )
            writer.write(struct.pack(">i", len(answer)) + answer)


def _place(host: str, port: int) -> bytes:
    """A place as brokers write it."""
    return struct.pack(">h", len(host)) + host.encode() + struct.pack(">i", port)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def _with_logins(answer: bytes) -> bytes:
    """What a broker says it speaks, and logins beside it."""
    correlation, error, count = struct.unpack_from(">ihi", answer)
    asked = b"".join(struct.pack(">hhh", key, 0, most) for key, most in ((HANDSHAKE, 1), (AUTHENTICATE, 0)))
    spoken = answer[10 : 10 + 6 * count]
    others = b"".join(
        spoken[at : at + 6] for at in range(0, len(spoken), 6)
        if struct.unpack_from(">h", spoken, at)[0] not in (HANDSHAKE, AUTHENTICATE)
    )  # fmt: skip
    head = struct.pack(">ihi", correlation, error, len(others) // 6 + 2)
    return head + others + asked + answer[10 + 6 * count :]


class _Login:
    """The server's side of PLAIN and SCRAM."""

    def __init__(self, gate: Gate) -> None:
        self.gate, self.done = gate, False
        self.mechanism, self.first, self.second = "", "", ""

    def answer(self, key: int, request: bytes) -> bytes:
        (named,) = struct.unpack_from(">h", request, 8)
        body = request[10 + max(named, 0) :]
        if key == HANDSHAKE:
            self.mechanism = body[2:].decode()
            names = [b"PLAIN", b"SCRAM-SHA-256", b"SCRAM-SHA-512"]
            return struct.pack(">hi", 0, len(names)) + b"".join(struct.pack(">h", len(n)) + n for n in names)
        said = body[4:].decode()
        proof = self._plain(said) if self.mechanism == "PLAIN" else self._scram(said)
        if proof is None:
            why = b"wrong password"
            return struct.pack(">hh", REFUSED, len(why)) + why + struct.pack(">i", 0)
        return struct.pack(">hhi", 0, -1, len(proof)) + proof

    def _plain(self, said: str) -> bytes | None:
        _, user, password = said.split("\0")
        return self._in(user) if password == self.gate.password else None

    def _in(self, user: str) -> bytes:
        self.gate.logins.append(f"{user} by {self.mechanism}")
        self.done = True
        return b""

    def _scram(self, said: str) -> bytes | None:
        """RFC 5802: the salt and a nonce, then each side proves that it knows the password."""
        digest = self.mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        if not self.first:
            self.first = said.removeprefix("n,,")
            nonce = dict(part.split("=", 1) for part in self.first.split(","))["r"]
            salt = base64.b64encode(b"salt").decode()
            self.second = f"r={nonce}more,s={salt},i={ROUNDS}"
            return self.second.encode()
        without, _, proof = said.rpartition(",p=")
        salted = hashlib.pbkdf2_hmac(digest, str(self.gate.password).encode(), b"salt", ROUNDS)
        client_key = hmac.digest(salted, b"Client Key", digest)
        spoken = f"{self.first},{self.second},{without}".encode()
        signature = hmac.digest(hashlib.new(digest, client_key).digest(), spoken, digest)
        if bytes(a ^ b for a, b in zip(client_key, signature, strict=True)) != base64.b64decode(proof):
            return None
        self._in(self.first.split(",")[0].removeprefix("n="))
        server_key = hmac.digest(salted, b"Server Key", digest)
        return b"v=" + base64.b64encode(hmac.digest(server_key, spoken, digest))


@asynccontextmanager
async def kafka_gate(
    broker: str, tls: ssl.SSLContext | None = None, password: str | None = None
) -> AsyncIterator[tuple[str, Gate]]:
    """A gate on a free port, and where it is."""
    gate = Gate(broker, password)
    listener = await asyncio.start_server(gate.serve, "127.0.0.1", 0, ssl=tls)
    gate.named_port = listener.sockets[0].getsockname()[1]
    try:
        yield f"127.0.0.1:{gate.named_port}", gate
    finally:
        listener.close()
        await gate.close()

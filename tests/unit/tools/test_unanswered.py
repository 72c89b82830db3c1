"""However a call loses its answer, its repeat keeps the key: what was done is done once.

A proxy breaks the connection at every point of the conversation in turn. The recipe of the documentation pays
through it, and there is one payment each time.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apsw
import asyncpg
import duckdb
import nats
import pytest

from noetl.core.values.output import ANSWERED
from noetl.tools import duckdb as duckdb_tool
from noetl.tools import sqlite as sqlite_tool
from noetl.tools.parts import nats_link, object_stores, postgres_link
from tests.engine.harness import Ran, playbook, run

RETRY = """
          spec:
            timeout: 30
            policy: {rules: [{when: "{{ output.status == 'error' and output.error.retryable }}", then: {do: retry, attempts: 5, delay: 0}}]}"""
POINTS_MAX = 200


@dataclass
class Cut:
    """A proxy that breaks its connections instead of forwarding the piece of one number, once."""

    host: str
    port: int
    point: int
    seen: int = 0
    done: bool = False
    conversations: list[asyncio.Task[None]] = field(default_factory=list)
    _open: list[asyncio.StreamWriter] = field(default_factory=list)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.conversations.append(asyncio.current_task())  # type: ignore[arg-type]
        with contextlib.suppress(OSError):
            there, back = await asyncio.open_connection(self.host, self.port)
            self._open += [writer, back]
            await asyncio.gather(self._forward(reader, back), self._forward(there, writer))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if self.seen == self.point and not self.done:
                    self.done = True
                    self._break()
                    return
                self.seen += 1
                writer.write(data)
                await writer.drain()
        writer.close()

    def _break(self) -> None:
        for writer in self._open:
            found = writer.get_extra_info("socket")
            if found is not None:
                with contextlib.suppress(OSError):
                    found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


@asynccontextmanager
async def cut(url: str, point: int) -> AsyncIterator[tuple[str, Cut]]:
    """An address that breaks at a point, and the proxy behind it."""
    target = urlsplit(url)
    proxy = Cut(str(target.hostname), target.port or 0, point)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    user, at, _ = target.netloc.rpartition("@")
    try:
        yield target._replace(netloc=f"{user}{at}127.0.0.1:{port}").geturl(), proxy
    finally:
        server.close()
        proxy._break()
        await asyncio.gather(*proxy.conversations, return_exceptions=True)


async def at_every_point(url: str, attempt: Callable[[str, int], Awaitable[Ran]]) -> int:
    """Pay with the connection broken at each point of the conversation; how many points there were."""
    for point in range(POINTS_MAX):
        async with cut(url, point) as (address, proxy):
            ran = await attempt(address, point)
            assert ran.status == "completed", (point, ran.result)
            keys_follow_answers(ran, point)
            if not proxy.done:
                return point
    raise AssertionError("the conversation has no end")


def keys_follow_answers(ran: Ran, point: int) -> None:
    """Every error was said to be worth another try, and every attempt had the key of the one before."""
    outputs = [event["data"]["output"] for event in ran.named("task.done")]
    for output in outputs:
        assert ANSWERED not in output
        if output["status"] == "error":
            assert (output["error"]["kind"], output["error"]["retryable"]) in {
                ("connect", True),
                ("timeout", True),
                ("nats", True),
                ("object", True),
            }, (point, output)
    assert len({output["meta"]["idempotency_key"] for output in outputs}) == 1, (point, outputs)


# ---- every point of a conversation ----------------------------------------------------------------------


@pytest.mark.parametrize("statements", ["several", "one"])
async def test_a_payment_over_a_connection_that_breaks_anywhere_is_made_once(
    tmp_path: Path, database: str, statements: str
) -> None:
    direct = await asyncpg.connect(database)
    await direct.execute("create table payment (key text primary key, amount int, point int)")
    insert = "insert into payment values (:idempotency_key, 5, :point) on conflict (key) do nothing"
    command = (
        insert
        if statements == "one"
        else f"{insert}; select amount from payment where key = :idempotency_key"
    )

    async def pay(address: str, point: int) -> Ran:
        text = playbook(
            f"""
      - step: pay
        tool:
          kind: postgres
          auth: pg
          input: {{command: "{command}", params: {{point: {point}}}}}{RETRY}
            """,
            keychain=f"keychain: [{{name: pg, kind: static, dsn: '{address}'}}]",
        )
        ran = await run(tmp_path / str(point), text)
        rows = await direct.fetchval("select count(*) from payment where point = $1", point)
        assert rows == 1, (point, rows)
        return ran

    try:
        assert await at_every_point(database, pay) > 5
    finally:
        await direct.close()


async def test_a_request_over_a_connection_that_breaks_anywhere_has_one_key(tmp_path: Path) -> None:
    keys: set[str] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                (key,) = [
                    line for line in head.decode().lower().splitlines() if line.startswith("idempotency-key")
                ]
                keys.add(key)
                writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\npaid")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/pay"

    async def pay(address: str, point: int) -> Ran:
        keys.clear()
        text = playbook(
            f"""
      - step: pay
        tool:
          kind: http
          input: {{method: POST, url: "{address}", response: text}}
          spec:
            idempotency: true
            timeout: 30
            policy: {{rules: [{{when: "{{{{ output.status == 'error' and output.error.retryable }}}}", then: {{do: retry, attempts: 5, delay: 0}}}}]}}
            """
        )
        ran = await run(tmp_path / str(point), text)
        assert len(keys) == 1, (point, keys)
        return ran

    assert await at_every_point(url, pay) >= 2
    server.close()


async def test_a_message_over_a_connection_that_breaks_anywhere_is_kept_once(
    tmp_path: Path, nats_server: Any
) -> None:
    client = await nats.connect(nats_server.url)
    stream = client.jetstream()
    await stream.add_stream(name="PAID", subjects=["paid.*"])

    async def pay(address: str, point: int) -> Ran:
        text = playbook(
            f"""
      - step: pay
        tool:
          kind: nats
          auth: bus
          input: {{action: publish, subject: paid.p{point}, value: {{amount: 5}}, stream: true, reply_timeout: 3}}{RETRY}
            """,
            keychain=f"keychain: [{{name: bus, kind: static, servers: '{address}'}}]",
        )
        ran = await run(tmp_path / str(point), text)
        info = await stream.stream_info("PAID", subjects_filter=f"paid.p{point}")
        assert (info.state.subjects or {}) == {f"paid.p{point}": 1}, point
        return ran

    assert await at_every_point(nats_server.url, pay) > 3
    await stream.delete_stream("PAID")
    await client.close()


# ---- what each driver says ------------------------------------------------------------------------------


class Raised(asyncpg.PostgresError):  # type: ignore[misc]
    """An error of the server with a state of its choice."""

    def __init__(self, state: str) -> None:
        super().__init__(f"state {state}")
        self.sqlstate = state


@pytest.mark.parametrize(
    "state, kind, retryable, answered",
    [
        ("08003", "connect", True, False),
        ("08006", "connect", True, False),
        ("08P01", "connect", True, False),
        ("40003", "postgres", True, False),
        ("57P01", "postgres", True, False),
        ("57P02", "postgres", True, False),
        ("58030", "postgres", False, False),
        ("XX000", "postgres", False, False),
        ("40001", "postgres", True, True),
        ("40P01", "postgres", True, True),
        ("55P03", "postgres", True, True),
        ("57014", "postgres", True, True),
        ("23505", "postgres", False, True),
        ("42601", "postgres", False, True),
    ],
)
def test_a_state_of_postgresql_says_whether_the_statement_was_answered(
    state: str, kind: str, retryable: bool, answered: bool
) -> None:
    output = postgres_link.failed(Raised(state)).output
    assert (output["error"]["kind"], output["error"]["retryable"]) == (kind, retryable)
    assert output.get(ANSWERED, False) is answered
    assert output["pg"]["sqlstate"] == state


@pytest.mark.parametrize(
    "message, kind, retryable",
    [
        ("cannot switch to state 14; another operation (2) is in progress", "connect", True),
        ("no binary format encoder for type point", "value", False),
    ],
)
async def test_a_driver_that_lost_its_thread_is_a_lost_connection(
    use: Any,
    secrets: Any,
    monkeypatch: pytest.MonkeyPatch,
    database: str,
    message: str,
    kind: str,
    retryable: bool,
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise asyncpg.InternalClientError(message)

    monkeypatch.setattr(asyncpg.Connection, "prepare", broken)
    secrets["pg"] = {"dsn": database}
    output = await use("postgres", {"query": "select 1"}, auth_name="pg")
    assert (output["error"]["kind"], output["error"]["retryable"]) == (kind, retryable)
    assert output.get(ANSWERED, False) is not retryable


async def test_a_connection_that_breaks_when_it_is_given_back_takes_no_answer_away(
    use: Any, secrets: Any, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    async def broken(connection: Any) -> None:
        connection.terminate()
        raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")

    monkeypatch.setattr(postgres_link, "_tidy", broken)
    secrets["pg"] = {"dsn": database}
    for _ in range(2):
        output = await use("postgres", {"query": "select 1 as a"}, auth_name="pg")
        assert output["data"]["rows"] == [{"a": 1}], output


@pytest.mark.parametrize(
    "problem, retryable, answered",
    [
        (apsw.BusyError("busy"), True, True),
        (apsw.LockedError("locked"), True, True),
        (apsw.ConstraintError("unique"), False, True),
        (apsw.IOError("disk I/O error"), False, False),
        (apsw.FullError("disk is full"), False, False),
        (apsw.CorruptError("malformed"), False, False),
    ],
)
def test_an_error_of_sqlite_says_whether_the_statement_was_answered(
    problem: apsw.Error, retryable: bool, answered: bool
) -> None:
    output = sqlite_tool.failed(problem, 1).output
    assert (output["error"]["retryable"], output.get(ANSWERED, False)) == (retryable, answered)


@pytest.mark.parametrize(
    "problem, retryable, answered",
    [
        (duckdb.IOException("Could not set lock on file"), True, True),
        (duckdb.TransactionException("conflict"), True, True),
        (duckdb.ConstraintException("duplicate"), False, True),
        (duckdb.IOException("No space left on device"), False, False),
        (duckdb.FatalException("gone"), False, False),
    ],
)
def test_an_error_of_duckdb_says_whether_the_statement_was_answered(
    problem: Exception, retryable: bool, answered: bool
) -> None:
    output = duckdb_tool.failed(problem, 1).output
    assert (output["error"]["retryable"], output.get(ANSWERED, False)) == (retryable, answered)


@pytest.mark.parametrize(
    "problem, kind, retryable, answered",
    [
        (nats.errors.TimeoutError(), "timeout", True, False),
        (nats.errors.ConnectionClosedError(), "nats", True, False),
        (nats.errors.NoRespondersError(), "no_responders", True, True),
        (nats.js.errors.ServiceUnavailableError(), "nats", True, False),
        (nats.js.errors.BadRequestError(), "nats", False, True),
        (nats.js.errors.NotFoundError(), "not_found", False, True),
    ],
)
def test_an_error_of_nats_says_whether_the_message_was_answered(
    problem: Any, kind: str, retryable: bool, answered: bool
) -> None:
    output = nats_link.failed(problem, "it").output
    assert (output["error"]["kind"], output["error"]["retryable"]) == (kind, retryable)
    assert output.get(ANSWERED, False) is answered


def test_an_error_of_an_object_store_says_whether_the_request_was_answered() -> None:
    import obstore

    errors = obstore.exceptions
    for problem, answered in (
        (errors.GenericError("connection reset"), False),
        (errors.NotFoundError("no"), True),
        (errors.AlreadyExistsError("yes"), True),
        (errors.PermissionDeniedError("no"), True),
    ):
        assert object_stores._failure(problem, "k").output.get(ANSWERED, False) is answered


@pytest.mark.parametrize(
    "status, answered", [(500, True), (503, True), (429, True), (400, True), (502, False), (504, False)]
)
async def test_a_gateway_that_saw_no_answer_gives_none(use: Any, status: int, answered: bool) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    output = await use("http", {"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"})
    server.close()
    assert output.get(ANSWERED, False) is answered


async def test_code_and_programs_answer_by_their_error_and_not_by_their_death(
    use: Any, tmp_path: Path
) -> None:
    ended = await use("shell", {"command": "exit 3"})
    killed = await use("shell", {"command": "kill -9 $$"})
    assert (ended.get(ANSWERED, False), killed.get(ANSWERED, False)) == (True, False)


# ---- planted --------------------------------------------------------------------------------------------


async def test_a_driver_error_that_forgets_the_key_is_noticed(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: a lost connection is taken for an answer."""
    monkeypatch.setattr(postgres_link, "UNKNOWN", ())
    with pytest.raises(AssertionError):
        await test_a_payment_over_a_connection_that_breaks_anywhere_is_made_once(
            tmp_path, database, "several"
        )

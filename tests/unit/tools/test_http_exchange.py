"""Plain requests of the http kind over connections that are kept."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from noetl.tools.parts.http_exchange import Listener


class Kept:
    """A server that keeps connections; each path has its answers, the last of which stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[bytes]] = {}
        self.seen: list[tuple[int, bytes]] = []  # of which connection, and what it said
        self.connections = 0
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = next(
                    (line for line in head.lower().split(b"\r\n") if b"content-length" in line), b":0"
                )
                self.seen.append((number, head + await reader.readexactly(int(size.partition(b":")[2]))))
                answers = self.answers[head.split(b" ")[1].decode()]
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                if not answer:
                    break  # it hangs up, as servers do with connections that they have kept for long
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


def answered(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


@pytest.fixture
async def kept() -> AsyncIterator[Kept]:
    server = Kept()
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield server
    listening.close()


async def test_a_connection_serves_one_request_after_the_other(use, kept):
    kept.answers["/a"] = [answered(b"[1]")]
    kept.answers["/b?x=1"] = [answered(b"[2]")]
    assert (await use("http", {"url": f"{kept.url}/a"}))["data"] == [1]
    assert (await use("http", {"url": f"{kept.url}/b", "params": {"x": 1}}))["data"] == [2]
    posted = await use("http", {"url": f"{kept.url}/a", "method": "post", "json": {"k": 1}})
    assert posted["data"] == [1]
    assert kept.connections == 1
    assert kept.seen[2][1].endswith(b'\r\n\r\n{"k":1}')


async def test_what_is_not_read_to_its_end_closes_its_connection(use, kept):
    kept.answers["/a"] = [answered(b"x" * 100_000)[:-1]]
    spec = {"max_response_bytes": 1000}
    for _ in range(2):
        assert (await use("http", {"url": f"{kept.url}/a"}, spec=spec))["error"]["kind"] == "too_large"
    assert kept.connections == 2


async def test_a_get_is_sent_again_when_a_kept_connection_was_closed(use, kept):
    kept.answers["/a"] = [answered(b"[1]"), b"", answered(b"[2]")]
    assert (await use("http", {"url": f"{kept.url}/a"}))["data"] == [1]
    assert (await use("http", {"url": f"{kept.url}/a"}))["data"] == [2]
    assert [number for number, _ in kept.seen] == [1, 1, 2]


async def test_a_get_is_sent_twice_at_most(use, kept):
    kept.answers["/a"] = [b""]
    assert (await use("http", {"url": f"{kept.url}/a"}))["error"]["code"] == "disconnected"
    assert len(kept.seen) == 2


async def test_a_post_is_never_sent_again(use, kept):
    kept.answers["/a"] = [answered(b"[1]"), b"", answered(b"[2]")]
    request = {"url": f"{kept.url}/a", "method": "POST", "json": 1}
    assert (await use("http", request))["data"] == [1]
    assert (await use("http", request))["error"]["code"] == "disconnected"
    assert len(kept.seen) == 2


@pytest.mark.parametrize("status, method", [("302 Found", b"GET"), ("307 Temporary Redirect", b"POST")])
async def test_a_redirect_on_a_kept_connection_is_followed_once(use, kept, status, method):
    kept.answers["/a"] = [answered(b"", status, "Location: /b\r\n")]
    kept.answers["/b"] = [answered(b"[1]")]
    request = {"url": f"{kept.url}/a", "method": "POST", "json": 7}
    for _ in range(2):
        output = await use("http", request)
        assert output["data"] == [1]
        assert output["http"]["url"] == f"{kept.url}/b"
    assert [said.split(b" ")[1] for _, said in kept.seen] == [b"/a", b"/b"] * 2
    assert all(said.startswith(method) for _, said in kept.seen[1::2])
    assert kept.connections == 1


async def test_news_before_an_answer_is_passed_over(use, kept):
    kept.answers["/a"] = [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answered(b"[1]")]
    for _ in range(2):
        assert (await use("http", {"url": f"{kept.url}/a"}))["data"] == [1]
    assert kept.connections == 1


async def test_what_is_no_http_is_called_so_and_closes_its_connection(use, kept):
    kept.answers["/a"] = [answered(b"[1]"), b"nonsense\r\n\r\n", answered(b"[2]")]
    request = {"url": f"{kept.url}/a"}
    assert (await use("http", request))["data"] == [1]
    assert (await use("http", request))["error"]["kind"] == "protocol"
    assert (await use("http", request))["data"] == [2]
    assert kept.connections == 2


async def test_the_time_of_an_attempt_bounds_the_body_too(use, kept):
    kept.answers["/a"] = [answered(b"[1]"), answered(b"[2]")[:-1]]
    request = {"url": f"{kept.url}/a"}
    assert (await use("http", request))["data"] == [1]
    assert (await use("http", request, spec={"timeout": 0.1}))["error"]["code"] == "total"


async def test_each_request_on_a_connection_has_its_own_patience(use, kept):
    kept.answers["/a"] = [answered(b"[1]"), answered(b"[2]")[:-1]]
    request = {"url": f"{kept.url}/a"}
    assert (await use("http", request, spec={"timeout": {"read": 60}}))["data"] == [1]
    late = await use("http", request, spec={"timeout": {"read": 0.05}})
    assert late["error"]["kind"] == "timeout"
    assert kept.connections == 1


class Timer(asyncio.TimerHandle):
    """One that only a Clock lets ring."""

    def cancel(self) -> None:
        self._cancelled = True


class Clock(asyncio.SelectorEventLoop):
    """A loop that never runs: a test says what time it is."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.timers = 0.0, list[Timer]()

    def time(self) -> float:
        return self.now

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> Any:
        self.timers.append(Timer(when, callback, args, self, context))
        return self.timers[-1]

    def go_on_to(self, now: float) -> None:
        self.now = now
        for timer in [timer for timer in self.timers if timer.when() <= now]:
            self.timers.remove(timer)
            if not timer.cancelled():
                timer._run()


@pytest.fixture
def clock() -> Any:
    clock = Clock()
    yield clock
    clock.close()


def test_what_comes_in_pieces_is_waited_for_from_piece_to_piece_with_one_timer(clock):
    listener = Listener(clock)
    listener.read_timeout = 10
    listener.start_timeout()
    for moment in range(9, 90, 9):
        clock.go_on_to(moment)
        listener._reschedule_timeout()  # as a piece that arrives does
        assert len(clock.timers) == 1
    assert listener.exception() is None
    clock.go_on_to(90.9)
    assert listener.exception() is None
    clock.go_on_to(100)
    assert isinstance(listener.exception(), TimeoutError)


def test_an_answer_that_is_there_is_not_waited_for_and_less_patience_rings_earlier(clock):
    listener = Listener(clock)
    listener.read_timeout = 60
    listener.start_timeout()
    listener._drop_timeout()  # as the end of an answer does
    listener.read_timeout = 5
    listener.start_timeout()
    clock.go_on_to(4)
    listener._drop_timeout()
    clock.go_on_to(59)
    assert listener.exception() is None
    listener.start_timeout()
    clock.go_on_to(64)
    assert isinstance(listener.exception(), TimeoutError)


def test_a_connection_that_is_closed_is_held_by_no_timer(clock):
    listener = Listener(clock)
    listener.read_timeout = 60
    listener.start_timeout()
    listener.connection_lost(None)
    assert all(timer.cancelled() for timer in clock.timers)

"""What `noetl server status` tells of a server that is not ready."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from noetl.cli.commands.server import looked_at


class NotReady(BaseHTTPRequestHandler):
    """A server whose database is away."""

    def do_GET(self) -> None:
        self.send_response(503)
        self.end_headers()
        self.wfile.write(b'{"detail": "the database does not answer"}')

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    made = HTTPServer(("127.0.0.1", 0), NotReady)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def test_a_server_that_is_not_ready_says_why(server: HTTPServer) -> None:
    process: Any = {"pid": 1, "url": f"http://127.0.0.1:{server.server_port}"}
    assert looked_at(process) == {**process, "ready": False, "why": "the database does not answer"}


def test_a_server_that_does_not_answer_is_said_to_be_silent() -> None:
    gone = HTTPServer(("127.0.0.1", 0), NotReady)
    gone.server_close()
    process: Any = {"pid": 1, "url": f"http://127.0.0.1:{gone.server_port}"}
    looked = looked_at(process)
    assert not looked["ready"]
    assert str(looked["why"]).startswith("it does not answer: ")

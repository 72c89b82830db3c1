"""ClickHouse's HTTP interface before chDB, as much of it as its driver speaks: the engine is the real one.

A program of its own, run by the Python of `.venv-clickhouse`; it prints its port.
"""

import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import chdb  # type: ignore[import-not-found]

SETTINGS = ("date_time_input_format", "insert_deduplicate", "insert_deduplication_token")


class Interface(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # a ping
        self._answer(200, b"Ok.\n")

    def do_POST(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        body = self._body()
        try:
            if "query" in asked:
                self._answer(200, self._insert(asked, body))
            else:
                self._answer(200, self._run(body.decode()))
        except RuntimeError as problem:
            code = str(problem).partition("Code: ")[2].partition(".")[0]
            self._answer(404, str(problem).encode(), code=code)

    def _run(self, text: str) -> bytes:
        found = self.server.engine.query(text, "TabSeparated")  # type: ignore[attr-defined]
        return bytes(found.bytes() or b"")

    def _insert(self, asked: dict[str, str], body: bytes) -> bytes:
        head, _, form = asked["query"].rpartition("FORMAT ")
        settings = ", ".join(f"{name} = '{asked[name]}'" for name in SETTINGS if name in asked)
        with tempfile.NamedTemporaryFile() as file:
            file.write(body)
            file.flush()
            more = f"SETTINGS {settings}" if settings else ""
            return self._run(f"{head} FROM INFILE '{file.name}' {more} FORMAT {form}")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, status: int, body: bytes, code: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if code:
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Nobody reads it."""


def main(folder: str) -> None:
    server = HTTPServer(("127.0.0.1", 0), Interface)
    server.engine = chdb.connect(folder)  # type: ignore[attr-defined]
    print(server.server_port, flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])

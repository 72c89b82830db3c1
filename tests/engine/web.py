"""A small web service for playbooks to call: it echoes, fails, pages and waits as its paths say."""

import http.server
import json
import socketserver
import sys
import threading
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlparse


class Web:
    """A service on a free port; `seen` has every request in order."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.hits: Counter[str] = Counter()
        self.asked = threading.Condition()
        self.closing = threading.Event()
        self.together = self.most_together = 0
        owner = self

        class Handler(_Handler):
            web = owner

        self._server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def note(self, request: dict[str, Any]) -> int:
        """Keep a request; how often its path was asked for by now."""
        with self.asked:
            self.seen.append(request)
            self.hits[request["path"]] += 1
            self.asked.notify_all()
            return self.hits[request["path"]]

    def wait_for(self, path: str, count: int, within: float = 20.0) -> None:
        """Wait until a path was asked for that often."""
        with self.asked:
            assert self.asked.wait_for(lambda: self.hits[path] >= count, within)

    def meet(self, number: int) -> None:
        """Wait until so many are here at once; afterwards nobody waits."""
        with self.asked:
            self.together += 1
            self.most_together = max(self.most_together, self.together)
            self.asked.notify_all()
            self.asked.wait_for(lambda: self.most_together >= number or self.closing.is_set())
            self.together -= 1

    def close(self) -> None:
        self.closing.set()
        with self.asked:
            self.asked.notify_all()
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed has nothing to say."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        url = urlparse(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        size = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(size).decode("utf-8", "replace")
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = {"method": self.command, "path": url.path, "query": query, "headers": headers, "body": body}
        count = self.web.note(request)
        parts = url.path.strip("/").split("/")
        answer = getattr(self, f"_{parts[0]}", self._missing)
        self._send(*answer(request, parts[1:], count))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        given = {"content-type": "application/json", "content-length": str(len(raw))} | (headers or {})
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _echo(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return 200, request, {"X-Request-Id": "r1", "X-Mixed-Case": "yes"}

    def _status(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return int(parts[0]), {"code": int(parts[0])}

    def _said(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        """`/said/<status>`: what was sent, `/said/<status>/bytes`: what is no text."""
        if parts[1:]:
            return int(parts[0]), bytes(range(256)) * 8, {"content-type": "image/png"}
        return int(parts[0]), request["body"].encode(), {"content-type": "text/plain; charset=utf-8"}

    def _refused(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return 401, {**request, "asked": self.path}

    def _text(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return 200, b"plain words", {"content-type": "text/plain; charset=utf-8"}

    def _bytes(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return 200, bytes(range(8)), {"content-type": "application/octet-stream"}

    def _empty(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return 204, b""

    def _broken(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return 200, b"{not json"

    def _after(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return (429, {}, {"Retry-After": parts[0]}) if count == 1 else (200, {"n": count})

    def _flaky(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return (503, {"n": count}) if count <= int(parts[0]) else (200, {"n": count})

    def _slow(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        self.web.closing.wait(float(parts[0]))
        return 200, {}

    def _together(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        """`/together/<number>/…`: answers once so many are asked for at the same time."""
        self.web.meet(int(parts[0]))
        return 200, {}

    def _moved(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return 302, {}, {"location": "/echo"}

    def _pages(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        """`/pages/<total>`: by page or offset."""
        query, total = request["query"], int(parts[0])
        size = int(query.get("pageSize", query.get("limit", 2)))
        low = int(query["offset"]) if "offset" in query else (int(query.get("page", 1)) - 1) * size
        items = list(range(low, min(low + size, total)))
        return 200, {"data": items, "paging": {"hasMore": low + size < total}}

    def _cursor(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        at, total = int(request["query"].get("cursor") or 0), int(parts[0])
        following = at + 2 if at + 2 < total else None
        return 200, {"data": list(range(at, min(at + 2, total))), "paging": {"next": following}}

    def _link(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        at, total = int(request["query"].get("at", 0)), int(parts[0])
        host = self.headers["host"]
        more = {"Link": f'<http://{host}/link/{total}?at={at + 2}>; rel="next"'} if at + 2 < total else {}
        return 200, {"data": list(range(at, min(at + 2, total)))}, more

    def _missing(self, request: dict[str, Any], parts: list[str], count: int) -> Any:
        return 404, {"missing": request["path"]}

"""A small shop with an HTTP API that is sometimes busy, for the examples. It needs nothing but Python.

    python examples/api.py          serves on http://127.0.0.1:8081 until Ctrl-C

* `GET /orders`, `/customers`, `/products`, `/items`: the first ten rows; with `?page=1&pageSize=100` one page
  of all: `{"data": [...], "paging": {"page": 1, "hasMore": true}}`. Some pages are answered 503 at first.
* `POST /jobs` and `GET /jobs/ID`: a job that is done when it was asked for three times.
* `GET /private`: needs the header `Authorization: Bearer TOKEN`; `POST /notes` needs `X-Api-Key`.
"""

import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

ROWS = {"orders": 2000, "customers": 450, "products": 1000, "items": 250}
BUSY_EVERY = 5  # the first request for one page in five is answered 503
FEW = 10
JOB_ROUNDS = 3

Answer = tuple[int, object]


class Shop:
    """What the API knows, and how often it was asked for what."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        self.asked: Counter[tuple[str, int]] = Counter()  # pages, also those answered 503
        self.busy: Counter[str] = Counter()
        self.polled: Counter[str] = Counter()
        self.notes: list[object] = []
        self._lock = threading.Lock()

    def get(self, path: str, query: dict[str, str], headers: dict[str, str]) -> Answer:
        """Answer a GET request."""
        name = path.strip("/")
        if name in ROWS and "page" not in query:
            return 200, [row(name, number) for number in range(1, FEW + 1)]
        if name in ROWS:
            return self._page(name, int(query["page"]), int(query.get("pageSize", 100)))
        if name.startswith("jobs/"):
            return 200, self._job(name.removeprefix("jobs/"))
        if name == "private":
            known = headers.get("authorization", "").startswith("Bearer ")
            return (200, {"secret": "the soup is tomato"}) if known else (401, {"error": "who are you?"})
        return 404, {"error": f"there is no {path}"}

    def post(self, path: str, body: object, headers: dict[str, str]) -> Answer:
        """Answer a POST request."""
        if path == "/jobs":
            return 201, {"id": "job-1", "state": "queued"}
        if path == "/notes" and headers.get("x-api-key"):
            self.notes.append(body)
            return 201, {"notes": len(self.notes)}
        return (401, {"error": "no key"}) if path == "/notes" else (404, {"error": f"there is no {path}"})

    def _page(self, name: str, page: int, size: int) -> Answer:
        with self._lock:
            self.asked[name, page] += 1
            first = self.asked[name, page] == 1
            if first and page % BUSY_EVERY == 2:
                self.busy[name] += 1
                return 503, {"error": "busy, please come back"}
        start, end = (page - 1) * size + 1, min(page * size, ROWS[name])
        rows = [row(name, number) for number in range(start, end + 1)]
        return 200, {"data": rows, "paging": {"page": page, "hasMore": end < ROWS[name]}}

    def _job(self, job: str) -> dict[str, object]:
        with self._lock:
            self.polled[job] += 1
            done = self.polled[job] >= JOB_ROUNDS
        return {"id": job, "state": "done", "seconds": 6} if done else {"id": job, "state": "running"}


def row(name: str, number: int) -> dict[str, object]:
    """One row of an endpoint."""
    return {"id": number, "name": f"{name.removesuffix('s')} {number}", "total": number % 97}


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP for a shop."""

    protocol_version = "HTTP/1.1"
    shop: Shop

    def do_GET(self) -> None:
        """Look something up."""
        target = urlsplit(self.path)
        self._answer(*self.shop.get(target.path, dict(parse_qsl(target.query)), self._headers()))

    def do_POST(self) -> None:
        """Leave something."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"null")
        self._answer(*self.shop.post(urlsplit(self.path).path, body, self._headers()))

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _answer(self, status: int, content: object) -> None:
        time.sleep(self.shop.delay_s)
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: object) -> None:  # noqa: A002
        """Say nothing."""


class Listener(ThreadingHTTPServer):
    """Serves each client in a thread, and does not mind when one goes away."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is nobody's error."""


class Server:
    """The API on a free port of this machine, as long as the `with` block lasts."""

    def __init__(self, shop: Shop, port: int = 0) -> None:
        handler = type("ShopHandler", (Handler,), {"shop": shop})
        self._server = Listener(("127.0.0.1", port), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Server":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


if __name__ == "__main__":
    with Server(Shop(), int(sys.argv[1]) if len(sys.argv) > 1 else 8081) as server:
        print(f"the examples' API is at {server.url}; Ctrl-C ends it", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("bye")

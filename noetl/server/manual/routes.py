"""What is answered below /docs. The documentation is the product's, so it asks nobody who they are."""

import asyncio
import gzip
import hashlib
import mimetypes
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from noetl import documentation
from noetl.documentation import INDEX
from noetl.server.assets import PACKED_FROM, TYPES
from noetl.server.manual.addresses import DOCS, OnServer
from noetl.server.manual.site import HERE, OWN_FILES, SEARCH, Site

ASKED_AGAIN = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
HTML = "text/html"
PACKED_TYPES = ("text/", "image/svg+xml", "application/json")


class Manual:
    """Answers for every page and file; each is made when it is first asked for, and kept."""

    def __init__(self, version: str) -> None:
        self._site = Site(OnServer(), version)
        self._missing: str | None = None
        self._kept: dict[str, tuple[int, Answer]] = {}

    def routes(self) -> list[Route]:
        return [
            Route(DOCS, self.answer, include_in_schema=False),
            Route(f"{DOCS}/{{rest:path}}", self.answer, include_in_schema=False),
        ]

    async def answer(self, request: Request) -> Response:
        """A page, a page as Markdown, or a file."""
        path = request.path_params.get("rest", "").rstrip("/") or INDEX
        found = self._find(path)
        if found is None:
            if self._missing is None:
                self._missing = await asyncio.to_thread(self._site.missing)
            return Response(self._missing, 404, ASKED_AGAIN, HTML)
        make, changed_at = found
        kept_at, answer = self._kept.get(path, (None, None))
        if answer is None or kept_at != changed_at:
            answer = await asyncio.to_thread(Answer, make, _type_of(path))
            self._kept[path] = (changed_at, answer)
        return answer.to(request)

    def _find(self, path: str) -> tuple[Callable[[], bytes], int] | None:
        """What makes the answer for a path, and when its file changed: pages are edited while one reads."""
        pages, root = documentation.sources(), documentation.folder()
        if root is None:
            return None
        if path == SEARCH:
            return (lambda: self._site.search().encode()), 0
        if path in OWN_FILES:
            return (HERE / path).read_bytes, 0
        if path in pages:
            return (lambda: self._site.page(path).encode()), _changed_at(root / pages[path])
        written = path.removesuffix(".md")
        if path.endswith(".md") and written in pages:
            return (lambda: documentation.read(written).encode()), _changed_at(root / pages[written])
        if path in documentation.files():
            return (root / "docs" / path).read_bytes, _changed_at(root / "docs" / path)
        return None


class Answer:
    """Bytes that are ready to be sent, also packed."""

    def __init__(self, make: Callable[[], bytes], kind: str) -> None:
        self.plain, self.kind = make(), kind
        worth_packing = kind.startswith(PACKED_TYPES) and len(self.plain) >= PACKED_FROM
        self.packed = gzip.compress(self.plain, 6, mtime=0) if worth_packing else b""
        self.tag = f'"{hashlib.sha256(self.plain).hexdigest()[:32]}"'

    def to(self, request: Request) -> Response:
        """The answer to who may have it already."""
        headers = {**ASKED_AGAIN, "ETag": self.tag}
        if request.headers.get("if-none-match") == self.tag:
            return Response(b"", 304, headers)
        if self.packed and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self.packed, 200, {**headers, "Content-Encoding": "gzip"}, self.kind)
        return Response(self.plain, 200, headers, self.kind)


def _changed_at(file: Path) -> int:
    return file.stat().st_mtime_ns


def _type_of(path: str) -> str:
    suffix = PurePosixPath(path).suffix
    if path in documentation.sources() or not suffix:
        return HTML
    return (
        TYPES.get(suffix)
        or ("text/markdown" if suffix == ".md" else None)
        or mimetypes.guess_type(path)[0]
        or "application/octet-stream"
    )

"""The files of the web page, answered from memory: packed once, and kept by browsers for as long as wanted.

The name of an asset has a hash of what is in it, so what was kept under a name never goes stale.
"""

import gzip
import mimetypes
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from noetl.errors import NotFound

NAME = re.compile(r"\w[\w.-]*", re.ASCII)
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
PACKED_FROM = 1000  # bytes; less is not worth it
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class Assets:
    """The files of one folder by name; a name has no folder in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plain: dict[str, bytes] = {}
        self._packed: dict[str, bytes] = {}

    async def answer(self, request: Request) -> Response:
        """One file, packed for who can unpack it."""
        name: str = request.path_params["name"]
        if name not in self._plain and not (NAME.fullmatch(name) and (self._folder / name).is_file()):
            raise NotFound(f"there is no asset {name[:100]!r}")
        packed = "gzip" in request.headers.get("accept-encoding", "") and self._pack(name)
        headers = {**FOREVER, "Content-Encoding": "gzip"} if packed else FOREVER
        kind = TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(packed or self._read(name), 200, headers, kind)

    def _read(self, name: str) -> bytes:
        if name not in self._plain:
            self._plain[name] = (self._folder / name).read_bytes()
        return self._plain[name]

    def _pack(self, name: str) -> bytes:
        """A file packed; empty when it is too small for that."""
        if name not in self._packed:
            plain = self._read(name)
            self._packed[name] = gzip.compress(plain, 6, mtime=0) if len(plain) >= PACKED_FROM else b""
        return self._packed[name]

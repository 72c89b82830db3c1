"""Where pages and files are: below /docs of a server, or beside one another in a folder."""

import posixpath
from typing import Protocol

from noetl.documentation import INDEX

DOCS = "/docs"


class Addresses(Protocol):
    """How a page refers to others. `live` says that a server is there, which can run what pages show."""

    live: bool

    def page(self, name: str, seen_from: str) -> str:
        """The address of a page."""

    def file(self, path: str, seen_from: str) -> str:
        """The address of a picture, a script or the like."""


class OnServer:
    """Addresses on a NoETL server."""

    live = True

    def page(self, name: str, seen_from: str) -> str:
        return f"{DOCS}/" if name == INDEX else f"{DOCS}/{name}"

    def file(self, path: str, seen_from: str) -> str:
        return f"{DOCS}/{path}"


class InFolder:
    """Addresses of files in a folder; they hold wherever it is put, also without any web server."""

    live = False

    def page(self, name: str, seen_from: str) -> str:
        return self.file(f"{name}.html", seen_from)

    def file(self, path: str, seen_from: str) -> str:
        return posixpath.relpath(path, posixpath.dirname(seen_from) or ".")

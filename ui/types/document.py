"""Writes the server's OpenAPI document to ui/src/api/openapi.json, without starting a server.

From it `npm run types` makes the types that the web UI is written against.
"""

import json
from pathlib import Path
from typing import Any, cast

from noetl.ports.front import Front
from noetl.server.app import create_app
from noetl.server.options import Options

FILE = Path(__file__).parents[1] / "src" / "api" / "openapi.json"


def document() -> str:
    """The document as it is kept: without problems, and sorted, so that only what changed differs."""
    app = create_app(cast(Front, None), Options(kinds={}))  # what is behind the routes is not asked
    openapi: dict[str, Any] = app.openapi()
    for operation in (operation for path in openapi["paths"].values() for operation in path.values()):
        good = {status: answer for status, answer in operation["responses"].items() if status < "300"}
        operation["responses"] = good  # every problem has one shape, which the client knows
    return json.dumps(openapi, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(document())

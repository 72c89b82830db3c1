"""The log of a process that stays: JSON lines on stderr, or words when a person looks on.

Only servers and workers set this up; commands that end print for themselves. Whoever logs uses the standard
library's loggers and gives facts as `extra`; no fact is a secret.
"""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

Entry = MutableMapping[str, Any]
NOISY = {"uvicorn.error": logging.WARNING, "asyncio": logging.WARNING, "nats": logging.WARNING}


def set_up(process: str, *, words: bool | None = None) -> None:
    """Let everything that is logged in this process be one line each."""
    import structlog

    before: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        structlog.processors.format_exc_info,
        _with_ids(process),
    ]
    on_terminal = sys.stderr.isatty() if words is None else words
    last: Any = structlog.dev.ConsoleRenderer() if on_terminal else structlog.processors.JSONRenderer()
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name, level in NOISY.items():
        logging.getLogger(name).setLevel(level)


def _with_ids(process: str) -> Any:
    def add(logger: Any, method: str, entry: Entry) -> Entry:
        """Which process it was, and which request."""
        entry["process"] = process
        request_id = _request_id()
        if request_id is not None:
            entry["request_id"] = request_id
        return entry

    return add


def _request_id() -> str | None:
    record = sys.modules.get("noetl.server.request_log")  # a worker has no requests, and does not load it
    return None if record is None else record.REQUEST_ID.get()

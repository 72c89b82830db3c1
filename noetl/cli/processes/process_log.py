"""The log of a process that stays: JSON lines on stderr, or words when a person looks on.

Only servers and workers set this up; commands that end print for themselves. Whoever logs uses the standard
library's loggers and gives facts as `extra`; no fact is a secret.
"""

import json
import logging
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

Entry = MutableMapping[str, Any]
_encode = json.JSONEncoder(default=repr).encode
_OWN = {*vars(logging.makeLogRecord({})), "message", "asctime"}  # what every record has
NOISY = {"uvicorn.error": logging.WARNING, "asyncio": logging.WARNING, "nats": logging.WARNING}


def set_up(process: str, *, words: bool | None = None) -> None:
    """Let everything that is logged in this process be one line each."""
    # No line says them, and finding them out takes a third of the time of a line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None
    on_terminal = sys.stderr.isatty() if words is None else words
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_words(process) if on_terminal else JsonLines(process))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name, level in NOISY.items():
        logging.getLogger(name).setLevel(level)


class JsonLines(logging.Formatter):
    """Each record as a line of JSON: there is one for every request, so that it has to cost little."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        entry: Entry = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **{name: value for name, value in vars(record).items() if name not in _OWN},
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
            "process": self._process,
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        request_id = _request_id()
        if request_id is not None:
            entry["request_id"] = request_id
        return _encode(entry)


def _words(process: str) -> logging.Formatter:
    """What a person reads on a terminal."""
    import structlog

    before: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        structlog.processors.format_exc_info,
        _with_ids(process),
    ]
    last = structlog.dev.ConsoleRenderer()
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
    )


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

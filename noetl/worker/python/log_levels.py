"""Lines of Python's `logging` say their level to the host: a mark before each, which it takes away again.

Runs inside an isolated process, where nothing is imported before the author's code needs it: the mark is set
up when `logging` is imported. What goes to a file or a text of the author's own is left as it is.
"""

from __future__ import annotations  # so that `typing` is not imported: a quarter of the start

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

OUTPUTS = (1, 2)  # the names of the streams that go to the host
MARK, END = "\x1e", "\x1f"  # as noetl/core/values/lines.py reads them


class LoggingImport:
    """Sees `logging` imported, once."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """The place of `logging`, set up so that its lines are marked; of nothing else."""
        if name != "logging":
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec: Any = find_spec(name)
        run = spec.loader.exec_module

        def run_and_mark(module: ModuleType) -> None:
            run(module)
            mark_levels(module)

        spec.loader.exec_module = run_and_mark
        return spec


def mark_levels(logging: Any) -> None:
    """Have handlers that write to the host's streams put the mark before each of their lines."""
    plain = logging.StreamHandler.emit

    def emit(handler: Any, record: Any) -> None:
        if getattr(handler.stream, "name", None) not in OUTPUTS:
            plain(handler, record)
            return
        try:
            mark = f"{MARK}{record.levelno}{END}"
            text = handler.format(record).replace("\n", f"\n{mark}")
            handler.stream.write(f"{mark}{text}{handler.terminator}")
            handler.flush()
        except RecursionError:
            raise
        except Exception:  # as every handler does
            handler.handleError(record)

    logging.StreamHandler.emit = emit


def watch() -> None:
    """Mark the lines of `logging` from now on."""
    if "logging" in sys.modules:
        mark_levels(sys.modules["logging"])
    else:
        sys.meta_path.insert(0, LoggingImport())

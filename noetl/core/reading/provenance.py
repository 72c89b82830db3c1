"""Which event wrote each value: the keys of ctx, and the outputs of runs.

One pass over the log, event by event.
"""

from collections import deque
from typing import Any

from noetl.core.event import TERMINAL, Event, iso, step_of
from noetl.core.reading.views import RunOutput, Writer
from noetl.core.shapes import LoopTotals, Output

OUTPUTS_MOST = 300


class Provenance:
    """The reader of one log."""

    def __init__(self) -> None:
        self.writers: dict[str, Writer] = {}
        self.outputs: deque[RunOutput] = deque(maxlen=OUTPUTS_MOST)

    def read(self, seq: int, event: Event) -> None:
        """Take one more event in."""
        data = event.data or {}
        if event.name == "ctx.patched":
            for path, _ in data["patch"]:
                self._written(".".join(map(str, path)), seq, event, data.get("origin"))
        elif event.name == "execution.restored":
            for key in data.get("ctx") or {}:
                self._written(str(key), seq, event, "kept")
        elif event.name in TERMINAL:
            self._put_out(seq, event, data)

    def _written(self, path: str, seq: int, event: Event, origin: str | None) -> None:
        for below in [writer for writer in self.writers if writer.startswith(f"{path}.")]:
            del self.writers[below]
        self.writers[path] = {
            "seq": seq,
            "at": iso(event.ts),
            "run": event.run,
            "address": event.at,
            "origin": origin,
        }

    def _put_out(self, seq: int, event: Event, data: dict[str, Any]) -> None:
        output: Output = data.get("output") or Output()
        run = event.run or ""
        loop: LoopTotals = {**(output.get("loop") or {})}
        loop.pop("errors", None)
        size = (output.get("meta") or {}).get("bytes")
        self.outputs.append(
            {
                "seq": seq,
                "at": iso(event.ts),
                "run": run,
                "step": step_of(run),
                "status": "failed" if event.name == "step.failed" else "done",
                "data": output.get("data"),
                "ref": output.get("ref"),
                "bytes": size if isinstance(size, int) else None,
                "error": data.get("error"),
                "loop": loop,
            }
        )

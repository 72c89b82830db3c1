"""What dbt says while it runs: JSON, one event a line, as lines of the task's log."""

import msgspec

from noetl.core.values.lines import LEVEL_END, LEVEL_MARK
from noetl.ports.call import CallOutput

EVENT_BYTES = 1 << 20
ERRORS_KEPT = 20
ERROR_CHARS = 2_000
NUMBERS = {"debug": 10, "info": 20, "warn": 30, "error": 40}


class _Info(msgspec.Struct):
    level: str = "info"
    msg: str = ""


class _Event(msgspec.Struct):
    info: _Info


_EVENT = msgspec.json.Decoder(_Event)


class Events:
    """Cuts what dbt prints into events, hands their texts on, and keeps the first errors among them."""

    def __init__(self, output: CallOutput) -> None:
        self.errors: list[str] = []
        self._output = output
        self._rest = bytearray()

    def feed(self, data: bytes, stream: int) -> None:
        """Some bytes of dbt's outputs; what is no event is a line as it is."""
        if stream != 1:
            self._output.write(data, stream)
            return
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._keep(part)
            self._tell()
        self._keep(rest)

    def end(self) -> None:
        """There comes no more."""
        if self._rest:
            self._tell()

    def _keep(self, part: bytes) -> None:
        self._rest += part[: EVENT_BYTES - len(self._rest)]

    def _tell(self) -> None:
        line = bytes(self._rest)
        self._rest.clear()
        try:
            info = _EVENT.decode(line).info
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._output.write(line + b"\n", 1)
            return
        if info.level == "error" and len(self.errors) < ERRORS_KEPT and info.msg.strip():
            self.errors.append(info.msg.strip()[:ERROR_CHARS])
        mark = f"{LEVEL_MARK}{NUMBERS.get(info.level, 20)}{LEVEL_END}"
        text = "".join(f"{mark}{each}\n" for each in info.msg.splitlines() if each.strip())
        if text:
            self._output.write(text.encode(errors="replace"), 1)

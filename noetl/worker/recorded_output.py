"""What a call prints where nobody takes lines by themselves: the end of it goes into the task's event."""

from noetl.core.values.lines import LineSplitter, level_of

LOG_BYTES = 16_384
LEFT_OUT = "… (earlier lines left out)"


class RecordedOutput:
    """The newest lines of one call, within bounds."""

    def __init__(self) -> None:
        self.keep: int | None = None
        self.last: list[str] = []
        self._size = 0
        self._cut = False
        self._splitters: dict[int, LineSplitter] = {}

    def write(self, data: bytes, stream: int = 1) -> None:
        """Take bytes of one of its outputs."""
        splitter = self._splitters.get(stream)
        if splitter is None:
            splitter = self._splitters[stream] = LineSplitter()
        self._add(list(splitter.feed(data)))

    def end(self) -> None:
        """The call is over."""
        self._add([text for splitter in self._splitters.values() for text in splitter.end()])
        if self._cut:
            self.last.insert(0, LEFT_OUT)

    def _add(self, texts: list[str]) -> None:
        self.last += [level_of(text)[1] for text in texts]
        self._size += sum(map(len, texts)) + len(texts)
        while self._size > LOG_BYTES and len(self.last) > 1:
            self._size -= len(self.last.pop(0)) + 1
            self._cut = True

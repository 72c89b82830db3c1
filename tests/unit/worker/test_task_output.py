"""Lines of tasks go out beside the reports: together, in order, without secrets, and counted when they cannot."""

import asyncio
from collections.abc import Sequence

import pytest

from noetl.core.values.redact import Redactor
from noetl.errors import BackendError, RequestError
from noetl.ports.task_lines import LINE_COST, PrintedLines
from noetl.worker import task_output
from noetl.worker.recorded_output import LEFT_OUT, LOG_BYTES, RecordedOutput
from noetl.worker.task_output import LineSender, TaskOutput


class Sink:
    """Takes lines, or raises what it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[PrintedLines]] = []
        self.errors: list[Exception] = []
        self.open = asyncio.Event()
        self.open.set()

    def takes(self, execution_id: str) -> bool:
        return True

    async def add(self, printed: Sequence[PrintedLines]) -> None:
        await self.open.wait()
        if self.errors:
            raise self.errors.pop(0)
        self.batches.append(list(printed))

    @property
    def texts(self) -> list[str]:
        return [line.text for batch in self.batches for one in batch for line in one.lines]

    @property
    def lost(self) -> int:
        return sum(one.lost for batch in self.batches for one in batch)


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def sender(sink: Sink) -> LineSender:
    return LineSender(sink, lambda: 7)


def output(sender: LineSender, redactor: Redactor | None = None) -> TaskOutput:
    return TaskOutput(sender, redactor or Redactor(), lambda: PrintedLines("e", "load.1", "fetch"))


async def test_lines_go_out_together_while_the_task_runs(sink: Sink, sender: LineSender) -> None:
    printed = output(sender)
    printed.write(b"one\nERROR:app:two\nthr")
    await sender.close()
    assert [(line.ts, line.level, line.text) for line in sink.batches[0][0].lines] == [
        (7, None, "one"),
        (7, "error", "ERROR:app:two"),
    ]
    printed.write(b"ee")
    printed.end()
    await sender.close()
    assert sink.texts[-1] == "three"
    assert (sink.batches[1][0].before, printed.last) == (
        len("oneERROR:app:two") + 2 * LINE_COST,
        ["one", "ERROR:app:two", "three"],
    )


async def test_secrets_are_taken_out_before_lines_leave(sink: Sink, sender: LineSender) -> None:
    redactor = Redactor()
    redactor.learn({"password": "hunter2hunter2"})
    output(sender, redactor).write(b"plain\nit is hunter2hunter2\n")
    await sender.close()
    assert sink.texts == ["plain", "it is ***"]


async def test_lines_wait_for_someone_who_takes_them(
    sink: Sink, sender: LineSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_output, "AGAIN_S", 0.01)
    sink.errors = [BackendError("away"), BackendError("away")]
    printed = output(sender)
    printed.write(b"one\n")
    printed.end()
    await sender.close()
    assert (sink.texts, sink.lost, sender.pending) == (["one"], 0, 0)


async def test_lines_that_are_refused_are_counted(sink: Sink, sender: LineSender) -> None:
    sink.errors = [RequestError("too many")]
    printed = output(sender)
    printed.write(b"one\ntwo\n")
    await sender.close()
    printed.write(b"three\n")
    await sender.close()
    assert (sink.texts, sink.lost) == (["three"], 2)


async def test_lines_that_wait_too_long_are_counted(
    sink: Sink, sender: LineSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_output, "PATIENCE_S", -1.0)
    sink.errors = [BackendError("away")]
    printed = output(sender)
    printed.write(b"one\n")
    await sender.close()
    printed.write(b"two\n")
    await sender.close()
    assert (sink.texts, sink.lost) == (["two"], 1)


async def test_what_comes_faster_than_it_goes_loses_its_middle_which_is_counted(
    sink: Sink, sender: LineSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_output, "PENDING_BYTES", 10)
    printed = output(sender)
    for part in (b"first\n", b"left\nout\nhal", b"f of", b" it\nthe last", b"", b" but one\nlast"):
        printed.write(part)
    printed.end()
    await sender.close()
    assert (sink.texts, sink.lost) == (["first", "last"], 4)


async def test_what_was_held_back_goes_on_when_there_is_room_again(
    sink: Sink, sender: LineSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_output, "PENDING_BYTES", 5)
    printed = output(sender)
    printed.write(b"012345\nbegin")
    printed.write(b"ning\nhalf of")
    await sender.close()
    printed.write(b" it\nwhole\n")
    await sender.close()
    assert (sink.texts, sink.lost) == (["012345", "beginning", "half of it", "whole"], 0)


async def test_many_lines_go_in_several_batches(
    sink: Sink, sender: LineSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_output, "BATCH_BYTES", 100)
    printed = output(sender)
    printed.write(b"".join(b"line %03d\n" % number for number in range(50)))
    await sender.close()
    assert sink.texts == [f"line {number:03}" for number in range(50)]
    assert len(sink.batches) > 3
    assert sender.pending == printed.pending == 0


def test_where_nobody_takes_lines_the_end_of_them_is_kept() -> None:
    printed = RecordedOutput()
    printed.write(b"first\n" + b"xxx\n" * LOG_BYTES + b"last\n\x1e20\x1fno end")
    printed.end()
    assert printed.last[0] == LEFT_OUT
    assert printed.last[-2:] == ["last", "no end"]


async def test_lines_whose_answer_was_lost_are_sent_again_as_they_were() -> None:
    class Deaf(Sink):
        """Keeps what it is sent, and its answer is lost once."""

        async def add(self, printed: Sequence[PrintedLines]) -> None:
            self.batches.append(list(printed))
            if len(self.batches) == 1:
                raise BackendError("no answer")

    deaf = Deaf()
    sender = LineSender(deaf, lambda: 7)
    printed = output(sender)
    printed.write(b"one\n")
    await sender.settled()
    printed.write(b"two\n")
    printed.end()
    await sender.close()
    sent = [(one.batch, [line.text for line in one.lines]) for batch in deaf.batches for one in batch]
    assert sent[0] == sent[1]
    assert [texts for _, texts in sent] == [["one"], ["one"], ["two"]]
    assert len({batch for batch, _ in sent}) == 2
    assert sender.pending == 0

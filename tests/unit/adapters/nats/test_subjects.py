"""What others choose becomes no part of what is said to NATS but the part it is meant to be."""

import pytest

from noetl.adapters.nats import subjects
from noetl.adapters.nats.serve import NatsWorkerChannel, Sender
from noetl.errors import RequestError

CONTROL_LINE = 4096  # the longest line that NATS reads


@pytest.mark.parametrize(
    "pool", ["default", "two words", "a.b", ">", "x\r\nPUB y 0\r\n", "ß" * 200, "x" * 100_000]
)
def test_any_text_may_be_the_name_of_a_pool(pool: str) -> None:
    subject = subjects.hint(pool)
    assert len(subject) < CONTROL_LINE
    assert subject.count(".") == subjects.HINT.count(".") + 1
    assert subject.replace(".", "").isalnum()
    assert subject != subjects.hint(pool + "x")


@pytest.mark.parametrize("name", ["", "a b", "w\r\nPUB x 0", "*", "a.>", ".a", "a..b", "w" * 201])
def test_a_worker_has_a_name_that_can_be_spoken(name: str) -> None:
    calling = NatsWorkerChannel(None, "server", lambda: 0)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="is no name of a worker"):
        calling.meet(name, None, Sender(None))


def test_the_names_that_workers_give_themselves_are_names() -> None:
    calling = NatsWorkerChannel(None, "server", lambda: 0)  # type: ignore[arg-type]
    calling.meet("my_host-2.example-123-0090cf", None, Sender(None))

"""Secrets that tasks of one execution share for a moment."""

import asyncio

from noetl.ports.control import material_digest
from noetl.worker.secret_cache import SECRET_S, CachedSecrets


class Source:
    """Gives a new token each time it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str | None]] = []

    async def resolve(self, execution_id: str, name: str, refused: str | None = None) -> dict[str, str]:
        self.asked.append((execution_id, name, refused))
        return {"token": f"token {len(self.asked)}"}


async def test_tasks_of_an_execution_share_a_secret_and_other_executions_ask_for_their_own() -> None:
    source = Source()
    secrets = CachedSecrets(source)
    tokens = [(await secrets.resolve(execution, "api"))["token"] for execution in ("1", "1", "2", "1")]
    assert tokens == ["token 1", "token 1", "token 2", "token 1"]


async def test_a_secret_that_was_refused_is_asked_for_again() -> None:
    source = Source()
    secrets = CachedSecrets(source)
    first = await secrets.resolve("1", "api")
    second = await secrets.resolve("1", "api", material_digest(first))
    assert second == await secrets.resolve("1", "api") == {"token": "token 2"}
    assert source.asked[1][2] == material_digest(first)


async def test_a_secret_is_forgotten_after_a_moment(monkeypatch) -> None:
    later = []
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda *call: later.append(call))
    source = Source()
    secrets = CachedSecrets(source)
    await secrets.resolve("1", "api")
    ((seconds, forget, *arguments),) = later
    forget(*arguments)
    assert seconds == SECRET_S
    assert (await secrets.resolve("1", "api"))["token"] == "token 2"

"""What cannot be decided is stuck: that execution alone stops, keeps its log and mail, and can be released."""

import asyncio
from typing import Any

import pytest

from noetl import __version__
from noetl.control import engine as engine_module
from noetl.control.front.stuck import release
from noetl.control.log_rows import encode_message
from noetl.control.stuck_executions import StuckError
from noetl.core.decide import decide
from noetl.core.message import Control, Report, Tick
from noetl.errors import BackendError, Conflict, InvariantViolation
from noetl.ports.store import Find, Stuck
from tests.engine.harness import begin, control, engine, finish, playbook, until
from tests.engine.test_mailbox import parked


def fails_on(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception) -> None:
    """Deciding on a signal of a name fails."""

    def wrong(state: Any, message: Any, *others: Any, **more: Any) -> Any:
        if isinstance(message, Control) and message.name == name:
            raise error
        return decide(state, message, *others, **more)

    monkeypatch.setattr(engine_module, "decide", wrong)


async def stuck(made: Any, execution_id: str) -> dict[str, Any]:
    """How an execution stands that was set aside."""
    await made.engine.stuck.mark()
    result: dict[str, Any] = await made.front.execution(execution_id)
    assert result["status"] == "stuck"
    return result


def damage(made: Any, execution_id: str) -> bytes:
    """Make the last row of a log unreadable; what it was."""
    row = made.store._executions[execution_id].rows[-1]
    body, row.body = row.body, b"[{"
    return bytes(body)


@pytest.mark.parametrize("error", [KeyError("a bug"), InvariantViolation("a rule is broken")])
async def test_an_execution_whose_decision_fails_is_stuck_alone_and_explained(tmp_path, monkeypatch, error):
    async with engine(tmp_path) as made:
        bad, good = await parked(made), await parked(made)
        fails_on(monkeypatch, "bad", error)
        with pytest.raises(StuckError, match="deciding on it failed"):
            await made.engine.send(bad, Control("signal", name="bad"))
        result = await stuck(made, bad)
        assert str(error).strip("'") in result["stuck"]["message"]
        assert result["stuck"]["reason"] == "decision"
        assert [one.execution_id for one in (await made.front.executions(Find(status="stuck"))).items] == [
            bad
        ]
        assert await made.front.stuck() == 1
        why = await made.front.why(bad)
        assert why["status"] == "stuck"
        assert "stuck since" in why["summary"]
        met = f"(met by {made.engine.owner}, noetl {__version__})"
        assert why["reasons"][0]["text"].endswith(met)
        assert f"release {bad}; or end it: noetl execution cancel {bad}" in why["reasons"][1]["text"]
        assert made.engine.running() == (good,)
        await control(made, good, "signal", name="go")
        assert (await finish(made, good)).status == "completed"


async def test_a_report_of_a_stuck_execution_is_refused_and_its_worker_stops(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await begin(
            made, playbook("- {step: start, tool: {kind: shell, input: {command: 'sleep 60'}}}")
        )
        await until(made, lambda: bool(made.pool.held()))
        ((_, lease, epoch),) = made.pool.held()
        fails_on(monkeypatch, "bad", KeyError("a bug"))
        with pytest.raises(StuckError):
            await made.engine.send(execution_id, Control("signal", name="bad"))
        await asyncio.gather(*(task for _, task in made.pool._running.values()), return_exceptions=True)
        assert made.pool.held() == []
        await made.engine.stuck.mark()
        loads = counted(monkeypatch, made.store, "log")
        for number in range(3):
            report = Report(lease, epoch, "w", f"{lease}/{epoch}/{number}", final=True)
            answer = await made.engine.report(execution_id, report)
            assert not answer.accepted
            assert "stuck" in answer.why
        assert loads == []


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """Every call of a coroutine method from now on."""
    calls: list[Any] = []
    right = getattr(owner, name)

    async def counting(*args: Any, **more: Any) -> Any:
        calls.append(args)
        return await right(*args, **more)

    monkeypatch.setattr(owner, name, counting)
    return calls


async def test_a_poison_report_is_refused_once_and_for_all(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)

        def wrong(state: Any, message: Any, *others: Any, **more: Any) -> Any:
            if isinstance(message, Report):
                raise IndexError("poison")
            return decide(state, message, *others, **more)

        monkeypatch.setattr(engine_module, "decide", wrong)
        for _ in range(2):
            answer = await made.engine.report(execution_id, Report("start.1", 1, "w", "start.1/1/9"))
            assert (answer.accepted, "poison" in answer.why) == (False, True)
        await stuck(made, execution_id)


async def test_letters_survive_a_bug_and_are_read_once_the_execution_is_released(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        for name in ("bad", "go"):
            await made.store.post(execution_id, encode_message(Control("signal", name=name)))
        with monkeypatch.context() as patched:
            fails_on(patched, "bad", KeyError("a bug"))
            await made.engine.collect_mail()
            await made.engine.until_quiet(execution_id)
            await stuck(made, execution_id)
            assert (await made.store.extent()).messages == 2
            with pytest.raises(Conflict, match="stuck"):
                await made.front.control(execution_id, Control("pause"))
        await made.front.release(execution_id)
        assert made.engine.running() == (execution_id,)
        await made.engine.collect_mail()
        assert (await finish(made, execution_id)).status == "completed"
        assert (await made.store.extent()).messages == 0
        with pytest.raises(Conflict, match="not stuck"):
            await made.front.release(execution_id)


async def test_one_unreadable_log_blocks_nobodys_mail_and_is_not_read_again_and_again(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        broken, sound = await parked(made), await parked(made)
    whole = damage(made, broken)
    async with engine(tmp_path, made) as other:
        for execution_id in (broken, sound):
            assert await other.store.claim(execution_id, other.engine.owner, 30_000)
            await other.store.post(execution_id, encode_message(Control("signal", name="go")))
        reads = counted(monkeypatch, other.store, "log")
        for _ in range(3):
            await other.engine.collect_mail()
            await other.engine.pick_up_due()
        assert (await finish(other, sound)).status == "completed"
        assert [one for (one,) in reads].count(broken) == 1
        result = await stuck(other, broken)
        assert result["stuck"]["reason"] == "log"
        assert result["playbook"]["path"] == "tests/case"
        first, then = (await other.front.why(broken))["reasons"][:2]
        assert first["about"] == "stuck"
        assert f"release {broken}; before that it cannot be ended either" in then["text"]
        with pytest.raises(StuckError, match="cannot be read"):
            await other.front.release(broken)
        with pytest.raises(StuckError, match=r"cannot be cancelled.* cannot be read"):
            await other.front.control(broken, Control("cancel"))
        await stuck(other, broken)
        async with asyncio.timeout(30):  # nothing more comes of it
            assert [batch async for batch in other.front.follow(broken)] == []
        other.store._executions[broken].rows[-1].body = whole
        await other.front.release(broken)
        await other.engine.collect_mail()
        assert (await finish(other, broken)).status == "completed"


async def test_what_is_released_goes_on_from_its_log_alone(tmp_path):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)  # here, although another server gave it up meanwhile
        whole = damage(made, execution_id)
        why = Stuck("log", "cannot be read", 0, "other", "")
        assert await made.store.set_aside(execution_id, made.engine.owner, why)
        with pytest.raises(StuckError, match="cannot be read"):
            await made.front.release(execution_id)
        await stuck(made, execution_id)
        made.store._executions[execution_id].rows[-1].body = whole
        await made.front.release(execution_id)
        await control(made, execution_id, "signal", name="go")
        assert (await finish(made, execution_id)).status == "completed"


async def test_a_release_or_cancel_in_vain_does_not_move_since_when_it_is_stuck(tmp_path):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        whole = damage(made, execution_id)
        why = Stuck("log", "cannot be read", 1_000, "other", "")
        assert await made.store.set_aside(execution_id, made.engine.owner, why)
        with pytest.raises(StuckError, match=r"stuck since 1970-01-01T00:00:01"):
            await made.front.release(execution_id)
        assert (await stuck(made, execution_id))["stuck"]["since"] == "1970-01-01T00:00:01.000Z"
        with pytest.raises(StuckError, match=r"stuck since 1970-01-01T00:00:01"):
            await made.front.control(execution_id, Control("cancel"))
        assert (await stuck(made, execution_id))["stuck"]["since"] == "1970-01-01T00:00:01.000Z"
        made.store._executions[execution_id].rows[-1].body = whole
        await made.front.release(execution_id)
        damage(made, execution_id)
        made.engine.forget(execution_id)
        with pytest.raises(StuckError):  # it went on meanwhile: that is another time
            await made.engine.load(execution_id)
        assert (await stuck(made, execution_id))["stuck"]["since"] > "2000"


async def test_whoever_told_by_mail_what_an_unreadable_log_cannot_show_is_told_so(tmp_path):
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        execution_id = await parked(made)
        made.engine.listeners.append(lambda *told: damage(made, execution_id))
        wish = asyncio.create_task(other.front.control(execution_id, Control("signal", name="other")))
        while not wish.done():
            await made.engine.collect_mail()
            await asyncio.sleep(0.01)
        made.engine.listeners.pop()
        with pytest.raises(Conflict, match="is not known: the row of event"):
            await wish


async def test_an_unreadable_letter_stops_its_execution_alone(tmp_path):
    async with engine(tmp_path) as made:
        broken, sound = await parked(made), await parked(made)
        await made.store.post(broken, b'{"type": "unheard of"}')
        await made.store.post(sound, encode_message(Control("signal", name="go")))
        await made.engine.collect_mail()
        assert (await finish(made, sound)).status == "completed"
        why = (await stuck(made, broken))["stuck"]
        assert why["reason"] == "mail"
        with pytest.raises(StuckError, match="a message that was left for it cannot be read"):
            await release(made.engine, broken, "ann", adopts=True)  # as a server does, which reads it again
        again = (await stuck(made, broken))["stuck"]
        assert again["reason"] == "mail"
        assert again["since"] == why["since"]


async def test_a_result_store_that_fails_for_one_execution_keeps_no_letter_of_another(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        one, other = await parked(made), await parked(made)
        for execution_id in (one, other):
            await made.store.post(execution_id, encode_message(Control("signal", name="go")))
        made.engine._owned.executions.pop(one)
        log = made.store.log

        async def away(execution_id: str) -> Any:
            if execution_id == one:
                raise BackendError("away")
            return await log(execution_id)

        with monkeypatch.context() as patched:
            patched.setattr(made.store, "log", away)
            with pytest.raises(BackendError, match="away"):
                await made.engine.collect_mail()
            assert (await finish(made, other)).status == "completed"
        await made.engine.collect_mail()
        assert (await finish(made, one)).status == "completed"


async def test_a_stuck_execution_whose_log_can_be_read_can_be_cancelled(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        fails_on(monkeypatch, "bad", KeyError("a bug"))
        with pytest.raises(StuckError):
            await made.engine.send(execution_id, Control("signal", name="bad"))
        await stuck(made, execution_id)
        await made.front.control(execution_id, Control("cancel"))
        assert (await finish(made, execution_id)).status == "cancelled"


async def test_whoever_told_what_made_it_stuck_by_mail_is_told_so(tmp_path, monkeypatch):
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        execution_id = await parked(made)
        fails_on(monkeypatch, "bad", KeyError("a bug"))
        wish = asyncio.create_task(other.front.control(execution_id, Control("signal", name="bad")))
        while not wish.done():
            await made.engine.collect_mail()
            await asyncio.sleep(0.01)
        with pytest.raises(StuckError, match="deciding on it failed"):
            await wish
        await stuck(other, execution_id)


async def test_no_server_takes_up_what_is_stuck(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        fails_on(monkeypatch, "bad", KeyError("a bug"))
        with pytest.raises(StuckError):
            await made.engine.send(execution_id, Control("signal", name="bad"))
    async with engine(tmp_path, made) as other:
        assert await other.engine.pick_up_due() == 0
        assert not await other.store.claim(execution_id, other.engine.owner, 30_000)
        with pytest.raises(StuckError):
            await other.engine.load(execution_id)


async def test_a_store_that_is_away_is_told_later_what_is_stuck(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        fails_on(monkeypatch, "bad", KeyError("a bug"))

        async def away(*args: Any) -> bool:
            raise BackendError("the store is away")

        with monkeypatch.context() as patched:
            patched.setattr(made.store, "set_aside", away)
            with pytest.raises(StuckError):
                await made.engine.send(execution_id, Control("signal", name="bad"))
            await made.engine.stuck.mark()
            with pytest.raises(StuckError):
                await made.engine.load(execution_id)
        await made.engine.pick_up_due()
        await stuck(made, execution_id)


# What takes its owners down


async def left_by_the_dead(made: Any, in_hand: str | None) -> str:
    """An execution whose owner died, perhaps with it in hand."""
    execution_id = await parked(made)
    known = made.store._executions[execution_id]
    known.owner, known.owned_until, known.in_hand = "dead", 0, in_hand
    made.engine._owned.executions.pop(execution_id)
    return execution_id


async def test_what_was_not_in_hand_when_its_owner_died_is_noted_and_not_tried(tmp_path):
    async with engine(tmp_path) as made:
        execution_id = await left_by_the_dead(made, None)
        made.engine.trial = unexpected
        live = await made.engine.load(execution_id)
        in_hand: list[str | None] = []
        commit = made.store.commit

        async def watched(append: Any) -> None:
            in_hand.append(made.store._executions[execution_id].in_hand)
            await commit(append)

        made.store.commit = watched
        assert (live.wary, live.tried) == (8, False)
        await control(made, execution_id, "pause")
        assert in_hand == [made.engine.owner]
        assert made.store._executions[execution_id].in_hand is None
        assert live.wary == 7
        await control(made, execution_id, "resume")
        await control(made, execution_id, "signal", name="go")
        assert (await finish(made, execution_id)).status == "completed"


async def unexpected(work: Any) -> str | None:
    raise AssertionError("nothing is to be tried")


async def test_what_was_in_hand_is_tried_apart_and_goes_on_when_it_harms_nobody(tmp_path):
    async with engine(tmp_path) as made:
        execution_id = await left_by_the_dead(made, "dead")
        trial, tried = made.engine.trial, []

        async def watched(work: Any) -> str | None:
            tried.append(await trial(work))
            return tried[-1]

        made.engine.trial = watched
        await made.engine.pick_up(execution_id)
        await control(made, execution_id, "signal", name="go")
        assert (await finish(made, execution_id)).status == "completed"
        assert len(tried) > 2
        assert set(tried) == {None}


async def released(made: Any, execution_id: str) -> None:
    await made.front.release(execution_id)
    await made.engine.send(execution_id, Tick())


@pytest.mark.parametrize("where", ["reading", "deciding"])
async def test_what_ends_the_process_it_is_tried_in_is_stuck(tmp_path, monkeypatch, where):
    import os

    def deadly(*args: Any, **more: Any) -> Any:
        os._exit(9)

    async with engine(tmp_path) as made:
        execution_id = await left_by_the_dead(made, "dead")
        if where == "reading":
            monkeypatch.setattr("noetl.control.ownership.folded", deadly)
            with pytest.raises(StuckError, match="exit code 9"):
                await made.engine.load(execution_id)
        else:
            monkeypatch.setattr(engine_module, "decide", deadly)
            with pytest.raises(StuckError, match="exit code 9"):
                await made.engine.send(execution_id, Tick())
        assert (await stuck(made, execution_id))["stuck"]["reason"] == "owners"
        with pytest.raises(StuckError, match="exit code 9"):  # released, it is tried apart again
            await released(made, execution_id)
        monkeypatch.undo()
        await made.engine.stuck.mark()
        await made.front.release(execution_id)
        await control(made, execution_id, "signal", name="go")
        assert (await finish(made, execution_id)).status == "completed"

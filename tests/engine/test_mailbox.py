"""The mailbox of an execution: nobody who told it something is left waiting, and nothing half done stays."""

import asyncio

import pytest
from msgspec.structs import replace

from noetl.control.history import events
from noetl.core.event import Event
from noetl.core.message import Control, Report
from noetl.errors import BackendError, Conflict, NotFound
from tests.engine.harness import begin, control, engine, finish, playbook, until

WAITS = playbook("- {step: start, tool: {kind: wait, input: {signal: go}}}")


async def parked(made) -> str:
    """An execution that waits for a signal."""
    execution_id = await begin(made, WAITS)
    state = made.engine.live_state(execution_id)
    await until(made, lambda: any(run.parked for run in state.runs.values()))
    return execution_id


async def posted(made, number: int = 1) -> None:
    """Wait for letters."""
    async with asyncio.timeout(20):
        while True:
            if len(made.store._mail) >= number:
                return
            await asyncio.sleep(0)


async def taken_up(made, execution_id: str) -> None:
    """Go on after the execution was dropped: it is loaded again from its log, and ends as it should."""
    assert made.engine.live_state(execution_id) is None
    await made.engine.pick_up(execution_id)
    await control(made, execution_id, "signal", name="go")
    assert (await finish(made, execution_id)).status == "completed"


async def test_whoever_told_what_could_not_be_decided_on_is_told_so(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)

        async def away(live, message):
            raise BackendError("the result store is away")

        with monkeypatch.context() as patched:
            patched.setattr(made.engine._prefetch, "before", away)
            with pytest.raises(BackendError, match="result store"):
                await asyncio.wait_for(made.engine.send(execution_id, Control("pause")), 20)
        await taken_up(made, execution_id)


async def test_whoever_goes_away_in_the_middle_of_a_commit_leaves_nothing_half_done(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        committing, others = asyncio.Event(), made.engine.store.commit

        async def slow(append):
            committing.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(made.engine.store, "commit", slow)
        gone = asyncio.create_task(made.engine.send(execution_id, Control("pause")))
        await asyncio.wait_for(committing.wait(), 20)
        behind = asyncio.create_task(made.engine.send(execution_id, Control("pause")))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(BackendError, match="interrupted"):
            await asyncio.wait_for(behind, 20)
        with pytest.raises(asyncio.CancelledError):
            await gone
        monkeypatch.setattr(made.engine.store, "commit", others)
        await taken_up(made, execution_id)


async def test_messages_that_come_while_one_is_decided_on_are_decided_on_together(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        right, commits = made.engine.store.commit, []

        async def counted(append):
            commits.append(len(append.rows))
            await asyncio.sleep(0)  # as a store does that writes to a disk
            await right(append)

        monkeypatch.setattr(made.engine.store, "commit", counted)
        wishes = [Control("pause"), Control("resume"), Control("pause"), Control("resume")]
        await asyncio.gather(*(made.engine.send(execution_id, wish) for wish in wishes))
        assert commits[:2] == [1, 3]
        await control(made, execution_id, "signal", name="go")
        assert (await finish(made, execution_id)).status == "completed"


async def test_who_only_listens_cannot_stop_an_execution(tmp_path):
    async with engine(tmp_path) as made:

        def fails(*_):
            raise KeyError("a bug of the listener")

        made.engine.listeners.append(fails)
        execution_id = await begin(made, playbook("- {step: start, tool: {kind: noop}}"))
        assert (await finish(made, execution_id)).status == "completed"


async def test_what_a_worker_reports_to_who_lost_the_execution_is_to_be_sent_to_another(tmp_path):
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        made.pool.draining = True  # the order stays where it is
        execution_id = await begin(made, playbook("- {step: start, tool: {kind: noop}}"))
        await made.store.leave(made.engine.owner)
        await other.engine.resume(execution_id)
        done = Event("step.done", 1, "w", "start.1", data={"output": {"status": "ok", "data": None}})
        with pytest.raises(BackendError, match="another process runs it"):
            await made.engine.report(
                execution_id, Report("start.1", 1, "w", "start.1/1/1", [done], final=True)
            )
        assert (await finish(other, execution_id)).status == "completed"


async def test_what_one_wishes_of_who_lost_the_execution_is_passed_on(tmp_path):
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        execution_id = await parked(made)
        await made.store.leave(made.engine.owner)
        await control(other, execution_id, "signal", name="nobody waits for it")
        wish = asyncio.create_task(made.front.control(execution_id, Control("cancel")))
        while not wish.done():
            await other.engine.collect_mail()
            await asyncio.sleep(0.01)
        await wish
        assert (await finish(other, execution_id)).status == "cancelled"


@pytest.mark.parametrize("payload", [2, 1], ids=["another", "the same"])
async def test_a_signal_that_was_left_is_not_proven_by_another_and_lost_with_the_end(tmp_path, payload):
    """Two are on their way when the first of them ends the execution: the second was never told."""
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        execution_id = await parked(made)
        late = Control("signal", name="go", payload=payload)
        wish = asyncio.create_task(other.front.control(execution_id, late))
        await posted(made)
        await made.front.control(execution_id, Control("signal", name="go", payload=1))
        await finish(made, execution_id)
        with pytest.raises(Conflict, match="it ended before it could be told"):
            await asyncio.wait_for(wish, 20)


async def test_of_the_same_signals_from_several_places_as_many_are_told_as_the_log_has(tmp_path):
    async with engine(tmp_path) as made, engine(tmp_path, made) as one, engine(tmp_path, made) as other:
        execution_id = await parked(made)
        approval = Control("signal", name="go", payload={"approved": True})
        fronts = [one.front, other.front, other.front]
        wishes = [asyncio.create_task(front.control(execution_id, approval)) for front in fronts]
        await posted(made, len(wishes))
        await made.engine.collect_mail()
        answers = await asyncio.wait_for(asyncio.gather(*wishes, return_exceptions=True), 30)
        await finish(made, execution_id)
        signals = [
            event
            async for _, event in events(made.store, execution_id)
            if event.name == "execution.signalled"
        ]
    refused = [answer for answer in answers if answer is not None]
    assert len(signals) == answers.count(None) >= 1
    assert {str(answer) for answer in refused} <= {
        f"execution {execution_id} is completed; it ended before it could be told"
    }


async def test_a_wish_that_an_older_release_logged_is_known_by_what_it_says(tmp_path, monkeypatch):
    """It takes a wish up without what tells it from another."""
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        execution_id = await parked(made)
        right = made.engine.put
        monkeypatch.setattr(
            made.engine, "put", lambda execution, message: right(execution, replace(message, id=None))
        )
        wish = asyncio.create_task(other.front.control(execution_id, Control("signal", name="go", payload=1)))
        await posted(made)
        await made.engine.collect_mail()
        await asyncio.wait_for(wish, 20)
        assert (await finish(made, execution_id)).status == "completed"


async def test_a_wish_that_its_owner_refused_is_refused_at_once(tmp_path):
    """It was paused by another in the moment in which the letter was on its way."""
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        execution_id = await parked(made)
        wish = asyncio.create_task(other.front.control(execution_id, Control("pause", by="late")))
        await posted(made)
        await made.front.control(execution_id, Control("pause", by="first"))
        await made.engine.collect_mail()
        with pytest.raises(Conflict, match="is paused, and could not be told to pause"):
            await asyncio.wait_for(wish, 20)
        paused = [
            event async for _, event in events(made.store, execution_id) if event.name == "execution.paused"
        ]
        assert [(event.data or {})["by"] for event in paused] == ["first"]


async def test_a_wish_is_passed_on_when_another_takes_the_execution_before_it_is_decided_on(
    tmp_path, monkeypatch
):
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        execution_id = await parked(made)
        right = made.engine.send

        async def too_late(execution_id, wish):
            made.engine.forget(execution_id)
            await made.store.leave(made.engine.owner)
            await other.engine.resume(execution_id)
            return await right(execution_id, wish)

        monkeypatch.setattr(made.engine, "send", too_late)
        wish = asyncio.create_task(made.front.control(execution_id, Control("cancel")))
        while not wish.done():
            await other.engine.collect_mail()
            await asyncio.sleep(0.01)
        await wish
        assert (await finish(other, execution_id)).status == "cancelled"


BIG_THEN_WAIT = playbook("""
- step: start
  tool:
    - {name: big, kind: python, input: {code: "result = 'x' * 200_000"}}
    - {name: w, kind: wait, input: {signal: go}}
    - {name: told, kind: noop, output: "{{ big.data | length }}"}
""")


@pytest.mark.parametrize(
    "wrong, times, status", [(BackendError("away"), 2, "completed"), (NotFound("gone"), 99, "failed")]
)
async def test_work_whose_frames_cannot_be_read_is_tried_again_or_given_up(
    tmp_path, monkeypatch, wrong, times, status
):
    monkeypatch.setattr("noetl.control.command_dispatch.AGAIN_S", 0.0)
    async with engine(tmp_path) as made:
        execution_id = await begin(made, BIG_THEN_WAIT)
        live = made.engine.in_memory(execution_id)
        await until(made, lambda: any(run.parked for run in live.state.runs.values()))
        await until(made, lambda: not any(lease.out for lease in live.state.leases.values()))
        left, get = [wrong] * times, made.engine.payloads.get

        async def unreadable(ref):
            if left:
                raise left.pop()
            return await get(ref)

        monkeypatch.setattr(made.engine.payloads, "get", unreadable)
        live.hydrated.clear()
        await control(made, execution_id, "signal", name="go")
        ran = await finish(made, execution_id)
    assert (ran.status, len(left) < times) == (status, True)


async def test_a_secret_of_an_execution_that_is_just_being_loaded_is_to_be_asked_for_again(tmp_path):
    async with engine(tmp_path) as made:
        with pytest.raises(BackendError, match="just being loaded"):
            await made.resolve("0" * 32, "api")


async def test_a_worker_that_lives_on_fails_the_step_whose_result_cannot_be_kept(tmp_path):
    class Away:
        async def write(self, payload):
            raise BackendError("the result store is away")

    async with engine(tmp_path) as made:
        made.pool.outlives_trouble, made.pool.payloads = True, Away()
        text = playbook("""- {step: start, tool: {kind: noop, output: "{{ 'x' * 200000 }}"}}""")
        ran = await finish(made, await begin(made, text))
    assert (ran.status, ran.error["kind"]) == ("failed", "internal")
    assert "the result store is away" in ran.error["message"]


async def test_a_report_of_whoever_holds_no_lease_does_not_wait_until_the_lease_is_out_again(
    tmp_path, monkeypatch
):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        (lease,) = made.engine.live_state(execution_id).leases.values()
        await until(made, lambda: not lease.out)
        committing, commit, go = asyncio.Event(), made.engine.store.commit, asyncio.Event()

        async def slow(append):
            committing.set()
            await go.wait()
            await commit(append)

        monkeypatch.setattr(made.engine.store, "commit", slow)
        wish = asyncio.create_task(made.engine.send(execution_id, Control("signal", name="go")))
        await asyncio.wait_for(committing.wait(), 20)
        forged = Event("step.done", 0, "w", "start.1", data={"output": {"status": "ok", "data": "forged"}})
        report = Report(lease.id, lease.epoch, "stranger", "forged/1", [forged], final=True)
        told = asyncio.create_task(made.engine.report(execution_id, report, lambda: False))
        await asyncio.sleep(0)
        go.set()
        await wish
        answer = await told
        assert (answer.accepted, answer.why) == (False, "the lease is not current")
        ran = await finish(made, execution_id)
    assert (ran.status, "forged" in str(ran.events)) == ("completed", False)

"""A playbook that was accepted once runs on: its text is not held against the rules of a later release again."""

import pytest

from noetl.control import catalog as catalog_module
from noetl.core import formats
from noetl.core.program import features
from noetl.core.program.features import LANGUAGE, Feature
from noetl.dsl import load as load_module
from noetl.dsl.diagnostic import Code, Mark
from noetl.errors import NewerFormat, PlaybookError
from noetl.ports.front import Ask
from tests.engine.harness import control, engine, finish, playbook, run
from tests.engine.test_mailbox import WAITS, parked

STRICTER = Code("stricter", "error", "Nothing is allowed any more")
THEN_SHELL = playbook("""
- {step: start, tool: {kind: wait, input: {signal: go}}, next: {arcs: [{step: later}]}}
- {step: later, tool: {kind: shell, input: {command: "true"}}}
""")


def stricter_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose rules refuse everything."""
    monkeypatch.setattr(load_module, "check_rules", lambda playbook, kinds: [STRICTER.at(Mark(), "no", "no")])


async def test_a_stricter_rule_stops_neither_what_runs_nor_what_was_registered(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
    stricter_rules(monkeypatch)
    async with engine(tmp_path, made) as other:
        await other.engine.pick_up(execution_id)
        await control(other, execution_id, "signal", name="go")
        assert (await finish(other, execution_id)).status == "completed"
        started = await other.front.start(Ask(path="tests/case"))
        await control(other, started.execution_id, "signal", name="go")
        assert (await finish(other, started.execution_id)).status == "completed"
        with pytest.raises(PlaybookError):
            await other.front.register(WAITS)


async def test_what_was_read_without_rules_is_checked_when_it_is_registered(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        entry, _ = await made.catalog.register(WAITS)
    async with engine(tmp_path, made) as other:
        await other.catalog.program(entry.hash)
        stricter_rules(monkeypatch)
        with pytest.raises(PlaybookError):
            await other.catalog.register(WAITS)


async def test_a_kind_that_is_not_installed_fails_the_task_that_needs_it(tmp_path):
    async with engine(tmp_path) as made:
        await made.catalog.register(THEN_SHELL)
        execution_id = (await made.front.start(Ask(path="tests/case"))).execution_id
    async with engine(tmp_path, made) as other:
        other.catalog.kinds = {name: kind for name, kind in other.catalog.kinds.items() if name != "shell"}
        toolbox = other.pool.toolbox
        installed = toolbox.tool
        toolbox.tool = lambda kind: installed("shelf" if kind == "shell" else kind)
        await other.engine.resume(execution_id)
        await control(other, execution_id, "signal", name="go")
        ran = await finish(other, execution_id)
        assert (ran.status, ran.error["step"]) == ("failed", "later")
        assert "shelf" in ran.error["message"]
        ran = await finish(other, (await other.front.start(Ask(path="tests/case"))).execution_id)
        assert (ran.status, ran.error["kind"]) == ("failed", "requires")
        assert "kinds that are not installed: shell" in ran.error["message"]


async def test_a_kind_that_claims_items_and_is_not_installed_is_named_at_once(tmp_path):
    claims = playbook("""
    - step: start
      loop: {in: {claim: {kind: shell, input: {command: "true"}}, until: empty}, iterator: row}
      tool: {kind: noop}
    """)
    async with engine(tmp_path) as made:
        await made.catalog.register(claims)
        made.catalog.kinds = {name: kind for name, kind in made.catalog.kinds.items() if name != "shell"}
        ran = await finish(made, (await made.front.start(Ask(path="tests/case"))).execution_id)
        assert (ran.status, ran.error["kind"]) == ("failed", "requires")
        assert "kinds that are not installed: shell" in ran.error["message"]


async def test_a_playbook_in_a_newer_language_is_left_to_others_with_its_executions(tmp_path, caplog):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        made.store._playbooks[-1].language = LANGUAGE + 1
    async with engine(tmp_path, made) as other:
        await other.engine.pick_up_due()
        assert other.engine.running() == ()
        assert (await other.store.summary(execution_id)).stuck is None
        assert f"is written in language {LANGUAGE + 1}" in caplog.text
        with pytest.raises(NewerFormat, match="'tests/case'"):
            await other.front.start(Ask(path="tests/case"))


async def test_what_a_playbook_uses_is_kept_with_its_text_and_with_every_row(tmp_path, monkeypatch):
    newer = Feature(LANGUAGE + 1, 9, lambda playbook, reads: "new" in {step.name for step in playbook.steps})
    monkeypatch.setitem(features.FEATURES, "new steps", newer)
    monkeypatch.setattr(formats, "ROW_FORMAT", 9)
    async with engine(tmp_path) as made:
        for name, language, row_format in (("new", LANGUAGE + 1, 9), ("old", 1, 2)):
            entry, _ = await made.catalog.register(playbook(f"- {{step: {name}, tool: {{kind: noop}}}}"))
            assert (await made.store.playbook(digest=entry.hash)).language == language
            started = await made.front.start(Ask(path=entry.path))
            await made.engine.until_quiet(started.execution_id)
            summary = await made.store.summary(started.execution_id)
            found = {row.format for row in await made.store.rows(started.execution_id)}
            assert (found, summary.format, summary.status) == ({row_format}, row_format, "completed")


async def test_planted_stored_text_that_is_checked_again_is_found(tmp_path, monkeypatch):
    def checked(text: str, *, kinds):
        loaded = load_module.load(text, kinds=kinds)
        if not loaded.ok:
            raise PlaybookError(loaded.diagnostics)
        return loaded.playbook

    monkeypatch.setattr(catalog_module, "load_accepted", checked)
    with pytest.raises(Exception, match="cannot be read"):
        await test_a_stricter_rule_stops_neither_what_runs_nor_what_was_registered(tmp_path, monkeypatch)


async def test_a_long_stored_text_is_read_as_well(tmp_path):
    long = playbook("- {step: start, desc: '" + "x" * 20_000 + "', tool: {kind: noop, output: 1}}")
    async with engine(tmp_path) as made:
        entry, _ = await made.catalog.register(long)
    async with engine(tmp_path, made) as other:
        assert (await other.catalog.program(entry.hash)).steps.keys() == {"start"}
    assert (await run(tmp_path, long)).output == 1

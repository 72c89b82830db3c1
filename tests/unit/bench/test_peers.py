"""The comparison with other engines: the same work for all, honest ratios, and a peer that is missing is said to be."""

import json
import sys

import pytest

from bench.peers import __main__ as runner
from bench.peers import installed, work
from bench.peers.table import best, goal, table

SECONDS = {"chain": 0.001, "fan_out": 0.0001, "burst": 0.002, "p50": 0.003, "p95": 0.004}
TWICE = {key: 2 * value for key, value in SECONDS.items()}


def test_the_best_of_each_figure_counts():
    assert best([SECONDS | {"p50": 0.5}, TWICE | {"p50": 0.1}]) == SECONDS | {"p50": 0.1}


def test_a_ratio_above_one_means_slower_for_times_and_for_rates():
    header, ours, theirs = (line.split() for line in table([{"ours": SECONDS, "theirs": TWICE}]).splitlines())
    assert ours == ["ours", "1", "10,000", "500", "3", "4"]
    assert theirs == ["theirs", "2", "2", "5,000", "2", "250", "2", "6", "2", "8", "2"]
    assert header.count("x") == 5


def test_the_goal_names_what_missed_it():
    line = goal(SECONDS, TWICE | {"burst": 0.0024, "p95": 0.0}, "theirs")
    assert line.endswith("2 · 2 · 1.2 · 2  MISSED: executions/s")
    assert goal(SECONDS, TWICE, "theirs").endswith("ok")


def test_each_group_is_compared_with_its_own_first_engine():
    lines = table([{"a": SECONDS, "b": SECONDS}, {"c": TWICE, "d": TWICE}]).splitlines()
    assert [line.split()[2::2] for line in lines if line[0] in "bd"] == [["1"] * 5] * 2


async def test_every_engine_is_given_the_same_work():
    asked = []

    async def chain(steps):
        asked.append(("chain", steps))

    async def fan_out(items):
        asked.append(("fan_out", items))

    found = await work.measure(work.Engine(chain, fan_out), work.ALL)
    assert set(found) == set(SECONDS)
    assert (asked.count(("chain", 100)), asked.count(("fan_out", 1_000))) == (work.CHAIN_ROUNDS, work.ROUNDS)
    assert asked.count(("chain", 5)) == 1 + work.ROUNDS * 200
    assert asked.count(("chain", 1)) == 1 + 50


async def test_of_less_work_the_time_of_one_is_told(monkeypatch):
    asked = []

    async def chain(steps):
        asked.append(("chain", steps))

    async def fan_out(items):
        asked.append(("fan_out", items))

    async def ten_seconds(work):
        await work()
        return 10.0

    monkeypatch.setattr(work, "_seconds", ten_seconds)
    found = await work.measure(work.Engine(chain, fan_out), work.Amounts(10, 20, 4, 3))
    assert found == {"chain": 1.0, "fan_out": 0.5, "burst": 2.5, "p50": 10.0, "p95": 10.0}
    assert (asked.count(("chain", 10)), asked.count(("fan_out", 20))) == (1, 2)
    assert (asked.count(("chain", 5)), asked.count(("chain", 1))) == (1 + 4, 1 + 3)


@pytest.mark.parametrize("peer", ["dbos", "restate", "prefect", "temporal", "dagster", "airflow"])
def test_every_line_of_a_requirements_file_is_pinned(peer):
    lines = (installed.HERE / f"{peer}.txt").read_text().splitlines()
    assert all(line.startswith("#") or "==" in line for line in lines)
    assert installed.version(peer)[0].isdigit()


def test_a_peer_that_cannot_be_installed_says_why():
    with pytest.raises(installed.NotInstalled, match="no such thing"):
        installed._run(sys.executable, "-c", "raise SystemExit('first\\nno such thing')")
    with pytest.raises(installed.NotInstalled, match="not-a-program"):
        installed._run("not-a-program")


def test_every_engine_that_is_compared_has_its_module_and_its_pins():
    for contender in [each for group in runner.groups() for each in group]:
        assert (installed.HERE / f"{contender.command[0]}.py").exists()
        assert not contender.peer or (installed.HERE / f"{contender.peer}.txt").exists()


def test_less_work_and_fewer_turns_are_said_under_the_table():
    slow = runner.Contender("slow", ("slow_engine",), turns=[SECONDS], amounts=work.Amounts(10, 20, 4, 3))
    assert slow.note(3) == "slow: turns: 1, steps: 10, items: 20, executions: 4, one at a time: 3"
    assert runner.Contender("quick", ("quick_engine",), turns=[SECONDS] * 3).note(3) == ""


def test_the_goal_is_printed_where_its_peer_was_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "OUT", tmp_path / "peers.json")
    ours = runner.Contender("ours", ("noetl_engine",), turns=[SECONDS])
    theirs = runner.Contender("Restate 1", ("restate_engine",), "restate", turns=[TWICE])
    assert "goal: Restate 1's time / NoETL's" in runner._report(([ours, theirs],), 1)
    assert "goal" not in runner._report(([ours],), 1)


def test_an_engine_that_fails_is_reported_and_the_others_are_measured(tmp_path, monkeypatch, capsys):
    def done(command):
        if "dbos" in command[2]:
            raise runner.TurnFailed("no room")
        return {"seconds": SECONDS, "amounts": {}}

    monkeypatch.setattr(runner, "OUT", tmp_path / "out" / "peers.json")
    monkeypatch.setattr(runner, "interpreter", lambda peer: sys.executable)
    monkeypatch.setattr(runner, "_done", done)
    monkeypatch.setattr(runner, "wait_for_quiet", lambda: None)
    ours = runner.Contender("ours", ("noetl_engine",))
    monkeypatch.setattr(
        runner, "groups", lambda: ([ours, runner.Contender("theirs", ("dbos_engine",), "dbos")],)
    )
    assert runner.main(["--turns", "2"]) == 0
    printed = capsys.readouterr().out
    assert "theirs: failed: no room" in printed
    assert "not here: Hatchet: " in printed
    assert len(ours.turns) == 2
    assert json.loads((tmp_path / "out" / "peers.json").read_text()) == [{"ours": SECONDS}]

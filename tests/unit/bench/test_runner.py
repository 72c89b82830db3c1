"""The benchmark runner: goals are judged in the right direction, names are checked, the report is complete."""

import json

import pytest

from bench import __main__ as runner
from bench.figure import Figure


@pytest.mark.parametrize(
    "value, goal, better, met",
    [
        (9, 10, "lower", True),
        (11, 10, "lower", False),
        (11, 10, "higher", True),
        (9, 10, "higher", False),
        (1, None, "lower", True),
    ],
)
def test_a_goal_is_judged_in_its_direction(value, goal, better, met):
    assert Figure("x", value, "ms", goal=goal, better=better).meets_goal is met


def test_the_ratio_compares_with_the_floor():
    assert Figure("x", 30, "ms", floor=10).ratio == 3
    assert Figure("x", 30, "ms").ratio is None


@pytest.mark.parametrize("goal", [None, 40])
def test_a_goal_may_be_a_multiple_of_the_floor(goal):
    within = Figure("x", 30, "ms", goal, floor=20, ratio_goal=1.5)
    above = Figure("x", 31, "ms", goal, floor=20, ratio_goal=1.5)
    assert (within.meets_goal, above.meets_goal) == (True, False)
    wanted = "<= 40, <= 1.5 x" if goal else "<= 1.5 x"
    lines = runner.table([within, above]).splitlines()[1:]
    assert [wanted in line for line in lines] == [True, True]
    assert [line.split()[-1] for line in lines] == ["ok", "MISSED"]


def test_the_table_aligns_its_columns():
    lines = runner.table(
        [Figure("short", 1, "ms", goal=2), Figure("a longer name", 12_345, "rows/s", goal=2)]
    ).splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["ok", "MISSED"]
    assert len({line.index("<=") for line in lines[1:]}) == 1


def test_an_unknown_name_lists_the_known_ones(capsys):
    assert runner.main(["nothing"]) == 2
    assert "startup" in capsys.readouterr().err


@pytest.mark.parametrize("value, code", [(1, 0), (3, 1)])
def test_the_report_is_written_and_a_missed_goal_fails(tmp_path, monkeypatch, value, code):
    monkeypatch.setattr(runner, "OUT", tmp_path / "out" / "latest.json")
    monkeypatch.setattr(runner, "_run", lambda name: [Figure(name, value, "ms", goal=2, floor=1)])
    assert runner.main(["startup"]) == code
    (record,) = json.loads((tmp_path / "out" / "latest.json").read_text())
    assert record["name"] == "startup"
    assert record["ratio"] == value
    assert record["meets_goal"] is (code == 0)

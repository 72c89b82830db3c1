"""The suggestion an author gets for a name nothing knows."""

import pytest

from noetl.dsl.nearest import nearest

KNOWN = ["step", "tool", "input", "max_in_flight", "on_unmatched", "apiVersion", "workflow"]


@pytest.mark.parametrize(
    "name, meant",
    [
        ("stpe", "step"),
        ("tools", "tool"),
        ("inptu", "input"),
        ("workfow", "workflow"),
        ("STEP", "step"),
        ("max-in-flight", "max_in_flight"),
        ("maxInFlight", "max_in_flight"),
        ("MAX IN FLIGHT", "max_in_flight"),
        ("onunmatched", "on_unmatched"),
        ("api_version", "apiVersion"),
        ("apiversoin", "apiVersion"),
        ("input", "input"),
        ("zebra", None),
        ("", None),
        ("x" * 100_000, None),
    ],
)
def test_the_closest_known_name_is_suggested_and_nothing_far_fetched(name: str, meant: str | None) -> None:
    assert nearest(name, KNOWN) == meant


def test_nothing_known_suggests_nothing() -> None:
    assert nearest("step", []) is None


def test_of_equally_spelt_names_the_first_is_suggested() -> None:
    assert nearest("FETCH", ["fetch", "Fetch"]) == "fetch"


def test_among_ten_thousand_names_the_right_one_is_still_found() -> None:
    assert nearest("load_orders_4711x", (f"load_orders_{n}" for n in range(10_000))) == "load_orders_4711"

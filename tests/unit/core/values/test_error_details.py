"""What an error says beside its message is bounded, piece by piece and together."""

import pytest

from noetl.core.values import error_details
from noetl.core.values.output import size_of


def error(message="m", **more):
    return {"kind": "k", "message": message, "details": more}


def test_a_small_error_is_recorded_as_it_is():
    small = error(traceback="line 1", body="x", statement=3, position={"line": 1}, error={"message": "n"})
    assert error_details.fitted(small) == small
    assert error_details.fitted({"kind": "k"}) == {"kind": "k"}


def test_a_long_message_loses_its_middle():
    cut = error_details.fitted(error("a" * 100_000 + "z"))["message"]
    assert len(cut) < 4_100
    assert cut.startswith("aaa")
    assert cut.endswith("z")


@pytest.mark.parametrize("name, kept", [("body", "begin"), ("stderr", "end"), ("anything", "begin")])
def test_a_body_keeps_its_beginning_and_stderr_its_end(name, kept):
    text = error_details.fitted(error(**{name: "begin" + "x" * 50_000 + "end"}))["details"][name]
    assert len(text) <= 2_001
    assert kept in text
    assert "…" in text


def test_a_long_traceback_keeps_whole_lines_from_both_ends_and_says_how_many_are_gone():
    lines = [f"  File {number}" for number in range(2_000)] + ["ValueError: " + "x" * 10_000]
    text = error_details.fitted(error(traceback="\n".join(lines)))["details"]["traceback"]
    assert len(text) < 4_200
    shown = text.splitlines()
    assert shown[0] == "  File 0"
    assert shown[-1].startswith("ValueError: xxx")
    gone = next(line for line in shown if "left out" in line)
    assert int(gone.split()[1]) == len(lines) - len(shown) + 1


def test_one_line_that_is_longer_than_a_traceback_is_cut():
    assert len(error_details.fitted(error(traceback="x" * 10_000))["details"]["traceback"]) < 500


def test_other_values_are_cut_to_a_text_and_all_of_them_are_bounded_together():
    many = {f"n{number}": list(range(10_000)) for number in range(50)}
    cut = error_details.fitted(error(**many))["details"]
    assert all(len(value) <= 2_001 for value in cut.values())
    assert 0 < size_of(cut) <= error_details.DETAILS_BYTES


def test_the_error_of_a_child_is_bounded_like_its_own():
    inner = error("m" * 9_000, body="b" * 9_000)
    kept = error_details.fitted(error(error=inner))["details"]["error"]
    assert len(kept["message"]) < 4_100
    assert len(kept["details"]["body"]) <= 2_001


def test_an_error_says_what_its_task_was_given_and_printed_last():
    told = error_details.with_place(error(code=1), {"n": 1}, [str(line) for line in range(9)])
    assert told["details"] == {"input": {"n": 1}, "log": ["4", "5", "6", "7", "8"], "code": 1}
    assert len(error_details.with_place({}, {"n": "x" * 9_000}, ["y" * 9_000])["details"]["input"]) <= 2_001
    assert error_details.with_place({"message": "m"}, {}, ()) == {"message": "m", "details": {}}


def test_inside_a_block_the_inner_task_has_the_word():
    assert error_details.with_place(error(input={"n": 1}), {"n": 2}, ())["details"]["input"] == {"n": 1}


def test_one_of_many_errors_goes_without_what_takes_room():
    assert error_details.short(error(traceback="t", body="b", statement=2))["details"] == {"statement": 2}
    assert error_details.short({"message": "m"}) == {"message": "m"}

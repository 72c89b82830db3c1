"""A database's error says where in the author's text it is, whatever was split off or numbered on the way."""

import pytest

from noetl.tools.parts.sql_position import in_duckdb, in_postgres, in_sqlite, position


def test_a_place_is_counted_from_one_and_has_its_line():
    assert position("select 1\n from x", 10) == {"line": 2, "column": 2, "text": " from x"}
    assert position("abc", 3) == {"line": 1, "column": 4, "text": "abc"}
    assert position("a\r\nb", 0) == {"line": 1, "column": 1, "text": "a"}


@pytest.mark.parametrize("column", [1, 150, 5_000, 9_999])
def test_of_a_long_line_the_part_around_the_place_is_shown(column):
    text = "".join(chr(ord("a") + number % 26) for number in range(10_000))
    place = position(text, column - 1)
    assert len(place["text"]) == 200
    assert place["text"][column - place["text_from"]] == text[column - 1]


STATEMENTS = "-- first\ninsert into t values (1);\n\n  select 'ü', nope\n  from t;\n"


async def test_sqlite_points_into_the_second_statement(use):
    output = await use("sqlite", {"database": ":memory:", "query": f"create table t (a);\n{STATEMENTS}"})
    assert output["error"]["message"] == "no such column: nope"
    place = {"line": 5, "column": 15, "text": "  select 'ü', nope"}
    assert output["error"]["details"] == {"statement": 3, "position": place}


async def test_an_error_at_run_time_has_no_place_in_sqlite(use):
    query = "create table t (a unique); insert into t values (1); insert into t values (1)"
    output = await use("sqlite", {"database": ":memory:", "query": query})
    assert output["error"]["details"] == {"statement": 3}
    assert in_sqlite("select 1", 1, 0) == {}


@pytest.mark.parametrize(
    "query, place",
    [
        ("select 1;\n select * form x", {"line": 2, "column": 16, "text": " select * form x"}),
        (
            "create table t (a int);\n\n  select nope\n from t where a = 1 and a = 2",
            {"line": 3, "column": 10, "text": "  select nope"},
        ),
        (
            "create table t (a int);\ninsert into t values (1);\nselect a,\n  b\nfrom t",
            {"line": 4, "column": 3, "text": "  b"},
        ),
        (
            "select\n  $n, nope from (select 1 a)",
            {"line": 2, "column": 7, "text": "  $n, nope from (select 1 a)"},
        ),
    ],
)
async def test_duckdb_points_into_the_authors_text(use, query, place):
    params = {"n": 1} if "$n" in query else None
    output = await use("duckdb", {"database": ":memory:", "query": query, "params": params})
    assert output["error"]["kind"] == "duckdb"
    assert output["error"]["details"]["position"] == place


async def test_duckdb_points_into_a_line_that_it_cut(use):
    query = f"select {'1, ' * 80} nope from (select 1 a) where a = 1 {'and a = 2 ' * 30}"
    output = await use("duckdb", {"database": ":memory:", "query": query})
    place = output["error"]["details"]["position"]
    assert query[place["column"] - 1 :].startswith("nope")


def test_what_duckdb_says_without_a_caret_or_of_another_text_has_no_place():
    assert in_duckdb("select 1", "Binder Error: no", "select 1", 0) == {}
    assert in_duckdb("select 1", "no\n\nLINE 7: x\n        ^", "select 1", 0) == {}


def test_the_place_in_what_was_sent_to_postgres_is_found_in_what_was_written():
    text = "select :one;\nselect :two, :one,\n nope from t"
    sent = "select $1, $2,\n nope from t"
    place = in_postgres(text, {"one": 1, "two": 2}, sent, sent.index("nope") + 1)["position"]
    assert place == {"line": 3, "column": 2, "text": " nope from t"}
    sent = "select $1, $2,\n nope from t"
    place = in_postgres(text, {"one": 1, "two": 2}, sent, sent.index("$2") + 1)["position"]
    assert place == {"line": 2, "column": 14, "text": "select :two, :one,"}
    assert in_postgres(text, [1], "another text", 9)["position"]["text"] == "another text"

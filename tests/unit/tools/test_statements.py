"""SQL text is cut at its real semicolons and bound at its real names."""

import tracemalloc

import pytest

from noetl.ports.envelope import Failed
from noetl.tools.parts.postgres_sessions import leaves_session_alone
from noetl.tools.parts.statements import first_word, number_parameters, one_transaction, only_reads, split


@pytest.mark.parametrize(
    "text, parts",
    [
        ("select 1", ["select 1"]),
        ("select 1; select 2;", ["select 1", "select 2"]),
        (" ; ;\n-- nothing\n; /* nor here; */", []),
        ("select ';'; select \"a;b\"", ["select ';'", 'select "a;b"']),
        ("select 'it''s; fine'; x", ["select 'it''s; fine'", "x"]),
        ("select E'a\\';b'; x", ["select E'a\\';b'", "x"]),
        ("do $$ begin; end; $$; x", ["do $$ begin; end; $$", "x"]),
        ("do $a$ ; $b$ ; $a$; x", ["do $a$ ; $b$ ; $a$", "x"]),
        ("select 1 -- a; b\n; x", ["select 1 -- a; b", "x"]),
        ("/* a; /* b; */ c; */ select 1; x", ["/* a; /* b; */ c; */ select 1", "x"]),
        ("select 'open; to the end", ["select 'open; to the end"]),
        ("select `a;b`; x", ["select `a;b`", "x"]),
    ],
)
def test_statements_end_at_semicolons_outside_quotes_and_comments(text, parts):
    assert split(text) == parts


@pytest.mark.parametrize(
    "statement, word",
    [
        ("  select 1", "SELECT"),
        ("-- x\n/* y */ With a", "WITH"),
        ("((select 1))", "SELECT"),
        ("-- only", ""),
        ("", ""),
    ],
)
def test_the_first_word_is_found_behind_comments(statement, word):
    assert first_word(statement) == word


@pytest.mark.parametrize(
    "statements, together",
    [
        (["select 1"], False),
        (["insert", "update"], True),
        (["begin", "insert", "commit"], False),
        (["insert", "vacuum"], False),
    ],
)
def test_several_statements_share_a_transaction_unless_one_minds(statements, together):
    assert one_transaction(statements) is together


@pytest.mark.parametrize(
    "statements, reads", [(["select 1", "with a"], True), (["select 1", "insert"], False)]
)
def test_reading_is_told_from_writing(statements, reads):
    assert only_reads(statements) is reads


@pytest.mark.parametrize(
    "text, params, bound, values",
    [
        ("a = :x and b = :y and c = :x", {"x": 1, "y": 2}, "a = $1 and b = $2 and c = $1", [1, 2]),
        ("':x' || :x::text", {"x": 1}, "':x' || $1::text", [1]),
        ('":x" -- :x\n = :x', {"x": 1}, '":x" -- :x\n = $1', [1]),
        ("a[1:n] = :x", {"x": 1}, "a[1:n] = $1", [1]),
        ("select 1", {"x": 1}, "select 1", []),
    ],
)
def test_names_become_numbers_outside_quotes(text, params, bound, values):
    assert number_parameters(text, params) == (bound, values)


def test_a_name_that_is_not_given_is_told():
    with pytest.raises(Failed, match=":who") as caught:
        number_parameters("select :who", {"when": 1})
    assert caught.value.output["error"]["kind"] == "input"


def test_texts_that_carry_their_values_are_not_kept_in_memory() -> None:
    def ask(number: int) -> None:
        text = f"insert into t values ({number}, '{'x' * 1_000_000}')"
        assert first_word(*split(text)) == "INSERT"
        assert not leaves_session_alone(text)

    ask(0)
    tracemalloc.start()
    for number in range(1, 20):
        ask(number)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000

"""Labels inside sugar: how they are made and what a bare name means to the task that reads it."""

import pytest

from noetl.dsl.sugar.labels import entered, inner, is_generated, merged, name_of, read_as, scopes


@pytest.mark.parametrize(
    "reader, name, finished, means",
    [
        ("w.b", "a", {"w.a", "a"}, "w.a"),
        ("w.b", "a", {"a"}, "a"),
        ("w.b", "a", {"u.a"}, None),
        ("o.i.b", "a", {"o.a", "a"}, "o.a"),
        ("o.i.b", "a", {"o.i.a", "o.a"}, "o.i.a"),
        ("o.b", "i", {"o.i"}, "o.i"),
        ("b", "a", {"w.a"}, None),
        ("b", "w", {"w", "w.a"}, "w"),
        ("w.b", "end", {"w._end"}, "w._end"),
        ("w.test", "a", {"w.a"}, "w.a"),
        ("b", "end", {"end"}, "end"),
    ],
)
def test_a_bare_name_means_the_task_of_the_innermost_scope(
    reader: str, name: str, finished: set[str], means: str | None
) -> None:
    assert read_as(reader, name, finished) == means


@pytest.mark.parametrize(
    "source, target, scopes_entered",
    [
        ("a", "b", ()), ("a", "w.test", ("w",)), ("w.next", "w.test", ()), ("w.end", "b", ()), ("o.x", "o.i.test", ("o.i",)),
        ("a", "o.i.a", ("o.i", "o")), ("o.i.end", "o.next", ()), ("w.end", "u.a", ("u",)),
    ],
)  # fmt: skip
def test_going_into_an_item_enters_its_scopes(
    source: str, target: str, scopes_entered: tuple[str, ...]
) -> None:
    assert entered(source, target) == scopes_entered


def test_what_a_label_says() -> None:
    assert list(scopes("o.i.a")) == ["o.i", "o"]
    assert (inner("", "end"), inner("w", "end"), inner("w", "a")) == ("end", "w._end", "w.a")
    assert [
        is_generated(label) for label in ("w.test", "w.then_3", "w._test", "test", "w.a", "w.then_x")
    ] == [True, True, False, False, False, False]
    assert (merged("w.end"), merged("o.i.end"), merged("end"), merged("w._end"), merged("w.a")) == (
        "w",
        "o.i",
        None,
        None,
        None,
    )
    assert (name_of("o.i._end"), name_of("w.a"), name_of("a")) == ("end", "a", "a")

"""What a group of templates reads."""

import pytest

from noetl.dsl.templates.reads import PathSet
from noetl.dsl.templates.template import compile_value


def of(*texts):
    return PathSet.of(compile_value(text) for text in texts)


SOME = of("{{ ctx.page.n }}", "{{ load.data }} {{ workload }}", "plain")


def test_what_is_read_of_tasks_has_the_names_others_know_it_by():
    read = of("{{ a.data }} {{ s.results.b.ref }} {{ s.data }} {{ ctx.a }} {{ s.results }}")
    assert read.only(frozenset({"a"})).paths == {("a", "data")}
    assert read.results("s").paths == {("b", "ref")}
    assert read.of_itself("s", frozenset({"a"})).paths == {
        ("s", "results", "a", "data"),
        ("output", "results", "b", "ref"),
        ("output", "data"),
        ("output", "results"),
    }


@pytest.mark.parametrize(
    "path, reads, names",
    [
        (("ctx", "page"), True, True),
        (("ctx", "page", "n"), True, True),
        (("ctx", "page", "n", "deeper"), True, False),
        (("ctx", "other"), False, False),
        (("workload", "x"), True, False),
        (("load",), True, True),
        (("none",), False, False),
    ],
)
def test_a_path_is_read_when_it_its_whole_or_its_parts_are(path, reads, names):
    assert SOME.reads(*path) is reads
    assert SOME.names(*path) is names


def test_names_right_below_a_path():
    assert SOME.below("ctx") == {"page"}
    assert SOME.below("ctx", "page") == {"n"}
    assert SOME.below("workload") == frozenset()


def test_keys_of_a_scope_include_bare_names_and_a_whole_scope_is_everything():
    assert SOME.keys("ctx") == {"page", "load"}
    assert SOME.keys("workload") is None


def test_bare_names_are_those_of_no_scope():
    assert SOME.bare() == {"load"}
    assert SOME.mentions("load")
    assert not SOME.mentions("page")


def test_the_union_reads_what_either_reads():
    assert of("{{ a }}").union(of("{{ b }}")).bare() == {"a", "b"}

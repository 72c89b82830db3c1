"""What a run is given: a file first, then every assignment over it."""

import click
import pytest

from noetl.cli.formats.xes import attribute
from noetl.cli.running.run_input import read_payload, read_value
from noetl.errors import RequestError


@pytest.mark.parametrize(
    "assignments, payload",
    [
        (("a=1",), {"a": 1}),
        (("a=1.5", "b=true", "c=null", "d='007'"), {"a": 1.5, "b": True, "c": None, "d": "007"}),
        (("a.b.c=x", "a.b.d=y"), {"a": {"b": {"c": "x", "d": "y"}}}),
        (("a=[1, 2]", "b={c: 1}"), {"a": [1, 2], "b": {"c": 1}}),
        (("a=",), {"a": ""}),
        (("a=x=y",), {"a": "x=y"}),
        (("a=1", "a=2"), {"a": 2}),
        (("a=http://x/y?z=1",), {"a": "http://x/y?z=1"}),
        (("a=%",), {"a": "%"}),
    ],
)
def test_assignments_are_typed_as_yaml(assignments, payload):
    assert read_payload(None, assignments) == payload


@pytest.mark.parametrize("wrong", ["a", "=1", "a..b=1", ".a=1"])
def test_an_assignment_without_key_and_value_is_refused(wrong):
    with pytest.raises(click.UsageError, match="key=value"):
        read_payload(None, (wrong,))


def test_a_value_cannot_be_reached_into():
    with pytest.raises(click.UsageError, match="already has the value 1"):
        read_payload(None, ("a=1", "a.b=2"))


def test_assignments_go_over_the_file(tmp_path):
    file = tmp_path / "in.yaml"
    file.write_text("a: {b: 1, c: 2}\n")
    assert read_payload(str(file), ("a.b=9",)) == {"a": {"b": 9, "c": 2}}


def test_an_empty_file_gives_nothing_and_a_list_is_no_payload(tmp_path):
    file = tmp_path / "in.yaml"
    file.write_text("")
    assert read_payload(str(file), ()) == {}
    file.write_text("- 1\n")
    with pytest.raises(RequestError, match="is not a mapping but list"):
        read_payload(str(file), ())
    file.write_text("a: [1\n")
    with pytest.raises(RequestError, match="line"):
        read_payload(str(file), ())


def test_a_broken_list_is_not_taken_for_text():
    with pytest.raises(RequestError):
        read_value("[1", "--set a")


@pytest.mark.parametrize(
    "text, written",
    [
        ("a", '"a"'),
        ('"', "'\"'"),
        ("<&>", '"&lt;&amp;&gt;"'),
        ("a\nb\tc\r", '"a&#10;b&#9;c&#13;"'),
        ("\x00\x1b\ufffe\ud800", '"\ufffd\ufffd\ufffd\ufffd"'),
    ],
)
def test_any_text_becomes_an_attribute_of_xml(text, written):
    assert attribute(text) == written


def test_an_input_that_is_not_there_is_named_once():
    with pytest.raises(click.UsageError) as caught:
        read_payload("nowhere.json", ())
    assert caught.value.message == "cannot read the input 'nowhere.json': No such file or directory"

"""What the end of a task says: what it printed, where that rests in its event, and its error below."""

from noetl.core.reading.task_logs import texts_of


def test_lines_that_rest_in_an_event_are_read_from_it() -> None:
    assert list(texts_of({"logs": ["one", "two"]})) == [("one", None), ("two", None)]


def test_a_task_that_failed_tells_its_error_below_what_it_printed() -> None:
    details = {"input": {"n": 1}, "traceback": "Traceback:\n  line 3\n"}
    error = {"kind": "python", "message": "KeyError: 'a'", "details": details}
    assert list(texts_of({"logs": ["one"], "output": {"status": "error", "error": error}})) == [
        ("one", None),
        ("python: KeyError: 'a'", "error"),
        ('input: {"n":1}', "error"),
        ("Traceback:", "error"),
        ("  line 3", "error"),
    ]


def test_an_event_without_lines_has_none() -> None:
    assert list(texts_of({})) == []


def test_what_a_block_or_a_child_beside_it_has_told_is_not_told_again() -> None:
    inside = {"kind": "python", "message": "it broke", "task": "ask/get", "details": {"traceback": "line 3"}}
    child = {"kind": "child", "message": "it broke", "details": {"execution_id": "c", "error": inside}}
    called = {"output": {"status": "error", "error": inside}}
    assert list(texts_of(called, "ask")) == [("python: it broke", "error")]
    assert len(list(texts_of(called, "get"))) == 2
    called = {"output": {"status": "error", "error": child}}
    assert list(texts_of(called, "ask", {"c"})) == [("child: it broke", "error")]
    assert list(texts_of(called, "ask")) == [("child: it broke", "error"), ("line 3", "error")]

"""What code is, what it gets and gives, how its exceptions read: run in real processes."""

import asyncio

import pytest

from noetl.core.values.lines import level_of
from tests.unit.worker.hosted import PID, run, value

# ---- what code is and what it gives ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "code, given",
    [
        ("result = a + 1", 2),
        ("pass", None),
        ("def main(a): return a + 1", 2),
        ("def main(): return 'no arguments'", "no arguments"),
        ("def main(a, missing=5): return a + missing", 6),
        ("def main(*, b): return b", [2]),
        ("def main(a, /, b): return [a, b]", [1, [2]]),
        ("def main(b, **rest): return [b, rest]", [[2], {"a": 1}]),
        ("def main(a, /, **rest): return [a, rest]", [1, {"b": [2]}]),
        ("def main(): return a", 1),
        ("async def main(a):\n    import asyncio\n    await asyncio.sleep(0)\n    return a", 1),
        ("result = 'set'\ndef main(a): return 'not called'", "set"),
        ("def main(a): return a * 2\nresult = main(4)", 8),
        ("class Main:\n    def __call__(self, a): return a\nmain = Main()", 1),
        ("import functools\ndef same(f):\n    @functools.wraps(f)\n    def g(*a, **k): return f(*a, **k)\n    return g\n@same\ndef main(a): return a", 1),
        ("result = __name__", "__noetl__"),
        ("import sys\nresult = 4\nsys.exit()", 4),
        ("import threading\nresult = []\nthreading.Thread(target=lambda: result.append(1)).start()", [1]),
        ("from dataclasses import dataclass, asdict\n@dataclass\nclass P:\n    x: int\nresult = asdict(P(a))", {"x": 1}),
    ],
)  # fmt: skip
async def test_the_value_is_result_or_what_main_returns_for_the_inputs_it_takes(host, code, given) -> None:
    assert await value(host, code, a=1, b=[2]) == given


async def test_an_input_called_result_does_not_hide_main(host) -> None:
    assert await value(host, "def main(result): return result + 1", result=1) == 2


async def test_main_that_needs_more_than_there_is_says_so(host) -> None:
    ran = await run(host, "def main(a, wanted): pass", a=1)
    assert ran.raised is not None
    assert ran.raised.type == "TypeError"
    assert "wanted" in ran.raised.message


@pytest.mark.parametrize(
    "expression, given",
    [
        ("datetime.date(2024, 5, 1)", "2024-05-01"),
        ("datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.timezone.utc)", "2024-05-01T12:00:00+00:00"),
        ("decimal.Decimal('1.50')", 1.5),
        ("decimal.Decimal('0.12345678901234567890')", "0.12345678901234567890"),
        ("uuid.UUID(int=1)", "00000000-0000-0000-0000-000000000001"),
        ("b'abc'", "YWJj"),
        ("(1, (2, 3))", [1, [2, 3]]),
        ("{3, 1, 2}", [1, 2, 3]),
        ("{'k': {1: datetime.date(2024, 5, 1)}}", {"k": {"1": "2024-05-01"}}),
        ("2 ** 80", 2**80),
        ("1e16", 1e16),
        ("-0.0", -0.0),
        ("'é\\u2028\"\\\\u0000'", 'é\u2028"\\u0000'),
    ],
)
async def test_values_keep_their_types_or_convert(host, expression, given) -> None:
    got = await value(host, f"import datetime, decimal, uuid\nresult = {expression}")
    assert (got, type(got)) == (given, type(given))


@pytest.mark.parametrize(
    "expression, part",
    [
        ("float('nan')", "nan"),
        ("{'a': [1, float('inf')]}", "$.a[1]"),
        ("object()", "object"),
        ("{'deep': [object()]}", "$.deep[0]"),
        ("(x for x in [])", "list(...)"),
        ("{None: 1}", "None"),
        ("{1: 'a', '1': 'b'}", "'1'"),
        ("'\\0'", "NUL"),
        ("'\\ud800'", "surrogate"),
        ("(lambda a: (a.append(a), a)[1])([])", "nested"),
        ("10 ** 5000", "JSON"),
    ],
)
async def test_what_has_no_json_form_is_a_value_error_that_names_the_place(host, expression, part) -> None:
    ran = await run(host, f"result = {expression}")
    assert ran.ended == "value"
    assert part in ran.message


async def test_variables_that_are_not_json_are_a_value_error(host) -> None:
    assert (await run(host, "result = 1", bad=object())).ended == "value"
    assert (await run(host, "result = 1", bad="\ud800")).ended == "value"


async def test_large_values_travel_both_ways(host) -> None:
    rows = [{"i": i, "s": "x" * 90} for i in range(100_000)]
    assert await value(host, "result = rows", rows=rows) == rows


async def test_a_result_over_its_limit_is_a_value_error_and_the_process_goes_on(make) -> None:
    host = make(1, result_bytes=50)
    pid = await value(host, PID)
    ran = await run(host, "result = 'x' * 100")
    assert (ran.ended, "102 bytes" in ran.message) == ("value", True)
    assert await value(host, PID) == pid


# ---- exceptions -----------------------------------------------------------------------------------------


async def test_an_exception_has_its_type_message_and_the_authors_frames(host) -> None:
    ran = await run(host, "import json\n\ndef main():\n    return json.loads('{')\n")
    assert ran.ended == "raised"
    assert ran.raised is not None
    assert ran.raised.type == "JSONDecodeError"
    assert ran.raised.message.startswith("Expecting property name")
    assert 'File "task code", line 4, in main\n    return json.loads(' in ran.raised.traceback
    assert "decoder.py" not in ran.raised.traceback
    assert "python_program" not in ran.raised.traceback
    assert "noetl" not in ran.raised.traceback


async def test_a_traceback_shows_the_lines_of_this_code_not_of_the_code_before(host) -> None:
    await run(host, "first = 1 / 0")
    ran = await run(host, "\nsecond = 1 / 0")
    assert ran.raised is not None
    assert "line 2, in <module>\n    second = 1 / 0" in ran.raised.traceback
    printed = await run(
        host,
        "import traceback\ntry:\n    third = 1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()",
    )
    assert "    third = 1 / 0" in printed.printed


@pytest.mark.parametrize(
    "code, kind, message, trace",
    [
        ("def f(:", "SyntaxError", "task code, line 1", "def f(:"),
        ("raise SystemExit(3)", "SystemExit", "3", "line 1"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "", "line 1"),
        ("class Mine(Exception): pass\nraise Mine('a')", "Mine", "a", "\nMine: a"),
        ("try:\n  1/0\nexcept ZeroDivisionError as e:\n  raise ValueError('b') from e", "ValueError", "b", "ZeroDivisionError"),
        ("raise ExceptionGroup('many', [ValueError('one')])", "ExceptionGroup", "many", "ValueError: one"),
        ("class E(Exception):\n  def __str__(self): 1/0\nraise E", "E", "str() failed", "line 3"),
        ("def f(): f()\nf()", "RecursionError", "recursion", "repeated"),
        ("raise ValueError('a\\0b\\ud800')", "ValueError", "a\\0b\\ud800", "line 1"),
        ("raise ValueError('x' * 10**6)", "ValueError", "xxx\n…\nxxx", "line 1"),
    ],
)  # fmt: skip
async def test_whatever_code_raises_is_described(host, code, kind, message, trace) -> None:
    ran = await run(host, code)
    assert ran.ended == "raised"
    assert ran.raised is not None
    assert ran.raised.type == kind
    assert message in ran.raised.message
    assert trace in ran.raised.traceback


# ---- prints ---------------------------------------------------------------------------------------------


async def test_prints_of_code_and_of_what_it_starts_are_its_own(host) -> None:
    ran = await run(
        host,
        """
        import os, subprocess, sys
        print("one")
        subprocess.run(["echo", "two"])
        os.write(1, b"three\\n")
        print("four", file=sys.stderr)
        print("no newline", end="")
        """,
    )
    assert ran.printed == "one\ntwo\nthree\nfour\nno newline"
    assert (await run(host, "result = 1")).printed == ""


async def test_what_is_printed_is_heard_while_the_code_runs(host, fifo) -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    code = f"print('one')\nopen({str(fifo)!r}).read()\nprint('two')"
    call = asyncio.create_task(host.run(code, {}, on_output=heard.put_nowait))
    assert await heard.get() == b"one\n"
    await asyncio.to_thread(fifo.write_text, "go on")
    assert (await call).ended == "ok"
    assert heard.get_nowait() == b"two\n"


async def test_both_outputs_are_heard_in_the_order_they_were_written(host) -> None:
    code = "import sys\nfor n in range(2000): print(n, file=sys.stderr if n % 2 else sys.stdout)"
    assert (await run(host, code)).printed == "".join(f"{n}\n" for n in range(2000))


LOGGING = """
import io, logging, sys
logging.basicConfig(level=logging.DEBUG, format="%(message)s", stream=sys.stdout, force=True)
own, handler = io.StringIO(), None
logging.getLogger("own").addHandler(logging.StreamHandler(own))
logging.debug("d"); logging.warning("two\\nlines"); logging.getLogger("own").critical("c")
result = own.getvalue()
"""


async def test_lines_of_logging_say_their_level_and_what_goes_elsewhere_stays_as_it_is(host) -> None:
    for _ in range(2):  # where it is imported, and where it was
        ran = await run(host, LOGGING)
        assert [level_of(line) for line in ran.printed.split("\n")[:-1]] == [
            ("debug", "d"), ("warning", "two"), ("warning", "lines"), ("critical", "c"),
        ]  # fmt: skip
        assert str(ran.value).replace("c\n", "") == ""


async def test_prints_survive_the_process(host) -> None:
    assert (await run(host, "import os\nprint('said')\nos._exit(1)")).printed == "said\n"


async def test_nothing_can_be_read_from_standard_input(host) -> None:
    ran = await run(host, "input()")
    assert ran.raised is not None
    assert ran.raised.type == "EOFError"


# ---- scripts --------------------------------------------------------------------------------------------


async def test_a_script_knows_its_file_and_imports_what_lies_beside_it(host, tmp_path) -> None:
    names = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "beside.py").write_text(f"NAME = {name!r}\ndef fail(): raise ValueError(NAME)\n")
        code = "import beside, sys\ndef main(): return [beside.NAME, __file__, sys.argv]\n"
        script = str(folder / "script.py")
        names.append((await host.run(code, {}, script=script)).value)
    assert names == [
        [n, str(tmp_path / n / "script.py"), [str(tmp_path / n / "script.py")]] for n in ("one", "two")
    ]
    assert (await run(host, "import beside")).raised is not None


async def test_the_traceback_of_a_script_names_its_files(host, tmp_path) -> None:
    (tmp_path / "beside.py").write_text("def fail():\n    raise ValueError('no')\n")
    script = str(tmp_path / "script.py")
    ran = await host.run("import beside\n\nbeside.fail()\n", {}, script=script)
    assert ran.raised is not None
    assert f'File "{script}", line 3, in <module>\n    beside.fail()' in ran.raised.traceback
    assert f'File "{tmp_path}/beside.py", line 2, in fail\n    raise ValueError' in ran.raised.traceback
    named = await host.run("import beside\n\nbeside.fail()\n", {}, script=script, name="jobs/script.py")
    assert named.raised is not None
    assert 'File "jobs/script.py", line 3, in <module>\n    beside.fail()' in named.raised.traceback
    assert 'File "jobs/beside.py", line ' in named.raised.traceback
    assert str(tmp_path) not in named.raised.traceback


async def test_code_is_called_by_its_name_in_tracebacks_and_syntax_errors(host) -> None:
    ran = await host.run("\n1 / 0", {}, name="start/load")
    assert ran.raised is not None
    assert ran.raised.traceback.splitlines()[1:3] == ['  File "start/load", line 2, in <module>', "    1 / 0"]
    ran = await host.run("x = = 1", {}, name="start/load")
    assert ran.raised is not None
    assert ran.raised.message == "invalid syntax (load, line 1)"
    assert 'File "start/load", line 1\n    x = = 1\n        ^' in ran.raised.traceback


async def test_a_long_traceback_loses_whole_lines_from_its_middle(host) -> None:
    code = "def f(n):\n    return g(n)\n\ndef g(n):\n    return f(n - 1) if n else 1 / 0\n\nf(400)"
    ran = await run(host, code)
    assert ran.raised is not None
    text = ran.raised.traceback
    assert len(text) < 17_000
    assert "in <module>\n    f(400)" in text
    assert text.endswith("ZeroDivisionError: division by zero\n")
    left_out = [line for line in text.splitlines() if "lines left out" in line]
    assert len(left_out) == 1
    ran = await run(host, "raise ValueError('x' * 10**6)")
    assert ran.raised is not None
    assert len(ran.raised.traceback) < 17_000

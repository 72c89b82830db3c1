"""A piece of the author's code inside an isolated process: compile it, run it, describe what became of it.

Computes only; the process around it is child.py. Imports what the first call needs and no more: the
conversion of values that are not plain JSON, and tracebacks, are imported when the first one turns up.
"""

from __future__ import annotations  # so that `typing` is not imported: a quarter of the start

import _thread
import json
import os
import sys
from types import CoroutineType, FunctionType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "__noetl__"  # the author's `__name__`
FILE = "task code"  # the file name in tracebacks of code that came from no file
MESSAGE_CHARS_MAX = 8_000
TRACEBACK_CHARS_MAX = 16_000
TRACEBACK_LINE_CHARS_MAX = 2_000
QUICK_DEPTH_MAX = 100
TAKES_ALL = 0x08  # the flag of a function with **kwargs
PLAIN = {str, int, float, bool, type(None)}

Problem = tuple[str, str, str]  # exception type, message, traceback

encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


class Stop(BaseException):
    """Raised inside the author's code when its time is over."""

    __module__ = NAME


class Unfit(ValueError):
    """The result cannot be kept as JSON."""


class Program:
    """A piece of code; also its own loader, through which tracebacks and `inspect` find its lines."""

    def __init__(self, text: str, script: str | None = None, name: str | None = None) -> None:
        self.text = text
        self.name = name or script or FILE  # as the author knows it
        self.file = script or self.name
        self.folder = os.path.dirname(os.path.abspath(script)) if script else None
        self._compiled: Any = None
        self._modules: set[str] = set()

    def get_source(self, name: str) -> str:
        """The text of the module."""
        return self.text

    def compiled(self) -> Any:
        """The code object, made at the first call."""
        if self._compiled is None:
            self._compiled = compile(self.text, self.file, "exec", dont_inherit=True)
        return self._compiled

    def module(self, variables: dict[str, Any]) -> ModuleType:
        """A fresh module with the variables in it, ready to run the code in."""
        self.show_lines(loaded_only=True)
        sys.argv[:] = [self.file]
        module = sys.modules[NAME] = ModuleType(NAME)
        module.__dict__.update(variables, __name__=NAME, __loader__=self)
        if self.folder is not None:
            module.__file__ = self.file
            sys.path.insert(0, self.folder)
            self._modules = set(sys.modules)
        return module

    def unload(self, module: ModuleType) -> None:
        """Let go of the module, and of those found beside a script: another script may mean other files."""
        module.__dict__.clear()  # functions and their globals hold each other
        sys.modules.pop(NAME, None)
        if self.folder is None:
            return
        for name in set(sys.modules) - self._modules:
            if self.owns(getattr(sys.modules[name], "__file__", None)):
                del sys.modules[name]

    def show_lines(self, *, loaded_only: bool = False) -> None:
        """Let tracebacks show the lines of this text and not of another one under the same name."""
        if loaded_only and "linecache" not in sys.modules:
            return
        import linecache

        linecache.cache[self.file] = (len(self.text), None, self.text.splitlines(True), self.file)

    def owns(self, file: str | None) -> bool:
        """Whether a file is the author's: the code itself, or a module beside the script."""
        if not file or self.folder is None:
            return file == self.file
        return file.startswith(self.folder + os.sep) and "site-packages" not in file

    def shown(self, file: str) -> str:
        """A file of the author's as the author knows it: beside the script, as the script was named."""
        if file == self.file or self.folder is None:
            return self.name
        return os.path.join(os.path.dirname(self.name), os.path.relpath(file, self.folder))


def execute(program: Program, namespace: dict[str, Any], variables: dict[str, Any]) -> Any:
    """The value of `result`, or of `main` if the code defines one and sets no result itself."""
    try:
        exec(program.compiled(), namespace)
        main = namespace.get("main")
        if callable(main) and namespace.get("result") is variables.get("result"):
            namespace["result"] = _call(main, variables)
    except SystemExit as ending:
        if ending.code:
            raise
    _join_threads()
    return namespace.get("result")


def _call(main: Any, variables: dict[str, Any]) -> Any:
    """What `main` returns when it is given those variables that it takes."""
    first, named, takes_all = _parameters(main)
    positional = []
    for name in first:
        if name not in variables:
            break
        positional.append(variables[name])
    taken = (name for name in variables if name not in first) if takes_all else named
    value = main(*positional, **{name: variables[name] for name in taken if name in variables})
    if isinstance(value, CoroutineType):
        import asyncio

        return asyncio.run(value)
    return value


def _parameters(main: Any) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """The names `main` takes by position only, those it takes by name, and whether it takes any name."""
    if isinstance(main, FunctionType) and not hasattr(main, "__wrapped__"):
        code = main.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        first = code.co_posonlyargcount
        return names[:first], names[first:], bool(code.co_flags & TAKES_ALL)
    import inspect

    found = inspect.signature(main).parameters.values()
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return (
        tuple(p.name for p in found if p.kind is inspect.Parameter.POSITIONAL_ONLY),
        tuple(p.name for p in found if p.kind in by_name),
        any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found),
    )


def _join_threads() -> None:
    """Wait for threads that a script's end would wait for; daemons are left to the end of the process."""
    if not _thread._count():
        return
    import threading

    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def to_json_text(value: Any) -> bytes:
    """The value as JSON text; Unfit names the place of what has no JSON form."""
    if _is_plain(value):
        try:
            text = encode(value).encode()
        except ValueError:
            text = b"\\u0000"  # not a number, half of a surrogate pair, too many digits: say where
        if b"\\u0000" not in text:
            return text
    from noetl.ports.values import ValueProblem, to_json

    try:
        return encode(to_json(value)).encode()
    except ValueProblem as problem:
        raise Unfit(f"{problem.message}; {problem.hint}" if problem.hint else problem.message) from None
    except (ValueError, RecursionError) as problem:
        raise Unfit(f"the result has no JSON form: {problem}") from None


def _is_plain(value: Any) -> bool:
    """Whether a value is plain JSON as it stands: exact types, text keys, not deep; looks at them in bulk."""
    level = [value]
    for _ in range(QUICK_DEPTH_MAX):
        deeper: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict and not set(map(type, item)) - {str}:
                item = item.values()
            elif kind is not list:
                if kind not in PLAIN:
                    return False
                continue
            if set(map(type, item)) - PLAIN:
                deeper += [inner for inner in item if type(inner) not in PLAIN]
        if not deeper:
            return True
        level = deeper
    return False


def describe(error: BaseException, program: Program) -> Problem:
    """The exception's type and message, and its traceback with the author's frames alone."""
    import traceback

    program.show_lines()
    report = traceback.TracebackException.from_exception(error, compact=True)
    _trim(report, program)
    text = "".join(report.format()).replace(f"{NAME}.", "")
    message = clean(str(report), MESSAGE_CHARS_MAX)
    return clean(type(error).__name__, MESSAGE_CHARS_MAX), message, clean(_whole_lines(text), 2 * len(text))


def _trim(report: Any, program: Program) -> None:
    report.stack[:] = [frame for frame in report.stack if program.owns(frame.filename)]
    for frame in report.stack:
        frame.filename = program.shown(frame.filename)
    file: Any = getattr(report, "filename", None)  # of a syntax error
    if program.owns(file):
        report.filename = program.shown(file)
    for inner in (report.__cause__, report.__context__, *(report.exceptions or ())):
        if inner is not None:
            _trim(inner, program)


def _whole_lines(text: str) -> str:
    """A traceback of which whole lines are left out where it is long, and the ends of long lines."""
    if len(text) <= TRACEBACK_CHARS_MAX:
        return text
    lines = [line[:TRACEBACK_LINE_CHARS_MAX] for line in text.splitlines(True)]
    first, last, room = 0, len(lines), TRACEBACK_CHARS_MAX
    while first < last and room > 0:  # from its end and from its beginning in turn
        last -= 1
        room -= len(lines[last])
        if first < last and room > 0:
            room -= len(lines[first])
            first += 1
    middle = [f"  … {last - first} lines left out …\n"] if first < last else []
    return "".join([*lines[:first], *middle, *lines[last:]])


def clean(text: str, chars_max: int) -> str:
    """Text that JSON can hold, without its middle if it is long."""
    if len(text) > chars_max:
        text = f"{text[: chars_max // 2]}\n…\n{text[-chars_max // 2 :]}"
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()

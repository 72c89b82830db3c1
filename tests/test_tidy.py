"""The house rules as tests: sizes, names, where things may live. A finding says file:line and what to do.

A rule is a function from one file to its findings; `EXAMPLES` shows for each rule a text it must refuse.
"""

import ast
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
NESTING_MAX = 4
PARAMETERS_MAX = 6
UI_COLUMNS_MAX = 120

# Written by a program, not by a person.
UI_GENERATED = ("ui/package-lock.json", "ui/types/package-lock.json", "ui/src/api/openapi")

# Words that say nothing about what a thing does. The second set is refused only as a whole name.
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "manager", "service", "misc", "v2"}
EMPTY_NAMES = {"base", "common"}

# A broad except hides bugs. It may stand only where a program or a tool call ends, each with its reason.
BROAD_EXCEPT_ALLOWED = {
    "noetl/cli/main.py": "the process edge: a bug becomes a message and an exit code",
    "noetl/worker/python/child.py": "the author's code: whatever it raises becomes the answer to its call",
    "noetl/worker/python/log_levels.py": "the author's formatter: what it raises is handled as logging does",
    "noetl/worker/toolbox.py": "the one tool call: an unexpected exception becomes an output",
    "noetl/tools/parts/function.py": "somebody's function: whatever it raises becomes an error with a kind",
    "noetl/tools/parts/own_thread.py": "as above: what would end a thread without a word ends a call",
    "noetl/tools/parts/added_tools.py": "somebody's module: whatever it raises is told with its name",
    "noetl/tools/parts/content.py": "the library raises plain exceptions, which are told apart inside",
    "noetl/tools/parts/transfer_delta.py": "the library raises plain exceptions, which are told apart inside",
    "noetl/tools/parts/transfer_batches.py": "the library raises plain exceptions: the source says what of",
    "noetl/tools/parts/dlt_program.py": "the process edge: whatever a pipeline raises becomes its answer",
    "noetl/tools/parts/transfer_iceberg.py": "its exceptions have no class in common and are told by name",
    "noetl/worker/pool.py": "the edge of an order: a bug of ours fails its step, not the worker",
    "noetl/adapters/sqlite/writer.py": "the edge of a write: a bug of ours fails its job, not the others'",
    "noetl/adapters/fork/trial.py": "a copy of the process: only whether it lives is told, not what it raises",
    "noetl/control/sweep.py": "the edge of a round: a bug of ours in one must not end the clockwork",
    "noetl/control/deliveries.py": "the edge of a delivery: a bug of ours on one way keeps no other from going",
    "noetl/control/engine.py": "the edge of a decision: a bug of ours stops its execution, not the others",
    "noetl/control/ownership.py": "the edge of a takeover: a log nobody can read keeps no other from going on",
    "noetl/client/result.py": "a library that raises bare exceptions: what it says becomes our error",
    "noetl/adapters/eager_task.py": "a task: what its work raises is of whoever waits for it",
}

SETTINGS = "noetl/settings.py"
# An isolated process is started with an environment made for it, and puts that back after each call.
OWN_ENVIRONMENT = "noetl/worker/python/child.py"
TEMPLATE = "noetl/dsl/templates/syntax.py"
FRAME = "noetl/server/manual/site.py"  # around pages of the documentation: its template is no author's
PURE_ROOMS = ("noetl/dsl/", "noetl/core/", "noetl/ports/", "noetl/errors.py")
# Folders whose modules are found by listing the folder, so nobody imports them by name.
DISCOVERED_FOLDERS = ("noetl/tools/", "noetl/dsl/rules/")

UNFINISHED = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X])\b")
REGISTRY_HOST = re.compile(r"\b(?:pypi|pythonhosted|npmjs|yarnpkg|crates|rubygems|anaconda)\.[a-z]{2,}\b")
HOW_IT_WAS_BUILT = re.compile(
    r"""/work/(?:main|notes|shared)
      | \bissues?\ \#?\d
      | \bS\d\ ?§
      | \bthe\ brief\b
      | \bsub-?agents?\b | \bcoding\ agents?\b
      | \b(?:written|generated|built|made)\ (?:by|with)\ (?:an?\ )?(?:ai|llm|assistant|language\ model)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
FRAGMENT_NAME = re.compile(r"README\.md|[a-z0-9-]+\.(?:added|changed|fixed|removed|security)\.md")


@dataclass(frozen=True)
class Source:
    """One file of the repository: its path from the root, and its text."""

    path: str
    text: str

    @property
    def is_python(self) -> bool:
        return self.path.endswith(".py")

    @property
    def is_product(self) -> bool:
        return self.is_python and self.path.startswith("noetl/")

    @property
    def is_test(self) -> bool:
        return self.is_python and self.path.startswith("tests/")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the module; empty for other files."""
        return list(ast.walk(ast.parse(self.text))) if self.is_python else []

    @property
    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        return (node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    def at(self, line: int, advice: str) -> str:
        return f"{self.path}:{line}: {advice}"


Rule = Callable[[Source], Iterator[str]]


# ---- sizes ----------------------------------------------------------------------------------------------


def file_is_short(source: Source) -> Iterator[str]:
    lines = source.text.count("\n")
    if source.is_python and lines > FILE_LINES_MAX:
        yield source.at(
            FILE_LINES_MAX, f"{lines} lines, at most {FILE_LINES_MAX}: split it by responsibility"
        )


def ui_line_is_short(source: Source) -> Iterator[str]:
    """The formatter of the pages' code needs node and breaks no string; this rule needs neither."""
    if not source.path.startswith("ui/") or source.path.startswith(UI_GENERATED):
        return
    for number, line in enumerate(source.text.splitlines(), 1):
        if len(line) > UI_COLUMNS_MAX:
            advice = f"{len(line)} columns, at most {UI_COLUMNS_MAX}: npm run format, or join it from parts"
            yield source.at(number, advice)


def function_is_short(source: Source) -> Iterator[str]:
    for function in source.functions:
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES_MAX:
            advice = f"{function.name} has {lines} lines, at most {FUNCTION_LINES_MAX}: give its parts names"
            yield source.at(function.lineno, advice)


def function_is_flat(source: Source) -> Iterator[str]:
    for function in source.functions:
        depth = max((_depth(statement) for statement in function.body), default=0)
        if depth > NESTING_MAX:
            advice = f"{function.name} nests {depth} deep, at most {NESTING_MAX}: return early or split it"
            yield source.at(function.lineno, advice)


def _depth(node: ast.AST) -> int:
    """How many blocks lie inside one another; a nested function or class starts anew."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return 0
    blocks = ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try | ast.Match
    if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        inside = max(map(_depth, node.body), default=0) + 1
        return max(inside, _depth(node.orelse[0]))  # elif is not deeper than its if
    inside = max(map(_depth, ast.iter_child_nodes(node)), default=0)
    return inside + isinstance(node, blocks)


def function_has_few_parameters(source: Source) -> Iterator[str]:
    for function in source.functions:
        names = [argument.arg for argument in function.args.posonlyargs + function.args.args]
        count = len([name for name in names if name not in ("self", "cls")])
        if count > PARAMETERS_MAX and not source.is_test:
            advice = f"{function.name} takes {count} positional parameters, at most {PARAMETERS_MAX}"
            yield source.at(function.lineno, f"{advice}: make them keyword-only or pass one value object")


# ---- words ----------------------------------------------------------------------------------------------


def names_say_something(source: Source) -> Iterator[str]:
    if not source.is_python:
        return
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if _is_empty(part):
            yield source.at(1, f"'{part}' says nothing about its content: name the responsibility")
    for node in source.nodes:
        named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, named) and _is_empty(node.name) and not source.is_test:
            yield source.at(node.lineno, f"'{node.name}' says nothing: name what it does")


def _is_empty(name: str) -> bool:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")
    return bool(EMPTY_WORDS & set(words)) or name.lower().strip("_") in EMPTY_NAMES


def module_has_a_docstring(source: Source) -> Iterator[str]:
    if (source.is_product or source.path.startswith("bench/")) and source.is_python:
        module = ast.parse(source.text)
        if not ast.get_docstring(module):
            yield source.at(1, "no module docstring: say what lives here and what must not")


def nothing_is_unfinished(source: Source) -> Iterator[str]:
    if source.is_python or source.path.endswith((".md", "Makefile")):
        yield from _matches(source, UNFINISHED, "finish it now, or leave it out")


def no_registry_is_named(source: Source) -> Iterator[str]:
    yield from _matches(
        source, REGISTRY_HOST, "name no package registry: where packages come from is a setting"
    )


def text_is_about_the_product(source: Source) -> Iterator[str]:
    yield from _matches(source, HOW_IT_WAS_BUILT, "speak of the product, not of how it was made")


def _matches(source: Source, pattern: re.Pattern[str], advice: str) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), 1):
        if found := pattern.search(line):
            yield source.at(number, f"'{found.group()}': {advice}")


def change_fragment_is_well_named(source: Source) -> Iterator[str]:
    path = PurePosixPath(source.path)
    if path.parts[0] == "changes" and not FRAGMENT_NAME.fullmatch(path.name):
        yield source.at(1, "not <what>.<kind>.md: see changes/README.md")


# ---- one place for each thing ---------------------------------------------------------------------------


def broad_except_is_rare(source: Source) -> Iterator[str]:
    if not source.is_product or source.path in BROAD_EXCEPT_ALLOWED:
        return
    advice = "broad except hides bugs: name the errors, or give this file a reason in BROAD_EXCEPT_ALLOWED"
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler):
            broad = node.type is None or _names_broad_error(node.type)
        elif isinstance(node, ast.Call):
            broad = _dotted(node.func).endswith("suppress") and any(map(_names_broad_error, node.args))
        else:
            broad = False
        if broad:
            yield source.at(_line(node), advice)


def _names_broad_error(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Name) and n.id in ("Exception", "BaseException") for n in ast.walk(node))


def environment_is_read_in_settings(source: Source) -> Iterator[str]:
    if not source.is_product or source.path in (SETTINGS, OWN_ENVIRONMENT):
        return
    advice = f"only {SETTINGS} reads the environment: take the value as an argument"
    doors = {"environ", "environb", "getenv"}
    for node in source.nodes:
        if isinstance(node, ast.Attribute):
            reads = node.attr in doors and _dotted(node.value) == "os"
        elif isinstance(node, ast.ImportFrom):
            reads = bool(doors & {alias.name for alias in node.names})
        else:
            reads = isinstance(node, ast.keyword) and node.arg in ("envvar", "auto_envvar_prefix")
        if reads:
            yield source.at(_line(node), advice)


def jinja_environment_is_made_once(source: Source) -> Iterator[str]:
    if not source.is_product:
        return
    made = [
        node for node in source.nodes if isinstance(node, ast.Call) and _is_environment(_dotted(node.func))
    ]
    if source.path not in (TEMPLATE, FRAME):
        for node in made:
            yield source.at(node.lineno, f"the one Jinja environment is in {TEMPLATE}: use it")
    elif len(made) != 1:
        yield source.at(1, f"{len(made)} Jinja environments are made here: make exactly one")


def _is_environment(callee: str) -> bool:
    return callee.endswith("Environment") or callee == "jinja2.Template"


def pure_rooms_touch_nothing(source: Source) -> Iterator[str]:
    """The import contract bans modules; this bans the built-in doors to the outside."""
    if not source.path.startswith(PURE_ROOMS):
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and _reaches_outside(_dotted(node.func)):
            callee = _dotted(node.func)
            yield source.at(
                node.lineno, f"{callee}() reaches outside a pure room: take the value as an argument"
            )


def _reaches_outside(callee: str) -> bool:
    clocks = ("datetime.now", "datetime.utcnow", "datetime.today", "date.today")
    return callee in ("open", "input", "print", "io.open") or callee.endswith(clocks)


# ---- tests ----------------------------------------------------------------------------------------------


def no_test_is_skipped(source: Source) -> Iterator[str]:
    escapes = ("skip", "skipif", "skipIf", "xfail", "importorskip")
    for node in source.nodes if source.is_test else ():
        escapes_here = isinstance(node, ast.Attribute) and node.attr in escapes
        if escapes_here and _dotted(node).startswith(("pytest.", "unittest.")):
            yield source.at(_line(node), "a test runs or is deleted: make what it needs, or remove it")


def no_test_sleeps(source: Source) -> Iterator[str]:
    for node in source.nodes if source.is_test else ():
        if isinstance(node, ast.ImportFrom):
            sleeps = node.module == "time" and "sleep" in {alias.name for alias in node.names}
        else:
            sleeps = isinstance(node, ast.Attribute) and _dotted(node) == "time.sleep"
        if sleeps:
            yield source.at(_line(node), "wait for the event itself, not for time to pass")


def no_test_times_the_machine(source: Source) -> Iterator[str]:
    clocks = {"process_time", "perf_counter"}
    for node in source.nodes if source.is_test and "/test_" in source.path else ():
        if isinstance(node, ast.ImportFrom):
            timed = node.module == "time" and not clocks.isdisjoint(alias.name for alias in node.names)
        else:
            timed = isinstance(node, ast.Attribute) and _dotted(node).removeprefix("time.") in clocks
        if timed:
            yield source.at(_line(node), "count the work (tests/effort.py); a busy machine fails a clock")


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))


def _dotted(node: ast.AST) -> str:
    """`a.b.c` of a name or attribute; what is not a name becomes an empty first part."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


# ---- unused files ---------------------------------------------------------------------------------------


def unused_files(sources: list[Source]) -> list[str]:
    """Files of the package that nothing in the package imports, registers or opens."""
    product = [source for source in sources if source.is_product]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    announced = [project["scripts"], *project.get("entry-points", {}).values()]
    used = {target.partition(":")[0] for targets in announced for target in targets.values()} | {
        "noetl",
        "noetl.__main__",
        "noetl.cli.__main__",
    }
    for source in product:
        used |= _modules_named(source) - {_module(source.path)}
    findings = [_unused_module(source, used) for source in product]
    findings += [_unused_data(source, product) for source in sources if not source.is_python]
    return [finding for finding in findings if finding]


def _unused_module(source: Source, used: set[str]) -> str | None:
    module = _module(source.path)
    reached = any(name == module or name.startswith(f"{module}.") for name in used)
    if reached or source.path.startswith(DISCOVERED_FOLDERS):
        return None
    return source.at(1, "nothing in noetl/ uses this module: delete it or use it")


def _unused_data(source: Source, product: list[Source]) -> str | None:
    path = PurePosixPath(source.path)
    if path.parts[0] != "noetl" or path.name == "py.typed" or "static" in path.parts:
        return None
    mentioned = any(path.name in other.text or f"*{path.suffix}" in other.text for other in product)
    return None if mentioned else source.at(1, "nothing in noetl/ opens this file: delete it or use it")


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _modules_named(source: Source) -> set[str]:
    """Modules this one imports, or names in strings for a lazy import: `"noetl.x.y"`, or `f"noetl.x.{name}"`."""
    found: set[str] = set()
    strings = {n.value for n in source.nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    for node in source.nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    for string in (string for string in strings if string.startswith("noetl.")):
        lazy = {string + name for name in strings if name.isidentifier()} if string.endswith(".") else set()
        found |= lazy or {string.partition(":")[0]}
    return found


# ---- the tests ------------------------------------------------------------------------------------------

RULES: tuple[Rule, ...] = (
    file_is_short,
    ui_line_is_short,
    function_is_short,
    function_is_flat,
    function_has_few_parameters,
    names_say_something,
    module_has_a_docstring,
    nothing_is_unfinished,
    no_registry_is_named,
    text_is_about_the_product,
    change_fragment_is_well_named,
    broad_except_is_rare,
    environment_is_read_in_settings,
    jinja_environment_is_made_once,
    pure_rooms_touch_nothing,
    no_test_is_skipped,
    no_test_sleeps,
    no_test_times_the_machine,
)

# A text that each rule refuses, so that a rule cannot quietly stop working. Texts about words are put
# together from parts, or this file would be found guilty of them.
EXAMPLES: tuple[tuple[Rule, str, str], ...] = (
    (file_is_short, "noetl/x.py", "x = 1\n" * (FILE_LINES_MAX + 1)),
    (ui_line_is_short, "ui/src/x.tsx", f"const x = '{'x' * UI_COLUMNS_MAX}'"),
    (function_is_short, "noetl/x.py", "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX),
    (
        function_is_flat,
        "noetl/x.py",
        "def f():\n if 1:\n  for a in b:\n   with c:\n    while 1:\n     try: d\n     finally: e",
    ),
    (function_has_few_parameters, "noetl/x.py", "def f(a, b, c, d, e, f, g): ..."),
    (names_say_something, "noetl/dsl/utils.py", ""),
    (names_say_something, "noetl/x.py", "class LeaseManager: ..."),
    (names_say_something, "noetl/x.py", "def run_v2(): ..."),
    (module_has_a_docstring, "noetl/x.py", "x = 1"),
    (nothing_is_unfinished, "noetl/x.py", "# TO" + "DO later"),
    (no_registry_is_named, "Makefile", "curl https://pypi" + ".example/simple"),
    (text_is_about_the_product, "docs/x.md", "Asked for in iss" + "ue 7."),
    (change_fragment_is_well_named, "changes/new-thing.md", "A new thing."),
    (broad_except_is_rare, "noetl/x.py", "try: a\nexcept: b"),
    (broad_except_is_rare, "noetl/x.py", "try: a\nexcept (KeyError, Exception): b"),
    (broad_except_is_rare, "noetl/x.py", "with contextlib.suppress(Exception): a"),
    (environment_is_read_in_settings, "noetl/x.py", "import os\nx = os.environ['HOME']"),
    (environment_is_read_in_settings, "noetl/x.py", "from os import getenv"),
    (environment_is_read_in_settings, "noetl/cli/x.py", "option('--url', envvar='NOETL_URL')"),
    (jinja_environment_is_made_once, "noetl/x.py", "x = SandboxedEnvironment()"),
    (jinja_environment_is_made_once, TEMPLATE, "a = Environment()\nb = Environment()"),
    (pure_rooms_touch_nothing, "noetl/core/x.py", "x = datetime.datetime.now(UTC)"),
    (pure_rooms_touch_nothing, "noetl/dsl/x.py", "x = open('f')"),
    (no_test_is_skipped, "tests/test_x.py", "@pytest.mark.skipif(True)\ndef test_x(): ..."),
    (no_test_sleeps, "tests/test_x.py", "import time\ntime.sleep(1)"),
    (no_test_times_the_machine, "tests/test_x.py", "import time\nx = time.process_time()"),
)


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    """Every text file of the repository, the ones not committed yet included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    paths = [path for path in listed.split("\0") if path and (ROOT / path).is_file()]
    read = ((path, (ROOT / path).read_bytes()) for path in paths)
    return [Source(path, content.decode(errors="replace")) for path, content in read if b"\0" not in content]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_file_obeys(rule: Rule, sources: list[Source]) -> None:
    findings = [finding for source in sources for finding in rule(source)]
    assert not findings, "\n" + "\n".join(findings)


@pytest.mark.parametrize("rule, path, text", EXAMPLES, ids=lambda value: getattr(value, "__name__", ""))
def test_rule_refuses_its_example(rule: Rule, path: str, text: str) -> None:
    findings = list(rule(Source(path, text)))
    assert findings
    assert findings[0].startswith(f"{path}:")


def test_every_rule_has_an_example() -> None:
    assert set(RULES) == {rule for rule, _, _ in EXAMPLES}


def test_every_file_of_the_package_is_used(sources: list[Source]) -> None:
    findings = unused_files(sources)
    assert not findings, "\n" + "\n".join(findings)


DOOR = Source("noetl/__main__.py", "from noetl.cli.main import main")


def test_a_module_named_by_parts_is_used() -> None:
    main = Source("noetl/cli/main.py", "COMMANDS = {'run': 'help'}\nimport_module(f'noetl.cli.{name}')")
    listed, forgotten = Source("noetl/cli/run.py", ""), Source("noetl/cli/stop.py", "")
    assert [finding.partition(":")[0] for finding in unused_files([DOOR, main, listed, forgotten])] == [
        forgotten.path
    ]


def test_unused_files_are_found() -> None:
    main = Source(
        "noetl/cli/main.py", "COMMANDS = {'run': 'noetl.cli.commands.run:command'}\nDATA = 'words.json'"
    )
    run = Source("noetl/cli/commands/run.py", "from noetl.dsl import load")
    load = Source("noetl/dsl/load.py", "import noetl.dsl.load")
    words = Source("noetl/dsl/words.json", "{}")
    assert unused_files([DOOR, main, run, load, words]) == []
    assert unused_files([DOOR, main, load, words]) == [
        load.at(1, "nothing in noetl/ uses this module: delete it or use it")
    ]
    assert unused_files([run, load, words])[-1].startswith("noetl/dsl/words.json:1:")

"""The door: help, unknown commands, exit codes, and that nothing heavy is imported for help."""

import signal
import subprocess
import sys
import types
from pathlib import Path

import click
import pytest

from noetl import __version__
from noetl.cli import main
from noetl.cli.exit_codes import EXIT_INTERRUPTED, EXIT_USAGE
from noetl.errors import BackendError, Conflict, InvariantViolation, MissingExtra, NotFound, PlaybookError

HEAVY = [
    "yaml",
    "jinja2",
    "msgspec",
    "rich",
    "ruamel",
    "aiohttp",
    "asyncio",
    "noetl.dsl",
    "noetl.tools",
    "noetl.settings",
]


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch):
    """Adds a command that does what it is told."""

    def add(action) -> None:
        module = types.ModuleType("noetl.cli.commands.pretend")
        module.command = click.command("pretend")(action)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "noetl.cli.commands.pretend", module)
        monkeypatch.setitem(main.Commands.lines, "pretend", "pretend")

    return add


def raising(error: BaseException):
    def action() -> None:
        raise error

    return action


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_is_short_and_grouped_and_names_every_command(arguments: list[str], capsys) -> None:
    assert main.run(arguments) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert len(shown.out.splitlines()) <= 53
    for group, commands in main.COMMANDS.items():
        assert f"\n{group}:\n" in shown.out
        for name in commands:
            assert f"  {name}" in shown.out


@pytest.mark.parametrize("group", ["execution", "db", "catalog", "credential"])
def test_a_group_alone_prints_its_help_and_exits_with_2(group: str, capsys) -> None:
    assert main.run([group]) == EXIT_USAGE
    printed = capsys.readouterr()
    assert printed.err.startswith(f"Usage: noetl {group}")
    assert printed.out == ""


def test_the_version_is_printed_and_which_program_it_is_of(capsys) -> None:
    assert main.run(["--version"]) == 0
    printed = capsys.readouterr().out
    assert printed.split()[:2] == ["noetl", __version__]
    assert "not the program that the package index has under this name" in printed


@pytest.mark.parametrize(
    "name", [*(name for group in main.COMMANDS.values() for name in group), *main.ALIASES]
)
def test_every_command_has_help_and_a_page(name: str, root: Path, capsys) -> None:
    assert main.run([name, "--help"]) == 0
    assert f"Usage: noetl {name} " in capsys.readouterr().out
    assert (root / "docs" / "reference" / "commands" / f"{main.ALIASES.get(name, name)}.md").is_file()


@pytest.mark.parametrize(
    "arguments, message, command",
    [
        (["validat"], "there is no command 'validat'; did you mean 'validate'?", "noetl --help"),
        (["zzz"], "there is no command 'zzz'", "noetl --help"),
        (["execute", "a/b"], "there is no command 'execute'; did you mean 'noetl run PATH'?", "noetl --help"),
        (
            ["exec", "stop", "@last"],
            "there is no command 'execution stop'; did you mean 'noetl execution cancel'?",
            "noetl exec --help",
        ),
        (
            ["register", "playbook", "-f", "x.yaml"],
            "no such option '-f'; name the file without an option",
            "noetl register --help",
        ),
        (["validate"], "missing argument 'FILE...'", "noetl validate --help"),
        (["validate", "--formt", "x"], "no such option '--formt'", "noetl validate --help"),
        (["--zzz"], "no such option '--zzz'", "noetl --help"),
    ],
)
def test_wrong_usage_is_told_with_what_to_try_and_exits_with_2(arguments, message, command, capsys) -> None:
    assert main.run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"error[usage]: {message}" in shown.err
    assert f"= try: {command}" in shown.err


@pytest.mark.parametrize(
    "error, code",
    [
        (PlaybookError(()), 1),
        (NotFound("x"), 2),
        (Conflict("x"), 2),
        (MissingExtra("asyncpg", "postgres"), 2),
        (BackendError("x"), 3),
        (InvariantViolation("x"), 70),
        (ZeroDivisionError("x"), 70),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
)
def test_each_error_has_its_exit_code(error: BaseException, code: int, pretend, capsys) -> None:
    pretend(raising(error))
    assert main.run(["pretend"]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_named_error_is_printed_with_its_code_and_hint(pretend, capsys) -> None:
    pretend(raising(NotFound("no such thing: 'x'", hint="try 'y'")))
    main.run(["pretend"])
    assert capsys.readouterr().err == "error[not-found]: no such thing: 'x'\n  = fix: try 'y'\n"


def test_a_bug_is_one_line_and_names_debug(pretend, capsys) -> None:
    pretend(raising(KeyError("x")))
    main.run(["pretend"])
    shown = capsys.readouterr().err
    assert shown.startswith("error[internal]: KeyError: 'x'\n")
    assert "--debug" in shown


@pytest.mark.parametrize("arguments", [["--debug", "pretend"], ["pretend", "--debug"]])
def test_with_debug_anywhere_an_error_also_shows_where_it_happened(
    arguments: list[str], pretend, capsys
) -> None:
    pretend(raising(BackendError("x", hint="y")))
    assert main.run(arguments) == 3
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert shown.endswith("error[backend]: x\n  = fix: y\n")


def test_after_two_dashes_debug_is_an_argument() -> None:
    assert main.take_debug(["a", "--", "--debug"]) == (["a", "--", "--debug"], False)


@pytest.mark.parametrize("answer, code", [(None, 0), (0, 0), (1, 1), (5, 5)])
def test_a_command_returns_its_exit_code(answer: int | None, code: int, pretend) -> None:
    pretend(lambda: answer)
    assert main.run(["pretend"]) == code


def test_main_leaves_with_the_exit_code(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["noetl", "zzz"])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 2


def test_what_a_command_refuses_itself_names_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["schedule", "edit", "nightly"]) == EXIT_USAGE
    assert capsys.readouterr().err.endswith("= try: noetl schedule edit --help\n")


@pytest.mark.parametrize("at", ["click.types", "noetl.cli.main", "noetl.cli.terminal"])
def test_an_interrupt_while_it_loads_is_no_bug(at: str, tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "noetl", "execution", "list"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stderr is not None
    assert any(line.rstrip().endswith(f" {at}") for line in process.stderr), "it is imported"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert "Traceback" not in said
    assert "Warning" not in said
    assert process.returncode in (-signal.SIGINT, EXIT_INTERRUPTED, 0)


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["--version"], ["validate", "--help"], ["graph", "--help"]]
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from noetl.cli.main import run; code = run(sys.argv[1:]); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"

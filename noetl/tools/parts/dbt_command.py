"""How dbt is started and followed: its arguments, its environment, and its end as an answer."""

import asyncio
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.dbt_events import Events
from noetl.tools.parts.dbt_profile import PROFILE, write_profile
from noetl.tools.parts.dbt_results import failure_of, read_results
from noetl.tools.parts.process import Place, Program, clean_environment, start
from noetl.tools.parts.tool_context import ToolContext

if TYPE_CHECKING:
    from noetl.tools.dbt import Project

PRINTED_BYTES = 64 << 10
WORDS = 1_000
WORD_CHARS = 1_000
VARS_BYTES = 100_000  # what one argument of a program may hold, with some room
INSTALL = (
    "install dbt in an environment of its own on the worker's machine, "
    "`python3 -m venv /opt/dbt && /opt/dbt/bin/pip install dbt-core dbt-duckdb`, "
    "and say `program: /opt/dbt/bin/dbt`"
)


@dataclass(frozen=True, slots=True)
class Command:
    """A dbt program ready to be started, and the folder of its results."""

    argv: list[str]
    place: Place
    results: str


def command_of(project: "Project", folder: str, context: ToolContext) -> Command:
    """Everything that dbt is told; `folder` is its own."""
    home = context.path(project.project)
    if not os.path.isfile(os.path.join(home, "dbt_project.yml")):
        raise Failed("not_found", f"there is no dbt_project.yml in {project.project!r}")
    usual = clean_environment(context.call)
    program = _program(project.program, usual["PATH"], context.call)
    fields = write_profile(project, folder, context)
    own = {"HOME": folder, "TMPDIR": folder, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    profiles = (
        ["--profiles-dir", home] if fields is None else ["--profiles-dir", folder, "--profile", PROFILE]
    )
    results = os.path.join(folder, "target")
    argv = [
        program, "--log-format", "json", "--no-use-colors", "--log-path", os.path.join(folder, "logs"),
        project.command, *profiles, "--project-dir", home, "--target-path", results, *_choices(project),
    ]  # fmt: skip
    return Command(argv, Place(home, {**usual, **own, **(fields or {})}, reads=False), results)


def _program(name: str, path: str, call: Call) -> str:
    """The program where it is; kind `missing_extra` when it is not."""
    wanted = os.path.join(call.work_dir, name) if os.sep in name else name
    found = shutil.which(wanted, path=path) if "\0" not in name else None
    if found is None:
        raise Failed("missing_extra", f"there is no program {name[:WORD_CHARS]!r} here; {INSTALL}")
    return os.path.abspath(found)


def _choices(project: "Project") -> list[str]:
    """What the author chooses, as arguments."""
    chosen: list[str] = []
    for name, words in (("select", project.select), ("exclude", project.exclude)):
        if words:
            chosen += [f"--{name}", *_words(name, [words] if isinstance(words, str) else words)]
    if project.vars:
        text = msgspec.json.encode(project.vars).decode()
        if len(text.encode()) > VARS_BYTES:
            raise Failed("too_large", f"vars have more than {VARS_BYTES} bytes as JSON")
        chosen += ["--vars", text]
    if project.target is not None:
        chosen += ["--target", *_words("target", [project.target])]
    if project.threads is not None:
        chosen += ["--threads", str(project.threads)]
    if project.full_refresh and project.command in ("build", "run", "seed", "compile"):
        chosen.append("--full-refresh")
    return chosen


def _words(name: str, words: list[str]) -> list[str]:
    """Words that dbt cannot take for options, nor for too many."""
    if len(words) > WORDS:
        raise Failed("input", f"dbt input {name!r}: {len(words)} words are more than {WORDS}")
    for word in words:
        if not word.strip() or word.strip()[0] == "-" or len(word) > WORD_CHARS:
            why = f"is empty, begins with '-', or has over {WORD_CHARS} characters"
            raise Failed("input", f"dbt input {name!r}: {word[:40]!r} {why}")
    return words


async def run_command(command: Command, grace: float, call: Call) -> Json:
    """Run it to its end; what it says is the task's log."""
    events = Events(call.output)
    program = await start(command.argv, command.place, Program(PRINTED_BYTES, events.feed))
    await program.ended(grace)
    events.end()
    results = await asyncio.to_thread(read_results, command.results)
    exit_code = program.transport.get_returncode() or 0
    if exit_code == 0 and results is not None:
        return results.data
    raise failure_of(results, exit_code, events.errors, program.printed[2].text)

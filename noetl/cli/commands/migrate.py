"""`noetl migrate`: rewrite older spellings to the current language. What is rewritten is the language's."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from noetl.cli.exit_codes import EXIT_USAGE
from noetl.cli.playbooks import sources
from noetl.cli.playbooks.migration_report import FileReport, Report, state_of
from noetl.cli.playbooks.sources import STDIN, Source
from noetl.cli.playbooks.validation import with_findings
from noetl.cli.terminal import Paint, colourful, counted, emit, emit_json, failure, note
from noetl.dsl.diagnostic import finding_fields
from noetl.errors import PlaybookError, RequestError

if TYPE_CHECKING:
    from noetl.dsl.migrate import Migrated

EPILOG = """\b
Examples:
  noetl migrate old.yaml                     show what would change
  noetl migrate playbooks/ --write           rewrite every playbook of a folder
  noetl migrate playbooks/ --check           fail when a playbook still uses older spellings
  noetl migrate playbooks/ --report          how a whole folder would come over
  noetl migrate - --write < old.yaml         filter standard input

\b
Exit codes: 0 done, 1 a file is not valid YAML or --check found something to change, 2 wrong usage.
"""


@dataclass(frozen=True, slots=True)
class MigrateOptions:
    """What to do with a migrated text."""

    write: bool
    check: bool
    diff: bool


@click.command("migrate", epilog=EPILOG)
@click.argument("playbooks", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("--diff", is_flag=True, help="Print a unified diff; this is the default.")
@click.option("--write", is_flag=True, help="Rewrite the files in place.")
@click.option("--check", is_flag=True, help="Change nothing; exit 1 when something would change.")
@click.option("--report", is_flag=True, help="Print how many files come over, and what is rewritten or left.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON instead of the diff.")
@click.option("-q", "--quiet", is_flag=True, help="No notes and no summary on stderr.")
def command(
    playbooks: tuple[str, ...],
    *,
    diff: bool,
    write: bool,
    check: bool,
    report: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Rewrite older spellings to the current language.

    Comments, order and style stay as they are; a file that is up to date is not touched. FILE is a file, a
    folder (searched for playbooks), a glob pattern, or - for standard input, which --write rewrites to
    stdout. Notes on stderr say what was changed and what deserves a look.
    """
    if write and check:
        raise click.UsageError("--write and --check exclude each other")
    if report and diff:
        raise click.UsageError("--report and --diff exclude each other")
    if report:
        return _report(sources.find(playbooks), MigrateOptions(write, check, diff=False), as_json)
    if as_json:
        return _as_json(sources.find(playbooks), MigrateOptions(write, check, diff=False))
    options = MigrateOptions(write, check, diff or not (write or check))
    codes = [_migrate_file(name, options, quiet) for name in sources.find(playbooks)]
    return max(codes)


def _as_json(names: list[str], options: MigrateOptions) -> int:
    """Every file with what was changed in it, what needs a look, and its text as it became."""
    results = [_examined(name, options) for name in names]
    changed = sum(1 for file, _ in results if file.get("changed"))
    emit_json({"files": [file for file, _ in results], "changed": changed, "written": options.write})
    return max(code for _, code in results)


def _report(names: list[str], options: MigrateOptions, as_json: bool) -> int:
    """One page about all files: how they come over, and what is said of them how often."""
    results = [_reported(name, options) for name in names]
    report = Report(tuple(file for file, _ in results))
    if as_json:
        emit_json(report.as_json())
    else:
        emit("\n".join(report.lines()))
    return max(code for _, code in results)


def _reported(name: str, options: MigrateOptions) -> tuple[FileReport, int]:
    from noetl.dsl.load import load
    from noetl.wiring.tool_kinds import kinds

    file, code = _examined(name, options)
    if "error" in file:
        return FileReport(name, "refused", findings=(str(file["error"]),)), EXIT_USAGE
    if "diagnostics" in file:
        return FileReport(name, "refused", findings=tuple(item["code"] for item in file["diagnostics"])), code
    errors = [item.code for item in load(file["text"], kinds=kinds()).diagnostics if item.severity == "error"]
    looks = tuple(note["message"] for note in file["notes"] if note["look"])
    rewrites = tuple(note["message"] for note in file["notes"] if not note["look"])
    state = state_of(changed=file["changed"], choices=bool(looks), errors=bool(errors))
    return FileReport(file["file"], state, rewrites, looks, tuple(errors)), code


def _examined(name: str, options: MigrateOptions) -> tuple[dict[str, Any], int]:
    try:
        source = sources.read(name)
        migrated = _migrated(source)
        if options.write and migrated.changed and name != STDIN:
            _replace(name, migrated.text)
    except PlaybookError as error:
        findings = [finding_fields(item) for item in error.diagnostics]
        return {"file": source.name, "diagnostics": findings}, 1
    except RequestError as error:
        return {"file": name, "error": error.message}, EXIT_USAGE
    notes = [
        {"line": note.line, "message": note.message, "hint": note.hint, "look": note.look}
        for note in migrated.notes
    ]
    file = {"file": source.name, "changed": migrated.changed, "notes": notes, "text": migrated.text}
    return file, 1 if options.check and migrated.changed else 0


def _migrated(source: Source) -> "Migrated":
    from noetl.dsl.migrate import migrate
    from noetl.wiring.tool_kinds import kinds

    return migrate(source.data, kinds=kinds())


def _migrate_file(name: str, options: MigrateOptions, quiet: bool) -> int:
    try:
        source = sources.read(name)
        migrated = _migrated(source)
        _deliver(name, source, migrated, options)
    except PlaybookError as error:
        from noetl.cli.formats.text import findings_text

        note(findings_text([with_findings(source, error.diagnostics)], Paint(colourful(sys.stderr))))
        return 1
    except RequestError as error:  # the others are still worth migrating
        failure(error.code, error.message, error.hint)
        return EXIT_USAGE
    if not quiet:
        _tell(source, migrated, options)
    return 1 if options.check and migrated.changed else 0


def _deliver(name: str, source: Source, migrated: "Migrated", options: MigrateOptions) -> None:
    """Print the diff and write the file, as far as that was asked for."""
    if options.diff and migrated.changed:
        emit(_unified(source.name, source.data.decode(), migrated.text))
    if options.write and name == STDIN:
        click.echo(migrated.text, nl=False)
    elif options.write and migrated.changed:
        _replace(name, migrated.text)


def _unified(name: str, old: str, new: str) -> str:
    import difflib

    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), name, name, lineterm="")
    paint = Paint(colourful(sys.stdout))
    return "\n".join(_painted(line, paint) for line in lines)


def _painted(line: str, paint: Paint) -> str:
    if line.startswith(("---", "+++")):
        return paint(line, "strong")
    if line.startswith("@@"):
        return paint(line, "info")
    if line.startswith("-"):
        return paint(line, "error")
    return paint(line, "good") if line.startswith("+") else line


def _replace(name: str, text: str) -> None:
    """Put a text in the place of a file: all of it or nothing, with the file's own permissions."""
    import shutil
    import tempfile

    path = os.path.realpath(name)
    try:
        descriptor, draft = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".noetl-", suffix=".tmp")
        try:
            with open(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(path, draft)
            os.replace(draft, path)
        finally:
            with suppress(FileNotFoundError):  # it is gone once it has become the file
                os.unlink(draft)
    except OSError as error:
        raise RequestError(f"cannot write '{name}': {error.strerror or error}") from error


def _tell(source: Source, migrated: "Migrated", options: MigrateOptions) -> None:
    """The notes of one file, and one line that says how it went."""
    paint = Paint(colourful(sys.stderr))
    for item in migrated.notes:
        mark = paint("look", "warning") if item.look else paint("changed", "info")
        note(f"{source.name}:{item.line}: {mark}: {item.message}" + (f"; {item.hint}" if item.hint else ""))
    if not migrated.changed:
        note(f"{paint('ok', 'good')}: {source.name}: nothing to migrate")
        return
    looks = sum(1 for item in migrated.notes if item.look)
    verb = "rewritten" if options.write else "would be rewritten"
    rest = f", {counted(looks, 'place')} to look at" if looks else ""
    how = paint("failed", "error") if options.check else paint("ok", "good")
    note(f"{how}: {source.name}: {counted(len(migrated.notes) - looks, 'place')} {verb}{rest}")

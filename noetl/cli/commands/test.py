"""`noetl test`: run the tests of playbooks, or record one. What a test says is the language's room's."""

from typing import Unpack

import click

from noetl.cli import options
from noetl.cli.terminal import emit_json, failure
from noetl.cli.testing.choices import TestChoices

EPILOG = """\b
Examples:
  noetl test                               every test of this folder
  noetl test hello.test.yaml --only retry  the tests of a file whose name has "retry"
  noetl test --record hello.yaml           run it for real, and make hello.test.yaml of it
  noetl test --record hello.test.yaml      record the outputs of its tests again

\b
Exit codes: 0 every test passed, 1 one failed or is not valid, 2 a file cannot be read or wrong usage.
"""


@click.command("test", epilog=EPILOG)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("--record", is_flag=True, help="Run for real, and write what its tools answer into the test.")
@click.option("--only", metavar="TEXT", help="Only tests whose name has this text.")
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE",
    help="With --record: set a workload key; typed as YAML, dotted.",
)  # fmt: skip
@click.option(
    "--input",
    "input_file",
    metavar="FILE|-",
    type=click.Path(),
    help="With --record: workload values from a file.",
)
@options.as_json
@click.option("-q", "--quiet", is_flag=True, help="Only what failed, and no coverage.")
def command(paths: tuple[str, ...], record: bool, **choices: Unpack[TestChoices]) -> int:
    """Run the tests of playbooks and say which arcs and rules they went through.

    PATH is a test file (*.test.yaml), a playbook whose tests stand beside it, or a folder; without one, this
    folder. A test gives the outputs of tools, so nothing outside is called and no wait is waited for; the
    engine is the one that runs playbooks.
    """
    if not record and (choices["assignments"] or choices["input_file"]):
        raise click.UsageError("--set and --input are for --record; a test has its workload in its file")
    if record:
        return _record(paths, choices)
    return _run(paths, choices)


def _run(paths: tuple[str, ...], choices: TestChoices) -> int:
    from noetl.cli.connection.embedded_engine import current_settings
    from noetl.cli.testing import files, report
    from noetl.cli.testing.outcome import Session

    progress = None if choices["as_json"] else report.Progress(quiet=choices["quiet"])
    session = Session(current_settings(), choices["only"], progress)
    for name in files.find(paths):
        session.run(name)
    if choices["only"] and session.nothing:
        raise click.UsageError(f"no test has a name with '{choices['only']}' in it")
    if choices["as_json"]:
        emit_json(report.as_object(session))
    else:
        report.closing(session, quiet=choices["quiet"])
    for problem in session.unreadable:
        failure(problem.code, problem.message, problem.hint)
    return session.code


def _record(paths: tuple[str, ...], choices: TestChoices) -> int:
    from noetl.cli.testing import recording

    if len(paths) != 1:
        raise click.UsageError("--record takes one playbook or one test file")
    code = recording.record(paths[0], choices)
    if code or not choices["as_json"]:
        return code
    return _run((recording.target_of(paths[0]),), choices)

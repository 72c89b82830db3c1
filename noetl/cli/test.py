"""`noetl test`: run the tests of playbooks, or record one. What a test says is the language's room's."""

from typing import TYPE_CHECKING, Any

import click

from noetl.cli import options

if TYPE_CHECKING:
    from noetl.cli.testing.files import CaseFile
    from noetl.cli.testing.outcome import Outcome

EPILOG = """\b
Examples:
  noetl test                              every test of this folder
  noetl test hello.test.yaml --only retry the tests of a file whose name has "retry"
  noetl test --record hello.yaml          run it for real, and make hello.test.yaml of it
  noetl test --record hello.test.yaml     record the outputs of its tests again

\b
Exit codes: 0 every test passed, 1 one failed or is not valid, 2 a file cannot be read or wrong usage.
"""


@click.command("test", epilog=EPILOG)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--record", is_flag=True, help="Run for real, and write what its tools answer into the test.")
@click.option("--only", metavar="TEXT", help="Only tests whose name has this text.")
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE",
    help="With --record: set a workload key; typed as YAML, dotted.",
)  # fmt: skip
@click.option("--input", "input_file", metavar="FILE|-", help="With --record: workload values from a file.")
@options.as_json
@click.option("-q", "--quiet", is_flag=True, help="Only what failed, and no coverage.")
def command(paths: tuple[str, ...], record: bool, **given: Any) -> int:
    """Run the tests of playbooks and say which arcs and rules they went through.

    PATH is a test file (*.test.yaml), a playbook whose tests stand beside it, or a folder; without one, this
    folder. A test gives the outputs of tools, so nothing outside is called and no wait is waited for; the
    engine is the one that runs playbooks.
    """
    if not record and (given["assignments"] or given["input_file"]):
        raise click.UsageError("--set and --input are for --record; a test has its workload in its file")
    if record:
        return _record(paths, given)
    return _run(paths, given)


def _run(paths: tuple[str, ...], given: dict[str, Any]) -> int:
    from noetl.cli import local
    from noetl.cli.closing import pretty
    from noetl.cli.render import emit, failure
    from noetl.cli.testing import files, outcome, report
    from noetl.errors import RequestError

    settings = local.settings()
    covered = outcome.Covered()
    progress = report.Progress(quiet=given["quiet"])
    outcomes: list[Outcome] = []
    unusable: list[CaseFile] = []
    unreadable: list[RequestError] = []
    for name in files.find(paths):
        try:
            file = files.load(name)
        except RequestError as error:  # the others are still worth running
            unreadable.append(error)
            continue
        if not file.ok:
            unusable.append(file)
            if not given["as_json"]:
                progress.unusable(files.shown(file))
            continue
        for case in file.suite.cases:
            if given["only"] and given["only"] not in case.name:
                continue
            outcomes.append(outcome.run(file, case, settings, covered))
            if not given["as_json"]:
                progress.ended(outcomes[-1])
    if given["only"] and not outcomes and not unusable and not unreadable:
        raise click.UsageError(f"no test has a name with '{given['only']}' in it")
    if given["as_json"]:
        emit(pretty(report.as_object(outcomes, unusable, covered)))
    else:
        if not given["quiet"]:
            report.coverage(covered)
        report.summary(outcomes, len(unusable) + len(unreadable))
    for error in unreadable:
        failure(error.code, error.message, error.hint)
    if unreadable:
        return 2
    return 1 if unusable or any(not one.passed for one in outcomes) else 0


def _record(paths: tuple[str, ...], given: dict[str, Any]) -> int:
    from noetl.cli.testing import recording

    if len(paths) != 1:
        raise click.UsageError("--record takes one playbook or one test file")
    return recording.record(paths[0], given)

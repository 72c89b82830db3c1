"""`noetl validate`: check playbooks and print every finding. The checking itself is the language's."""

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from noetl.cli.playbooks import sources
from noetl.cli.terminal import Paint, colourful, emit, failure, note
from noetl.errors import RequestError

if TYPE_CHECKING:
    from noetl.cli.playbooks.validation import CheckResult

FORMATS = ("text", "json", "sarif", "github")
PROGRESS_FROM = 20  # files; fewer are checked before a bar could be read

EPILOG = """\b
Examples:
  noetl validate hello.yaml
  noetl validate playbooks/ 'more/**/*.yaml' --strict
  cat hello.yaml | noetl validate -
  noetl validate playbooks/ --format sarif > noetl.sarif

\b
Exit codes: 0 no errors, 1 errors found, 2 a file cannot be read or the command line is wrong.
"""


@click.command("validate", epilog=EPILOG)
@click.argument("playbooks", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("--strict", is_flag=True, help="Treat older spellings as errors instead of warnings.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format."
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary on stderr.")
def command(playbooks: tuple[str, ...], strict: bool, form: str, quiet: bool) -> int:
    """Check playbooks: say what is wrong, where, and how to fix it.

    FILE is a file, a folder (searched for playbooks), a glob pattern, or - for standard input. Findings go to
    stdout, progress and the summary to stderr.
    """
    names = sources.find(playbooks)
    with _progress(names, quiet) as step:
        results, unreadable = _check_all(names, strict, step)
    text = _render(results, form)
    if text:
        emit(text)
    if not quiet and form == "text":
        _summary(results)
    for error in unreadable:
        failure(error.code, error.message, error.hint)
    return 2 if unreadable else 0 if all(result.valid for result in results) else 1


def _check_all(
    names: Sequence[str], strict: bool, step: Callable[[], None]
) -> tuple[list["CheckResult"], list[RequestError]]:
    from noetl.cli.playbooks.validation import check
    from noetl.cli.testing.files import check_file

    results: list[CheckResult] = []
    unreadable: list[RequestError] = []
    for name in names:
        try:
            results.append(
                check_file(name) if sources.is_test(name) else check(sources.read(name), strict=strict)
            )
        except RequestError as error:  # the others are still worth checking
            unreadable.append(error)
        step()
    return results, unreadable


@contextmanager
def _progress(names: Sequence[str], quiet: bool) -> Iterator[Callable[[], None]]:
    if quiet or len(names) < PROGRESS_FROM or not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=len(names), label="checking", file=sys.stderr, show_pos=True) as bar:
        yield lambda: bar.update(1)


def _render(results: Sequence["CheckResult"], form: str) -> str:
    if form == "text":
        from noetl.cli.formats.text import findings_text

        return findings_text(results, Paint(colourful(sys.stdout)))
    text: str = importlib.import_module(f"noetl.cli.formats.{form}").render(results)
    return text


def _summary(results: Sequence["CheckResult"]) -> None:
    from noetl.cli.formats.text import summary_line

    if results:
        on_one_screen = sys.stdout.isatty() and any(result.diagnostics for result in results)
        gap = "\n" if on_one_screen else ""
        note(gap + summary_line(results, Paint(colourful(sys.stderr))))

"""`noetl doctor`: everything a command may need, by name: whether it is there, and what to do about it."""

import asyncio
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

import click

from noetl.cli import options
from noetl.cli.terminal import Paint, Tone, colourful, emit

if TYPE_CHECKING:
    from noetl.cli.doctor_checks import Finding

EXIT_NEEDED = 3
TONES: dict[str, Tone] = {"ok": "good", "warning": "warning", "error": "error", "unused": "faint"}

EPILOG = """\b
Exit codes: 0 everything that is needed is there, 3 something is not.
"""


@click.command("doctor", epilog=EPILOG)
@options.server_told("Look at this server: its address, or the name of a context.")
@options.as_json
def command(as_json: bool) -> int:
    """Check every connection and setting by name: what is in force, where it comes from, what is wrong."""
    from noetl import __version__
    from noetl.cli.connection import embedded_engine
    from noetl.cli.doctor_checks import effective, examined
    from noetl.cli.running.run_summary import pretty

    settings = embedded_engine.settings()
    found = asyncio.run(examined(settings))
    if as_json:
        checks = [dataclasses.asdict(one) for one in found]
        shown = {"version": __version__, "project": str(settings.project), "checks": checks}
        emit(pretty({**shown, "settings": effective(settings)}))
    else:
        _tell(found, effective(settings))
    return EXIT_NEEDED if any(one.state == "error" for one in found) else 0


def _tell(found: "list[Finding]", settings: list[dict[str, Any]]) -> None:
    paint = Paint(colourful(sys.stdout))
    width = max(len(one.name) for one in found)
    for one in found:
        emit(f"{paint(f'{one.state:<7}', TONES[one.state])}  {one.name:<{width}}  {one.told}")
        if one.hint is not None and one.state != "ok":
            emit(f"{'':<{width + 9}}  {paint('=', 'info')} {one.hint}")
    emit("")
    width = max(len(one["name"]) for one in settings)
    for setting in settings:
        value = "unset" if setting["value"] is None else setting["value"]
        emit(f"{setting['name']:<{width}}  {value}  {paint('(' + setting['origin'] + ')', 'faint')}")

"""`noetl doctor`: everything a command may need, by name: whether it is there, and what to do about it."""

import dataclasses
import sys
from typing import TYPE_CHECKING

import click

from noetl import __version__
from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import Paint, Tone, colourful, emit, emit_json, width_of

if TYPE_CHECKING:
    from noetl.cli.doctor_checks import Finding, SettingFields

EXIT_NEEDED = 3
TONES: dict[str, Tone] = {"ok": "good", "warning": "warning", "error": "error", "unused": "faint"}

EPILOG = """\b
Exit codes: 0 everything that is needed is there, 3 something is not.
"""


@click.command("doctor", cls=Command, epilog=EPILOG)
@options.server_option("Look at this server: its address, or the name of a context.")
@options.as_json
async def command(as_json: bool) -> int:
    """Check every connection and setting by name: what is in force, where it comes from, what is wrong."""
    from noetl.cli.connection.embedded_engine import current_settings
    from noetl.cli.doctor_checks import effective, run_checks

    settings = current_settings()
    findings = await run_checks(settings)
    if as_json:
        checks = [dataclasses.asdict(item) for item in findings]
        report = {"version": __version__, "project": str(settings.project), "checks": checks}
        emit_json({**report, "settings": effective(settings)})
    else:
        _tell(findings, effective(settings))
    return EXIT_NEEDED if any(item.state == "error" for item in findings) else 0


def _tell(findings: "list[Finding]", settings: "list[SettingFields]") -> None:
    paint = Paint(colourful(sys.stdout))
    width = width_of(item.name for item in findings)
    for item in findings:
        emit(f"{paint(f'{item.state:<7}', TONES[item.state])}  {item.name:<{width}}  {item.told}")
        if item.hint is not None and item.state != "ok":
            emit(f"{'':<{width + 9}}  {paint('=', 'info')} {item.hint}")
    emit("")
    width = width_of(item["name"] for item in settings)
    for setting in settings:
        value = "unset" if setting["value"] is None else setting["value"]
        emit(f"{setting['name']:<{width}}  {value}  {paint('(' + setting['origin'] + ')', 'faint')}")

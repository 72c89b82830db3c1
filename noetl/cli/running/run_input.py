"""What a run is given: `--input FILE|-` first, then every `--set key=value` over it."""

import sys
from pathlib import Path

import click

from noetl.errors import RequestError
from noetl.json_value import Json


def read_payload(file: str | None, assignments: tuple[str, ...]) -> dict[str, Json]:
    payload = _from_file(file) if file else {}
    for assignment in assignments:
        _assign(payload, assignment)
    return payload


def _from_file(name: str) -> dict[str, Json]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
    except OSError as error:
        raise click.UsageError(f"cannot read the input '{name}': {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise click.UsageError(f"cannot read the input '{name}': it is not UTF-8 text") from None
    value = read_value(text, f"the input '{name}'")
    if value is None:
        return {}
    if not isinstance(value, dict):
        message = f"the input '{name}' is not a mapping but {type(value).__name__}"
        raise RequestError(message, hint='write the keys of the workload, as in {"name": "Ann"}')
    return value


def _assign(payload: dict[str, Json], assignment: str) -> None:
    key, separator, text = assignment.partition("=")
    if not separator or not key or any(not part for part in key.split(".")):
        raise click.UsageError(f"--set takes key=value, not '{assignment}'")
    *outer, last = key.split(".")
    place = payload
    for part in outer:
        below = place.setdefault(part, {})
        if not isinstance(below, dict):
            raise click.UsageError(f"--set {key}: '{part}' already has the value {below!r}")
        place = below
    place[last] = read_value(text, f"--set {key}") if text else ""


def read_value(text: str, what: str) -> Json:
    """A value as YAML types it; what is no YAML value stands for itself when it is one line of text."""
    from noetl.dsl.yaml.source import parse
    from noetl.dsl.yaml.tree import plain

    if not text.strip():
        return None
    parsed = parse(text)
    errors = [finding for finding in parsed.diagnostics if finding.severity == "error"]
    if not errors:
        value: Json = plain(parsed.tree)
        return value
    if what.startswith("--") and "\n" not in text and text[:1] not in "[{":
        return text
    finding = errors[0]
    raise RequestError(f"{what}, line {finding.line}: {finding.message}", hint=finding.hint)

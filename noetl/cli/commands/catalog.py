"""`noetl catalog`: the registered playbooks, by path and version."""

import difflib
from collections.abc import Sequence

import click

from noetl.cli import completers, options
from noetl.cli.command_classes import Group
from noetl.cli.commands import register
from noetl.cli.terminal import counted, emit, emit_json, emit_list, note
from noetl.core.event import iso
from noetl.errors import NotFound
from noetl.ports.front import Front
from noetl.ports.store import PlaybookText


@click.group("catalog", cls=Group)
def command() -> None:
    """Register, list, show, compare and delete playbooks by path and version.

    A run registers its playbook too. A playbook that is named by its path is read from its file while that is
    there, and registered again when it has changed; a server knows no files of yours.
    """


command.add_command(register.command)


@command.command("list")
@click.argument("path", required=False, shell_complete=completers.playbooks)
@options.server
@options.as_json
async def list_playbooks(path: str | None, as_json: bool) -> None:
    """List the newest version of every playbook, or every version of PATH."""
    empty = "the catalog is empty; register a playbook with: noetl register FILE"
    emit_list(await _entries(path), _line, fields=_entry_fields, empty=empty, as_json=as_json)


def _line(entry: PlaybookText) -> str:
    moment = iso(entry.registered_at)[:19]
    return f"{entry.path} v{entry.version}  {moment}  {entry.file or ''}".rstrip()


def _entry_fields(entry: PlaybookText) -> dict[str, object]:
    identity = {"path": entry.path, "version": entry.version, "hash": entry.hash}
    details = {"description": entry.description, "labels": entry.labels, "file": entry.file}
    return {**identity, **details, "registered_at": iso(entry.registered_at)}


async def _entries(path: str | None) -> Sequence[PlaybookText]:
    from noetl.cli.connection.connection import call_front, list_from_front

    async def read(front: Front) -> Sequence[PlaybookText]:
        entries = await front.playbooks(path)
        if path is not None and not entries:
            await front.playbook(path)  # says that there is none, and which one is near
        return entries

    if path is None:
        return await list_from_front(read)
    return await call_front(read, _unknown_path(path))


def _unknown_path(path: str) -> NotFound:
    return NotFound(
        f"there is no playbook with the path '{path}'", hint=f"noetl catalog list{options.server_flag()}"
    )


@command.command("show")
@click.argument("path", shell_complete=completers.playbooks)
@click.option(
    "--version", type=click.IntRange(min=1), metavar="N", help="This version instead of the newest."
)
@options.server
@options.as_json
async def show(path: str, version: int | None, as_json: bool) -> None:
    """Print the text of a registered playbook."""
    (entry,) = await _texts(path, version)
    if as_json:
        emit_json({**_entry_fields(entry), "text": entry.text})
    else:
        emit(entry.text.removesuffix("\n"))


async def _texts(path: str, *versions: int | None) -> list[PlaybookText]:
    """Versions of a playbook with their texts; None is the newest."""
    from noetl.cli.connection.connection import call_front

    async def read(front: Front) -> list[PlaybookText]:
        return [await front.playbook(path, version) for version in versions]

    return await call_front(read, _unknown_path(path))


@command.command("diff")
@click.argument("path", shell_complete=completers.playbooks)
@click.argument("first", type=click.IntRange(min=1), required=False, metavar="[A]")
@click.argument("second", type=click.IntRange(min=1), required=False, metavar="[B]")
@options.server
@options.as_json
async def diff(path: str, first: int | None, second: int | None, as_json: bool) -> None:
    """Compare two versions of a playbook: A with B, A with the newest, or the newest with the one before."""
    if first is None:
        entries = await _entries(path)
        if len(entries) < 2:
            raise NotFound(
                f"'{path}' has only one version", hint=f"noetl catalog show {path}{options.server_flag()}"
            )
        first = entries[1].version
    older, newer = await _texts(path, first, second)
    lines = _diff_lines(older, newer)
    if as_json:
        sides = {"path": path, "a": older.version, "b": newer.version, "same": older.text == newer.text}
        emit_json({**sides, "diff": lines})
        return
    for line in lines:
        emit(line)
    if older.text == newer.text:
        note("no difference")


def _diff_lines(older: PlaybookText, newer: PlaybookText) -> list[str]:
    """The lines of a unified diff."""
    before, after = (f"{entry.path} v{entry.version}" for entry in (older, newer))
    texts = older.text.splitlines(), newer.text.splitlines()
    return list(difflib.unified_diff(*texts, before, after, lineterm=""))


@command.command("delete")
@click.argument("path", shell_complete=completers.playbooks)
@click.option("--version", type=click.IntRange(min=1), metavar="N", help="Only this version.")
@options.server
async def delete(path: str, version: int | None) -> None:
    """Take a playbook off the catalog; executions that ran it keep its text, its file stays."""
    from noetl.cli.connection.connection import call_front

    count = await call_front(lambda front: front.delete_playbook(path, version), _unknown_path(path))
    note(f"deleted {path}: {counted(count, 'version')}")

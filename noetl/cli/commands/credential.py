"""`noetl credential`: secrets that playbooks use by name. Values go in; none comes out."""

import asyncio
import re
import sys

import click

from noetl.cli import completers, options
from noetl.cli.command_classes import Group
from noetl.cli.terminal import counted, emit, emit_json, emit_list, note, width_of
from noetl.errors import Conflict
from noetl.json_value import Json

NAME = re.compile(r"[A-Za-z_][\w.-]*")


@click.group("credential", cls=Group)
def command() -> None:
    """Store secrets that playbooks use by name, sealed with AES-256-GCM. No command prints a value.

    A playbook uses one as `auth: NAME`, or declares it first:
    keychain: [{name: pg, kind: credential, credential: NAME}].
    """


@command.command("set")
@click.argument("name", shell_complete=completers.credentials)
@click.option(
    "--field", "fields", multiple=True, metavar="KEY=VALUE", help="A field, as in user=app; repeatable."
)
@click.option("--value", metavar="TEXT|-", help="The one secret value; `-` reads it from standard input.")
@click.option("--input", "file", metavar="FILE|-", type=click.Path(), help="Fields from a JSON or YAML file.")
@options.server
async def set_credential(name: str, fields: tuple[str, ...], value: str | None, file: str | None) -> None:
    """Store a credential; one that has the name is replaced.

    What stands on a command line can be seen by others: prefer `--value -` or `--input -`.
    """
    if not NAME.fullmatch(name):
        raise click.UsageError(f"'{name}' is no name for a credential: use letters, digits, _ . and -")
    from noetl.cli.connection.connection import connect
    from noetl.control.credential_spelling import current_fields

    material = current_fields(_material(fields, value, file))
    async with connect(make=True) as connection:
        await connection.front.put_credential(name, material)
    note(f"stored {name}: {', '.join(material)}")


def _material(fields: tuple[str, ...], value: str | None, file: str | None) -> dict[str, Json]:
    from noetl.cli.running.run_input import read_payload

    if value == "-" and file == "-":
        raise click.UsageError("only one of --value and --input can read standard input")
    material = read_payload(file, ())
    for field in fields:
        key, separator, text = field.partition("=")
        if not separator or not key:
            raise click.UsageError("--field takes KEY=VALUE")
        material[key] = text
    if value is not None:
        material["value"] = sys.stdin.read().removesuffix("\n") if value == "-" else value
        if not material["value"]:
            raise click.UsageError("the value is empty")
    if not material:
        raise click.UsageError("give --value -, --field KEY=VALUE or --input FILE")
    return material


@command.command("list")
@options.server
@options.as_json
async def list_credentials(as_json: bool) -> None:
    """List the names of credentials and when each was set."""
    from noetl.cli.connection.connection import list_from_front
    from noetl.core.event import iso

    credentials = await list_from_front(lambda front: front.credentials())
    rows = [{"name": name, "set_at": iso(moment)} for name, moment in credentials]
    width = width_of(row["name"] for row in rows)
    empty = "no credentials; store one with: noetl credential set NAME --value -"

    def line(row: dict[str, str]) -> str:
        return f"{row['name']:<{width}}  set {row['set_at'][:19]}"

    emit_list(rows, line, fields=dict, empty=empty, as_json=as_json)


@command.command("show")
@click.argument("name", shell_complete=completers.credentials)
@options.server
@options.as_json
async def show(name: str, as_json: bool) -> None:
    """Show which fields a credential has and when it was set; never their values."""
    from noetl.cli.connection.connection import call_front

    fields = await call_front(lambda front: front.credential(name))
    if as_json:
        emit_json(fields)
    else:
        emit(f"{name}  set {fields['set_at'][:19]}\nfields: {', '.join(fields['fields'])}")


@command.command("delete")
@click.argument("name", shell_complete=completers.credentials)
@options.server
async def delete(name: str) -> None:
    """Forget a credential."""
    from noetl.cli.connection.connection import call_front

    await call_front(lambda front: front.delete_credential(name))
    note(f"deleted {name}")


@command.command("rotate-key")
@options.server
async def rotate_key() -> None:
    """Make a new key and seal every credential of this project with it.

    The older key stays in the key file, since credentials of other projects may be sealed with it. A key that
    is given as NOETL_KEY is changed by you: set NOETL_KEY=NEW,OLD, run this, then set NOETL_KEY=NEW. A server
    is told to seal with the newest of the keys that it was started with.
    """
    note(f"sealed {counted(await _rotate(), 'credential')} with the new key")


async def _rotate() -> int:
    from noetl.adapters.secrets.sealed_credentials import add_key
    from noetl.cli.connection.connection import connect, connect_server
    from noetl.cli.connection.embedded_engine import current_settings

    settings = current_settings()
    if settings.server is not None:  # its key is its operator's; here it is only told to use the newest
        async with connect_server(settings) as target:
            return await target.front.seal_again()
    if settings.key is not None and "," not in settings.key:
        raise Conflict(
            f"the key comes from {settings.origins['key']}, which noetl cannot change",
            hint="set NOETL_KEY=NEW,OLD (openssl rand -base64 32 makes one), then run this again",
        )
    if settings.key is None:
        await asyncio.to_thread(add_key, settings.home / "key")
    async with connect(settings) as source:
        return await source.front.seal_again()

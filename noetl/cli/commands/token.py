"""`noetl token`: bearer tokens of a server. A token is shown once, when it is made."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from noetl.cli import options
from noetl.cli.command_classes import Group
from noetl.cli.commands.db import Span
from noetl.cli.connection.caller import caller
from noetl.cli.terminal import emit, emit_json, emit_list, note, width_of
from noetl.ports.bearer import SCOPES, Scope, token_facts

if TYPE_CHECKING:
    from noetl.ports.front import Tokens
    from noetl.ports.store import AccessToken

EPILOG = """\b
Examples:
  noetl token create ci --scope run --prefix team/ --expires 30d
  noetl token create me --scope admin
  noetl token create gpu-workers --scope worker --pool gpu
  noetl token list
  noetl token delete 3f9c2b7a51e04d68

Without --server these are the tokens of the store of this project, as on the machine of a server.
"""


@click.group("token", cls=Group, epilog=EPILOG)
def command() -> None:
    """Bearer tokens that a server lets in: scoped, limited to paths, expiring. Only digests are kept."""


@command.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    default=("read",),
    show_default=True,
    help="What it allows; repeatable. run and write bring read, admin brings all but worker.",
)
@click.option("--prefix", "prefixes", multiple=True, metavar="PATH", help="Only playbooks below; repeatable.")
@click.option(
    "--pool",
    "pools",
    multiple=True,
    metavar="NAME",
    help="With --scope worker: a pool its workers may serve, * for all; repeatable.  [default: default]",
)
@click.option("--expires", type=Span(), metavar="SPAN", help="For how long, as in 30d.  [default: no end]")
@options.server
@options.as_json
async def create(
    name: str,
    scopes: tuple[Scope, ...],
    prefixes: tuple[str, ...],
    pools: tuple[str, ...],
    expires: int | None,
    as_json: bool,
) -> None:
    """Make a token for NAME and print it. It cannot be shown again."""
    from noetl.ports.front import TokenAsk

    ask = TokenAsk(
        by=caller(),
        name=name,
        scopes=[*scopes],
        prefixes=[*prefixes],
        pools=[*pools],
        expires_ms=expires,
    )
    async with _tokens() as tokens:
        new_token = await tokens.new_token(ask)
    if as_json:
        emit_json({**token_facts(new_token.token), "token": new_token.bearer})
        return
    emit(new_token.bearer)
    note(f"token {new_token.token.id} for '{name}': {_words(new_token.token)}; it is not shown again")


@command.command("list")
@options.server
@options.as_json
async def list_tokens(as_json: bool) -> None:
    """List tokens: who each is for, what it allows, and until when."""
    async with _tokens() as source:
        tokens = await source.tokens()
    width = width_of(token.name for token in tokens)
    emit_list(
        tokens,
        lambda token: f"{token.id}  {token.name:<{width}}  {_words(token)}",
        fields=token_facts,
        empty="no tokens; make one with: noetl token create NAME --scope run",
        as_json=as_json,
    )


@command.command("delete")
@click.argument("token_id", metavar="ID")
@options.server
async def delete(token_id: str) -> None:
    """Let a token be good for nothing; servers notice within seconds."""
    async with _tokens() as tokens:
        await tokens.delete_token(token_id)
    note(f"deleted {token_id}")


def _words(token: "AccessToken") -> str:
    from noetl.core.event import iso

    where = f" below {', '.join(token.prefixes)}" if token.prefixes else ""
    where += f" for the pools {', '.join(token.pools)}" if token.pools else ""
    if token.expires_at is None:
        until = "no end"
    elif token.expires_at <= time.time() * 1000:
        until = f"expired {iso(token.expires_at)[:10]}"
    else:
        until = f"until {iso(token.expires_at)[:10]}"
    return f"{', '.join(token.scopes)}{where}, {until}"


@asynccontextmanager
async def _tokens() -> "AsyncIterator[Tokens]":
    """The tokens of the server that is named, else those of the store of this project."""
    from noetl.adapters.clock.wall import now_ms
    from noetl.adapters.http.front import HttpFront
    from noetl.cli.connection.embedded_engine import current_settings
    from noetl.control.tokens import TokenBook
    from noetl.wiring.distributed import opened_store

    settings = current_settings()
    if settings.server is None:
        async with opened_store(settings) as store:
            yield TokenBook(store, now_ms)
        return
    front = HttpFront(settings.server, settings.token)
    try:
        yield front
    finally:
        await front.close()

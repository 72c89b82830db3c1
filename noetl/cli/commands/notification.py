"""`noetl notification`: who is told what becomes of executions. No secret is shown here."""

from typing import TYPE_CHECKING

import click

from noetl.cli import completers, options
from noetl.cli.command_classes import Group
from noetl.cli.connection.caller import caller
from noetl.cli.terminal import counted, emit, emit_json, emit_list, note, width_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noetl.ports.notification import Delivery, Notification

SHOWN = 10
NOTHING = "none"
EXIT_NOT_DELIVERED = 1

EPILOG = """\b
Examples:
  noetl credential set ops-slack --field url=-
  noetl notification add ops --on failed,stuck --path 'etl/*' --to slack --auth ops-slack
  noetl notification add audit --on completed,failed --to webhook:https://example.com/told --auth signing
  noetl notification add mail --on failed,late --to mail:ops@example.com --auth smtp
  noetl notification add repair --on failed --path 'etl/*' --to playbook:ops/repair
  noetl notification test ops
  noetl notification deliveries --failed

What is told: failed, stuck, completed, waiting, late. Servers send it, and noetl run when it runs alone.
"""

on_option = click.option(
    "--on",
    "occasions",
    metavar="LIST",
    help="What is told: failed, stuck, completed, waiting, late; or none.  [default: failed,stuck]",
)
path_option = click.option(
    "--path", metavar="PATTERN", help="Of which playbooks: * is any characters, ? one.  [default: *]"
)
to_option = click.option(
    "--to",
    "target",
    metavar="TARGET",
    help="webhook:URL, webhook, slack, teams, mail:ADDRESS,…, or playbook:PATH.",
)
auth_option = click.option("--auth", metavar="CREDENTIAL", help="The credential with the address or secret.")


@click.group("notification", cls=Group, epilog=EPILOG)
def command() -> None:
    """Tell people and programs when executions fail, end, wait, are stuck or late."""


def _occasions(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [] if text == NOTHING else [each.strip() for each in text.split(",") if each.strip()]


@command.command("add")
@click.argument("name")
@on_option
@path_option
@to_option
@auth_option
@click.option("--children", is_flag=True, help="Also of executions that other executions started.")
@options.server
@options.as_json
async def add(
    name: str,
    *,
    as_json: bool,
    occasions: str | None,
    path: str | None,
    target: str | None,
    auth: str | None,
    children: bool,
) -> None:
    """Tell TARGET what becomes of the executions of some playbooks."""
    from noetl.cli.connection.connection import connect
    from noetl.ports.notification import NotificationAsk

    if target is None:
        raise click.UsageError("say who is told, as in: --to mail:ops@example.com --auth smtp")
    given = {"occasions": _occasions(occasions), "path": path, "auth": auth}
    fields = {field: value for field, value in given.items() if value is not None}
    ask = NotificationAsk(by=caller(), name=name, target=target, children=children, **fields)  # type: ignore[arg-type]
    async with connect(make=True) as connection:
        notification = await connection.front.put_notification(ask, new=True)
    _tell(notification, as_json=as_json)
    if not as_json:
        note(f"try it: noetl notification test {name}{options.server_flag()}")


@command.command("edit")
@click.argument("name", shell_complete=completers.notifications)
@on_option
@path_option
@to_option
@auth_option
@click.option("--children/--no-children", default=None, help="Also of executions that others started.")
@click.option("--pause/--resume", "paused", default=None, help="Tell nothing for now, or go on.")
@options.server
@options.as_json
async def edit(
    name: str,
    *,
    as_json: bool,
    occasions: str | None,
    path: str | None,
    target: str | None,
    auth: str | None,
    children: bool | None,
    paused: bool | None,
) -> None:
    """Change a notification in place: what is not given stays."""
    given: dict[str, object] = {
        "occasions": _occasions(occasions),
        "path": path,
        "target": target,
        "auth": auth,
        "children": children,
        "enabled": None if paused is None else not paused,
    }
    changes = {field: value for field, value in given.items() if value is not None}
    if not changes:
        raise click.UsageError("say what is to change, as in: --on failed,late")
    if target is not None and target.startswith("playbook:"):
        changes["auth"] = auth
    _tell(await _change(name, changes), as_json=as_json)


async def _change(name: str, changes: "Mapping[str, object]") -> "Notification":
    import msgspec

    from noetl.cli.connection.connection import connect
    from noetl.ports.notification import NotificationAsk

    async with connect() as connection:
        current = msgspec.structs.asdict(await connection.front.notification(name))
        request = {field: current[field] for field in NotificationAsk.__struct_fields__}
        ask = NotificationAsk(**{**request, **changes, "by": caller()})
        return await connection.front.put_notification(ask)


def _tell(notification: "Notification", *, as_json: bool) -> None:
    from noetl.ports.notification import notification_facts

    if as_json:
        emit_json(notification_facts(notification))
    else:
        note(f"notification {notification.name}: {_words(notification)}")


def _words(notification: "Notification") -> str:
    what = ", ".join(notification.occasions) or "only what steps name it for"
    auth = f" ({notification.auth})" if notification.auth is not None else ""
    paused = "" if notification.enabled else ", paused"
    return f"{what} of {notification.path} to {notification.target}{auth}{paused}"


@command.command("list")
@options.server
@options.as_json
async def list_notifications(as_json: bool) -> None:
    """List notifications: what is told of which playbooks, and to whom."""
    from noetl.cli.connection.connection import list_from_front
    from noetl.ports.notification import notification_facts

    notifications = await list_from_front(lambda front: front.notifications())
    width = width_of(notification.name for notification in notifications)
    empty = "no notifications; make one with: noetl notification add NAME --to TARGET"
    emit_list(
        notifications,
        lambda notification: f"{notification.name:<{width}}  {_words(notification)}",
        fields=notification_facts,
        empty=empty,
        as_json=as_json,
    )


@command.command("show")
@click.argument("name", shell_complete=completers.notifications)
@options.server
@options.as_json
async def show(name: str, as_json: bool) -> None:
    """Show a notification and its newest deliveries."""
    from noetl.cli.connection.connection import connect
    from noetl.ports.notification import FindDeliveries, delivery_facts, notification_facts

    async with connect() as connection:
        notification = await connection.front.notification(name)
        told = await connection.front.deliveries(FindDeliveries(notification=name, limit=SHOWN))
    if as_json:
        facts = [delivery_facts(delivery) for delivery in told]
        emit_json({**notification_facts(notification), "deliveries": facts})
        return
    emit(f"{notification.name}: {_words(notification)}")
    emit(f"made by {notification.by}" + ("; also of children" if notification.children else ""))
    for delivery in told:
        emit(_delivery_line(delivery))
    if not told:
        emit("nothing was told yet")


@command.command("remove")
@click.argument("name", shell_complete=completers.notifications)
@options.server
async def remove(name: str) -> None:
    """Forget a notification, what it was to tell, and what it told."""
    from noetl.cli.connection.connection import call_front

    await call_front(lambda front: front.delete_notification(name))
    note(f"removed {name}")


@command.command("test")
@click.argument("name", shell_complete=completers.notifications)
@options.server
@options.as_json
async def test(name: str, as_json: bool) -> int:
    """Tell a sample now, and say what was answered."""
    from noetl.cli.connection.connection import call_front

    return _say_how(await call_front(lambda front: front.send_sample(name)), as_json=as_json)


@command.command("deliveries")
@click.argument("name", required=False, shell_complete=completers.notifications)
@click.option("--failed", is_flag=True, help="Only those that were given up.")
@click.option("--pending", is_flag=True, help="Only those that have not arrived yet.")
@click.option("--execution", "execution", metavar="ID", help="Only those of one execution.")
@click.option(
    "--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="The newest so many."
)
@options.server
@options.as_json
async def deliveries(
    name: str | None, *, failed: bool, pending: bool, execution: str | None, limit: int, as_json: bool
) -> None:
    """List what was told, or is to be, the newest first, with what was answered."""
    from noetl.cli.connection.connection import call_front, find_execution, has_data
    from noetl.cli.connection.embedded_engine import current_settings
    from noetl.ports.front import Front
    from noetl.ports.notification import FindDeliveries, delivery_facts

    if failed and pending:
        raise click.UsageError("give one of --failed and --pending")
    state = "failed" if failed else "pending" if pending else None
    find = FindDeliveries(notification=name, state=state, limit=limit)

    async def ask(front: Front) -> "list[Delivery]":
        if execution is not None:
            find.execution_id = await find_execution(front, execution)
        return list(await front.deliveries(find))

    told = await call_front(ask) if has_data(current_settings()) else []
    emit_list(
        told, _delivery_line, fields=delivery_facts, empty="nothing was told that fits this", as_json=as_json
    )


@command.command("redeliver")
@click.argument("numbers", metavar="NUMBER...", type=click.IntRange(1), nargs=-1)
@click.option("--failed", metavar="NAME", help="All that this notification gave up.")
@options.server
@options.as_json
async def redeliver(numbers: tuple[int, ...], failed: str | None, as_json: bool) -> int:
    """Tell something again now: deliveries by their NUMBER. Each keeps its key: a repeat can be told."""
    from noetl.cli.connection.connection import connect
    from noetl.ports.notification import FindDeliveries

    if bool(numbers) == (failed is not None):
        raise click.UsageError("give the numbers of deliveries, or --failed NAME")
    code = 0
    async with connect() as connection:
        if failed is not None:
            find = FindDeliveries(notification=failed, state="failed", limit=500)
            numbers = tuple(delivery.id for delivery in await connection.front.deliveries(find))
        for number in numbers:
            code = max(code, _say_how(await connection.front.redeliver(number), as_json=as_json))
    if not numbers:
        note("nothing was given up")
    elif len(numbers) > 1:
        note(f"told {counted(len(numbers), 'delivery')} again")
    return code


def _say_how(delivery: "Delivery", *, as_json: bool) -> int:
    """Say how an attempt went; the exit code."""
    from noetl.ports.notification import delivery_facts

    if as_json:
        emit_json(delivery_facts(delivery))
    else:
        emit(_delivery_line(delivery))
    return 0 if delivery.state == "delivered" else EXIT_NOT_DELIVERED


def _delivery_line(delivery: "Delivery") -> str:
    from noetl.core.event import iso

    moment = iso(delivery.at)[:19].replace("T", " ")
    answer = f" {delivery.code}" if delivery.code is not None else ""
    tried = f" after {counted(delivery.attempts, 'attempt')}" if delivery.attempts > 1 else ""
    next_at = (
        f", next {iso(delivery.next_at)[11:19]}" if delivery.state == "pending" and delivery.next_at else ""
    )
    error = f": {delivery.error}" if delivery.error is not None else ""
    about = delivery.execution_id or ("sample" if delivery.occasion == "sample" else "no execution")
    said = f"{delivery.state}{answer}{tried}{next_at}{error}"
    columns = (delivery.id, moment, delivery.notification, delivery.occasion, delivery.path, about, said)
    return "  ".join(map(str, columns))

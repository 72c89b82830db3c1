"""What `edit` does to what starts a playbook by itself: what is not given stays."""

from typing import TYPE_CHECKING, TypeVar

import click

from noetl.cli import options
from noetl.cli.connection.caller import caller

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noetl.ports.schedule import Schedule, ScheduleAsk, Trigger, TriggerAsk

    AnyAsk = TypeVar("AnyAsk", ScheduleAsk, TriggerAsk)


def changes_of(
    given: "Mapping[str, object]", start: options.WorkloadChoices, *, example: str
) -> dict[str, object]:
    """What a command line changes; another playbook is not held to the version of the one before it."""
    changes = {field: value for field, value in given.items() if value is not None}
    if start["version"] is not None or "path" in changes:
        changes["version"] = start["version"]
    if start["file"] is not None or start["assignments"]:
        changes["workload"] = options.playbook_start(str(given["path"] or ""), start)["workload"]
    if not changes:
        raise click.UsageError(f"say what is to change, as in: {example}")
    return changes


def changed(ask: "type[AnyAsk]", current: "Schedule | Trigger", changes: "Mapping[str, object]") -> "AnyAsk":
    """All that is asked for of what there is, with some of it changed."""
    as_it_is = {field: getattr(current, field) for field in ask.__struct_fields__}
    return ask(**{**as_it_is, **changes, "by": caller()})

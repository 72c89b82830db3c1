"""What is kept under a name, for a path: schedules, triggers, notifications. Who may take whose place."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar


class Named(Protocol):
    """A schedule, a trigger or a notification."""

    name: str
    path: str


NamedT = TypeVar("NamedT", bound=Named)


async def put_named(
    put: Callable[..., Awaitable[bool]],
    find: Callable[[str], Awaitable[NamedT]],
    item: NamedT,
    existing: NamedT | None,
    *,
    new: bool,
) -> bool:
    """Keep something under its name in the place of what was there when whoever asks was let do so.

    False when it is to be new, or was made by another since, for another path.
    """
    if await put(item, new=new or existing is None):
        return True
    return not new and (await find(item.name)).path == item.path and await put(item)

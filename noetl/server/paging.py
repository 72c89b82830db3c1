"""Lists in pages: each answer says where the next page begins. Nothing here knows what is listed."""

from collections.abc import Callable, Iterable
from typing import Annotated, TypeVar

from fastapi import Query

T = TypeVar("T")
MOST = 500
Cursor = Annotated[str | None, Query(max_length=512, description="Where the page before ended")]
Limit = Annotated[int, Query(ge=1, le=MOST)]


def page(
    items: Iterable[T], place: Callable[[T], str], cursor: str | None, limit: int
) -> tuple[list[T], str | None]:
    """What comes after the cursor in order of places, and the cursor of the page after it."""
    rest = sorted((item for item in items if cursor is None or place(item) > cursor), key=place)
    return rest[:limit], place(rest[limit - 1]) if len(rest) > limit else None

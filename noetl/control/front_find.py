"""Which executions a reader wants: asked of the store as far as it can tell, the rest is looked through."""

from noetl.ports.front import Find
from noetl.ports.store import Listed, Store, Summary

PAGES = 50  # looked through for one answer; the next page goes on from there
PAGE = 200


async def found(store: Store, find: Find) -> Listed:
    """A page of executions, the newest first."""
    items: list[Summary] = []
    cursor = find.cursor
    for _ in range(PAGES):
        page = await store.executions(
            status=find.status,
            path=find.path,
            prefix=find.prefix,
            children=find.children,
            cursor=cursor,
            limit=min(PAGE, find.limit - len(items)),
        )
        items += [item for item in page.items if _wanted(find, item)]
        cursor = page.cursor
        past = find.since is not None and page.items and page.items[-1].requested_at < find.since
        if cursor is None or past:
            return Listed(items)
        if len(items) >= find.limit:
            break
    return Listed(items, cursor)


def _wanted(find: Find, item: Summary) -> bool:
    if find.text is not None and find.text not in item.path and not item.execution_id.startswith(find.text):
        return False
    if find.parent is not None and item.parent != find.parent:
        return False
    after = find.since is None or item.requested_at >= find.since
    return after and (find.until is None or item.requested_at < find.until)

"""A paged API: 100 pages of ten rows per endpoint."""

import asyncio
import re

from bench.mock_api import answer_of, serve

PAGES = 100
_PAGE = re.compile(rb"[?&]page=(\d+)")
ANSWERS = {more: answer_of({"rows": list(range(10)), "more": more}) for more in (True, False)}


def _answer(request: bytes) -> bytes:
    page = _PAGE.search(request)
    return ANSWERS[(int(page.group(1)) if page else 1) < PAGES]


if __name__ == "__main__":
    asyncio.run(serve(_answer))

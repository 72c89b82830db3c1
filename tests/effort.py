"""How much work a call does, counted instead of timed: the same on a busy machine and on a free one."""

import sys
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """The functions that are called while `work` runs, those written in C included."""
    count = 0

    def seen(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count

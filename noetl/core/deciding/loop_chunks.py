"""Which iterations of a distributed loop go out together, and how many of them may run at one moment.

Chunks are chosen from the items that are left and `max_in_flight` alone: deciding again gives the same ones,
and nobody needs to know how many workers there are. Large chunks come first, the last ones are as small as
their shares, so that all workers end at about the same time. What the iterations amount to is loop.py's.
"""

from noetl.core.deciding.draft import Draft
from noetl.core.deciding.loop_claims import claim_next
from noetl.core.message import Dispatch
from noetl.core.state import PENDING, RUNNING, Lease, LoopState, Run

LANES = 8  # leases among which `max_in_flight` is divided at first
LEASES_OUT = 16  # leases of a loop that take a worker's slot at one moment
ITEMS = 100  # of a chunk, unless its share is larger
SPAN = 1000  # indexes that a chunk covers when most of them are over already: a retry


def in_flight(loop: LoopState, lease: Lease) -> int:
    """How many iterations of a lease can run at one moment: never more than are left of it."""
    lo, hi = lease.lo or 0, lease.hi or 0
    return min(lease.share, loop.marks.count(PENDING, lo, hi) + loop.marks.count(RUNNING, lo, hi))


def hand_out(draft: Draft, run: Run) -> None:
    """Grant the next chunks of a distributed loop, as far as `max_in_flight` has room, and the next claim."""
    loop = run.loop
    assert loop is not None
    if draft.state.status != "running":
        return
    claim_next(draft, run)
    if loop.next >= loop.total:
        return
    own = [lease for lease in draft.state.leases.values() if lease.run == run.id and lease.claim is None]
    free = loop.limit - sum(in_flight(loop, lease) for lease in own)
    out = sum(lease.out for lease in own)
    while free > 0 and out < LEASES_OUT:
        lo = loop.marks.find(PENDING, loop.next)
        if lo < 0:
            return
        left = loop.marks.count(PENDING, lo, lo + 2 * ITEMS * loop.limit)  # more makes no difference
        share = -(-min(free, left) // _lanes(loop, left, out))
        free -= _grant(draft, run, lo, _size(loop, left, share), share)
        out += 1


def _grant(draft: Draft, run: Run, lo: int, size: int, share: int) -> int:
    """Grant a chunk that begins at an index; its share."""
    loop = run.loop
    assert loop is not None
    hi = _end(loop, lo, size)
    share = min(share, loop.marks.count(PENDING, lo, hi))
    lease = f"{run.id}:{lo}"
    draft.emit("lease.granted", run.id, lease=lease, lo=lo, hi=hi, share=share)
    draft.command(Dispatch(lease, draft.step(run.step).pool or draft.program.pool))
    return share


def _lanes(loop: LoopState, left: int, out: int) -> int:
    """Among how many more leases the loop is divided: more of them when the author asked for small chunks."""
    if not loop.chunk:
        return max(1, LANES - out)
    lanes = max(LANES, min(-(-loop.limit // loop.chunk), LEASES_OUT))
    return max(1, min(lanes - out, -(-left // loop.chunk)))


def _size(loop: LoopState, left: int, share: int) -> int:
    """How many iterations a chunk has.

    Without a hint every lane gets three quarters of its part of what is left, so that little is left for the
    lanes that end last. A loop that runs one at a time gains nothing from that, and where iterations are over
    in no time a lease costs more than waiting for the last lane does.
    """
    if loop.chunk:
        return max(loop.chunk, share)
    if loop.limit == 1:
        return ITEMS
    size = share * (left * 3 // (4 * loop.limit))
    if loop.quick:
        size = max(size, left // 3)
    return max(share, min(size, ITEMS))


def _end(loop: LoopState, lo: int, size: int) -> int:
    """Where a chunk ends that has so many iterations to run; those that are over do not count."""
    marks = loop.marks
    hi = min(lo + size, loop.total)
    for _ in range(size - marks.count(PENDING, lo, hi)):
        place = marks.find(PENDING, hi, lo + SPAN)
        if place < 0:
            break
        hi = place + 1
    return hi

"""The rows that a loop has claimed and that are left to work on. Only the fold calls these."""

from noetl.core.event_data import ClaimBounds
from noetl.core.shapes import RetainedBatch
from noetl.core.state import PENDING, ClaimedBatch, Claims, LoopState


def begin(loop: LoopState | None, bounds: ClaimBounds) -> LoopState:
    """A loop that claims, with the rows that a retry kept of an earlier one."""
    loop = loop or LoopState(total=0)
    claims = loop.claims = loop.claims or Claims(0, 0)
    claims.batch, claims.prefetch = bounds["batch"], bounds["prefetch"]
    claims.most = bounds["max_batches"]
    return loop


def add(loop: LoopState, batch: RetainedBatch) -> None:
    """There are iterations over more rows."""
    claims, count = loop.claims, batch["count"]
    assert claims is not None
    claims.batches, claims.last = claims.batches + 1, batch.get("last")
    claims.open.append(ClaimedBatch(lo=loop.total, count=count, left=count, rows=batch.get("rows")))
    loop.marks += bytes([PENDING]) * count
    loop.total += count


def let_go(claims: Claims, index: int) -> None:
    """An iteration is over: the rows of its batch are let go with the last one."""
    for batch in claims.open:
        batch.left -= batch.lo <= index < batch.lo + batch.count
    claims.open = [batch for batch in claims.open if batch.left > 0]

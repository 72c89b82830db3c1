"""A transfer of Arrow batches: from a source that gives them to a target that takes them, never as rows."""

from contextlib import AsyncExitStack

from noetl.ports.call import Call
from noetl.ports.envelope import Reference
from noetl.tools.parts.transfer_arrow_sources import gives_batches, open_batches
from noetl.tools.parts.transfer_arrow_targets import open_taker, takes_batches
from noetl.tools.parts.transfer_batches import Flow
from noetl.tools.parts.transfer_places import Source, Target


def keeps_batches(source: Source, target: Target, mode: str) -> bool:
    """Whether both sides of a transfer know Arrow."""
    return takes_batches(target, mode) and gives_batches(source)


async def move_batches(
    source: Source, target: Target, mapping: dict[str, str] | None, mode: str, size: int, call: Call
) -> tuple[int, Reference | None]:
    """Let the target take what the source gives; how many rows it was, and where they are."""
    async with AsyncExitStack() as stack:
        taker = await stack.enter_async_context(open_taker(target, mode, call))
        giver = await stack.enter_async_context(open_batches(source, size, call))
        flow = Flow(giver, mapping, taker.fit)
        with flow.telling():
            await taker.take(flow)
        await taker.commit()
        return flow.moved, taker.ref()

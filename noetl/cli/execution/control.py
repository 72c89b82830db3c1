"""Telling an execution something: one wish, brought to whoever runs it."""

from noetl.core.message import Control


async def tell(name: str, wish: Control) -> str:
    """Have a wish decided on; the id of the execution."""
    from noetl.cli import reach

    async with reach.reached() as reached:
        execution_id = await reach.find(reached.front, name)
        await reached.front.control(execution_id, wish)
        return execution_id

"""The takeover of a hundred thousand open executions: it takes a minute, and is run when it is asked for."""

import asyncio

from bench.figure import Figure
from bench.takeover import measure

OPEN_EXECUTIONS = 100_000


def run() -> list[Figure]:
    """Seconds until a hundred thousand executions have another owner."""
    return [Figure("takeover: 100,000 open executions", asyncio.run(measure(OPEN_EXECUTIONS)), "s", 60.0)]

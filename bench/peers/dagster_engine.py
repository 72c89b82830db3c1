"""Dagster: jobs run in processes that are there already, one for each core; their events are in PostgreSQL.

That is its quickest way: a run that its daemon launches starts a process first, which takes a second or more.
Not threads: two runs that begin in one process at the same time lock each other out.
"""

import asyncio
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

from dagster import (
    DagsterInstance,
    DynamicOut,
    DynamicOutput,
    GraphDefinition,
    In,
    JobDefinition,
    Nothing,
    graph,
    op,
)

from bench.peers.work import A_TENTH, Engine, report

SETTINGS = """\
storage: {{postgres: {{postgres_url: "{store}"}}}}
telemetry: {{enabled: false}}
"""
QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}


@op
def begin() -> None:
    """The first step of a chain."""


@op(ins={"after": In(Nothing)})
def nothing() -> None:
    """Any other step."""


@op
def each(item: int) -> None:
    """The step of an item."""


@cache
def chain(steps: int) -> JobDefinition:
    """A job of so many steps, one after another."""

    @graph(name=f"chain_{steps}")
    def made() -> None:
        done = begin()
        for number in range(1, steps):
            done = nothing.alias(f"nothing_{number}")(done)

    return _job(made)


@cache
def fan_out(items: int) -> JobDefinition:
    """A job of so many items; in one process they run one after another."""

    @op(name=f"all_{items}", out=DynamicOut(int))
    def everything() -> Iterator[Any]:
        for item in range(items):
            yield DynamicOutput(item, mapping_key=str(item))

    @graph(name=f"fan_out_{items}")
    def made() -> None:
        everything().map(each)

    return _job(made)


def _job(made: GraphDefinition) -> JobDefinition:
    return made.to_job(config=QUIET)


@cache
def instance() -> DagsterInstance:
    """The store, opened once in each process."""
    return DagsterInstance.get()


def run(job: Callable[[int], JobDefinition], count: int) -> None:
    """One run from its start to its end."""
    done: Any = job(count).execute_in_process(instance=instance())
    assert done.success


def make_home(store: str, folder: str) -> None:
    """The folder with the settings, and the tables."""
    Path(folder, "dagster.yaml").write_text(SETTINGS.format(store=store))
    os.environ["DAGSTER_HOME"] = folder
    instance()


async def main() -> None:
    """Start the processes, do the work."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=spawn) as processes:

        async def there(job: Callable[[int], Any], count: int) -> None:
            await asyncio.get_running_loop().run_in_executor(processes, run, job, count)

        await report(Engine(partial(there, chain), partial(there, fan_out)), A_TENTH)


if __name__ == "__main__":
    make_home(*sys.argv[1:])
    asyncio.run(main())

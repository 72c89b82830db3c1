"""Executions driven by hand; whatever a test did with one, its log is audited afterwards."""

from collections.abc import Callable, Iterator

import pytest

from tests.unit.core.build import World, compiled

Begin = Callable[..., World]


@pytest.fixture
def world() -> Iterator[Begin]:
    """Make an execution of a workflow, not started yet."""
    made: list[World] = []

    def make(workflow: str, **root: str) -> World:
        made.append(World(compiled(workflow, **root)))
        return made[-1]

    yield make
    for one in made:
        one.audit()


@pytest.fixture
def begin(world: Begin) -> Begin:
    """Start an execution of a workflow."""

    def make(workflow: str, **root: str) -> World:
        started = world(workflow, **root)
        started.start()
        return started

    return make

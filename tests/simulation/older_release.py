"""A server of an older release in a simulated cluster: this release, told that it reads no more than that one.

Whether rows, executions and playbooks can be read is asked by whichever process runs at that moment.
"""

import pytest

from noetl.control import left_executions, log_rows, ownership
from noetl.control.catalog import Catalog
from noetl.core import formats
from noetl.core.program.program import Program
from noetl.errors import NewerFormat
from noetl.ports import hash_chain
from noetl.ports.store import Summary
from tests.simulation.clock import PROCESS

OLDER = formats.OLDEST_ROW_FORMAT  # what the older release reads


def is_older() -> bool:
    """Whether the code that runs is that of a server of the older release."""
    process = PROCESS.get()
    return process is not None and process.older


def check_row_format(first: int, written_in: int) -> None:
    """A row is refused by who does not read it."""
    if is_older() and written_in > OLDER:
        raise NewerFormat(f"the row of event {first} has format {written_in}; this noetl reads up to {OLDER}")
    formats.check_row_format(first, written_in)


def check_summary_format(summary: Summary) -> None:
    """So is an execution that has such rows."""
    if is_older() and summary.format > OLDER:
        raise NewerFormat(f"its log has rows of format {summary.format}; this noetl reads up to {OLDER}")


_PROGRAM = Catalog.program


async def program(self: Catalog, digest: str) -> Program:
    """And a playbook in a language that it does not know."""
    found = await _PROGRAM(self, digest)
    if is_older() and found.row_format > OLDER:
        raise NewerFormat(f"the playbook {digest:.8} is written in a newer language")
    return found


def plant(patch: pytest.MonkeyPatch) -> None:
    """Let processes that are told so be of the older release."""
    asking = type("Formats", (), {**vars(formats), "check_row_format": staticmethod(check_row_format)})
    patch.setattr(log_rows, "formats", asking)
    patch.setattr(hash_chain, "check_row_format", check_row_format)
    patch.setattr(left_executions, "check_summary_format", check_summary_format)
    patch.setattr(ownership, "check_summary_format", check_summary_format)
    patch.setattr(Catalog, "program", program)

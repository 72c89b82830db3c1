"""What every way of running an execution shares: what is shown of it, and which exit code it has.

The engine of this process is an EmbeddedRunner (run_embedded), a server is a RemoteRunner (run_remote).
"""

from collections.abc import Awaitable, Callable

from noetl.cli.playbooks.sources import Source
from noetl.cli.running.follower import EventListener
from noetl.cli.terminal import note
from noetl.errors import PlaybookError
from noetl.ports.answers import ExecutionAnswer
from noetl.ports.front import Started

EXIT_OF = {
    "completed": 0, "failed": 1, "cancelled": 4, "paused": 5, "stuck": 70, "timeout": 124, "interrupted": 130,
}  # fmt: skip

Start = Callable[[], Awaitable[Started]]


class Watch(EventListener):
    """What a run shows while it goes on and when it is over."""

    fails_on_errors = False  # whether failed iterations of a run that completed count as its failure
    verbose = False  # whether what tasks print is shown too
    raw = False  # whether an output that is a text is printed as it is

    def rejected(self, source: Source, error: PlaybookError) -> None:
        """The playbook has errors and is not run."""

    def began(self, execution_id: str, path: str, page: str | None = None) -> None:
        """The run begins."""

    def ended(self, result: ExecutionAnswer) -> None:
        """The run is over, paused or interrupted."""

    def detached(self, result: ExecutionAnswer) -> None:
        """Another process goes on with the run."""


def exit_code(result: ExecutionAnswer, watch: Watch) -> int:
    """Show how a run stands; the exit code."""
    watch.ended(result)
    if watch.fails_on_errors and result["status"] == "completed" and result["counts"]["failed_iterations"]:
        note(f"--fail-on-errors: iterations failed, so the exit code is {EXIT_OF['failed']}")
        return EXIT_OF["failed"]
    return EXIT_OF.get(result["status"], 0)

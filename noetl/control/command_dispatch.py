"""What decisions ask for, done once they are committed: orders to workers, words to parents and children.

Nothing is decided here. What is lost with the process is asked for again when the execution is loaded.
"""

import asyncio
import logging
from functools import partial

from noetl.control.child_executions import ChildExecutions
from noetl.control.execution_host import ExecutionHost
from noetl.control.loaded_execution import LoadedExecution
from noetl.core.deciding.draft import stored_refs
from noetl.core.deciding.work_order import build_order
from noetl.core.message import (
    Command,
    Control,
    ControlChild,
    Decision,
    Deliver,
    Dispatch,
    Expire,
    Recall,
    StartChild,
    TellParent,
)
from noetl.core.shapes import Reference
from noetl.core.state import Run
from noetl.core.values.payload_demand import Payloads, is_loaded
from noetl.errors import BackendError, NotFound

_LOG = logging.getLogger("noetl.engine")
AGAIN_S = 1.0  # until a result store that is away is asked again


def _key(ref: Reference) -> str:
    return str(ref["locator"]["key"])


def _at_rest(run: Run) -> list[Reference]:
    claims = None if run.loop is None else run.loop.claims
    refs = stored_refs([claims.last, *(batch.rows for batch in claims.open)]) if claims is not None else []
    return [*refs, *stored_refs([run.frame, run.outcomes])] if run.frame or run.outcomes else refs


def _effective(decisions: list[Decision]) -> list[Command]:
    """Commands of decisions that were committed together; a lease that goes out twice goes out once, last."""
    if len(decisions) == 1 and len(decisions[0].commands) < 2:
        return decisions[0].commands
    commands = [command for decision in decisions for command in decision.commands]
    last = {command.lease: place for place, command in enumerate(commands) if isinstance(command, Dispatch)}
    return [
        command
        for place, command in enumerate(commands)
        if not isinstance(command, Dispatch) or last[command.lease] == place
    ]


class CommandDispatch:
    """Carries out the commands of one engine's decisions."""

    def __init__(self, host: ExecutionHost, children: ChildExecutions) -> None:
        self._host, self.children = host, children

    def run(self, execution: LoadedExecution, decisions: list[Decision]) -> None:
        """Do what decisions that were committed together ask for."""
        for command in _effective(decisions):
            self.carry_out(execution, command)

    def carry_out(self, execution: LoadedExecution, command: Command) -> None:
        """Do what one command says."""
        host, workers = self._host, self._host.workers
        assert workers is not None
        execution_id = execution.state.execution_id
        match command:
            case Dispatch(lease=lease):
                self._offer(execution, lease)
            case Recall(lease=lease, give_back=give_back):
                workers.recall(execution_id, lease, give_back)
            case Deliver(lease=lease, address=address, task=task, output=output):
                workers.deliver(execution_id, lease, address, task, output)
            case StartChild():
                host.spawn(self.children.start(execution, command))
            case ControlChild(execution_id=child, what=what, why=why):
                host.spawn(self.children.tell(child, Control(what, by="parent", why=why)))
            case TellParent(execution_id=parent, message=message):
                host.spawn(self.children.tell(parent, message))

    def _offer(self, execution: LoadedExecution, lease: str) -> None:
        """Send a lease out; what its pipelines put aside is loaded first, and not kept."""
        current, workers = execution.state.leases.get(lease), self._host.workers
        if current is None or not current.out or execution.program is None or workers is None:
            return  # what was decided together with it has ended it, or called it back
        aside = [
            ref
            for ref in _at_rest(execution.state.runs[current.run])
            if not is_loaded(ref, execution.hydrated)
        ]
        if aside:
            self._host.spawn(self._offer_loaded(execution, lease, current.epoch, aside))
        else:
            workers.offer(build_order(execution.state, execution.program, current, execution.hydrated))

    async def _offer_loaded(
        self, execution: LoadedExecution, lease: str, epoch: int, aside: list[Reference]
    ) -> None:
        try:
            loaded = {_key(ref): await self._host.payloads.get(ref) for ref in aside}
        except (NotFound, BackendError) as error:
            _LOG.warning(error.message, extra={"execution_id": execution.state.execution_id})
            if isinstance(error, NotFound):  # nobody will ever go on from there
                self._host.put(execution, Expire({lease: epoch}))
                return
            await asyncio.sleep(AGAIN_S)
            loaded = {}
        self._host.when_committed(execution, partial(self._offer_with, execution, lease, epoch, loaded))

    def _offer_with(self, execution: LoadedExecution, lease: str, epoch: int, loaded: Payloads) -> None:
        current, workers = execution.state.leases.get(lease), self._host.workers
        if current is None or not current.out or current.epoch != epoch:
            return
        if not loaded:
            self._offer(execution, lease)
        elif execution.program is not None and workers is not None:
            workers.offer(
                build_order(execution.state, execution.program, current, {**execution.hydrated, **loaded})
            )

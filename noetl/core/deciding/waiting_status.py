"""Whether an execution waits: nothing of it runs, and all that is left waits for something outside.

A time, a signal, an approval, or a child that waits itself. Told from the state; nothing is decided here.
"""

from noetl.core.deciding.waits import only_waits
from noetl.core.state import PENDING, RUNNING, Lease, LoopState, Parked, Run, State


def status_of(state: State) -> str:
    """The status as readers see it."""
    return "waiting" if state.status == "running" and _waits(state) else state.status


def _waits(state: State) -> bool:
    """Whether every run waits; a token that is held waits for one of them."""
    leases: dict[str, list[Lease]] = {}
    for lease in state.leases.values():
        if lease.out and state.runs[lease.run].loop is None:
            return False  # what most executions do
        leases.setdefault(lease.run, []).append(lease)
    return bool(state.runs) and all(_run_waits(run, leases.get(run.id, [])) for run in state.runs.values())


def _run_waits(run: Run, leases: list[Lease]) -> bool:
    open_ended = {at: parked for at, parked in run.parked.items() if parked.output is None}
    if not open_ended or not all(_outside(parked) for parked in open_ended.values()):
        return False
    return bool(leases) and all(
        _lane_waits(run.loop, lease, open_ended)
        if lease.out and run.loop is not None
        else only_waits(run, lease)
        for lease in leases
    )


def _outside(parked: Parked) -> bool:
    """Whether what is waited for is outside: a child that works is not."""
    return parked.child is None or parked.child_waits


def _lane_waits(loop: LoopState, lease: Lease, parked: dict[str, Parked]) -> bool:
    """Whether a worker that keeps its lease has nothing to do: all that it began waits, no more may begin.

    What an inner loop has begun is not in the state, so an iteration that waits inside one counts as running.
    """
    if lease.claim is not None:
        return False
    marks = loop.marks[lease.lo or 0 : loop.total if lease.hi is None else lease.hi]
    began = [(lease.lo or 0) + place for place, mark in enumerate(marks) if mark == RUNNING]
    full = len(began) >= lease.share or PENDING not in marks
    return bool(began) and full and all(_only_itself(index, parked) for index in began)


def _only_itself(index: int, parked: dict[str, Parked]) -> bool:
    """Whether an iteration waits as a whole, and no loop inside it may be going on."""
    prefix = f"[{index}]"
    addresses = [at for at in parked if at.startswith(prefix)]
    return len(addresses) == 1 and "[" not in addresses[0][len(prefix) :]

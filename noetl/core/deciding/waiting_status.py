"""Whether an execution waits: nothing of it runs, and all that is left waits for something outside.

So do its steps. Outside is a time, a signal, an approval, or a child that waits itself. Told from the state;
nothing is decided here.
"""

from noetl.core.deciding.waits import only_waits
from noetl.core.state import PENDING, RUNNING, Lease, LoopState, Parked, Run, State


def status_of(state: State) -> str:
    """The status as readers see it."""
    return "waiting" if state.status == "running" and _waits(state) else state.status


def waiting_runs(state: State) -> set[str]:
    """The runs that have not ended and wait for something outside."""
    leases = _leases(state)
    return {run.id for run in state.runs.values() if _run_waits(run, leases.get(run.id, []))}


def step_statuses(state: State) -> dict[str, str]:
    """How each step stands: it waits when each of its runs that have not ended does."""
    waits = waiting_runs(state)
    runs = {run.step for run in state.runs.values() if run.id not in waits}
    waiting = {state.runs[run].step for run in waits} - runs
    return {name: "waiting" if name in waiting else step.status for name, step in state.steps.items()}


def _waits(state: State) -> bool:
    """Whether every run waits; a token that is held waits for one of them."""
    if any(lease.out and state.runs[lease.run].loop is None for lease in state.leases.values()):
        return False  # what most executions do
    leases = _leases(state)
    return bool(state.runs) and all(_run_waits(run, leases.get(run.id, [])) for run in state.runs.values())


def _leases(state: State) -> dict[str, list[Lease]]:
    leases: dict[str, list[Lease]] = {}
    for lease in state.leases.values():
        leases.setdefault(lease.run, []).append(lease)
    return leases


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

"""How much of what only grows an execution keeps in its state, and what becomes of the rest.

The log has everything; the state has what decisions need. An execution that lives for months must not carry
every failure, fragment and signal that it ever had. Only the fold calls these.
"""

from noetl.core.shapes import Failure, Signal
from noetl.core.state import State
from noetl.core.values.error_details import short

FAILURES_KEPT = 100  # those that an arc took; the first that nothing asked about is always among them
LEFT_KEPT = 10_000  # children that were given up: whoever loads the execution tells them once more
SIGNALS_KEPT = 1_000  # that nothing has taken; more are refused
FRAGMENTS_KEPT = (
    20  # of those that are over, for the picture of the workflow; up to twice as many for a while
)


def note_failure(state: State, failure: Failure) -> None:
    """The first failure, and the one that the execution may fail with, are kept, and in full."""
    decisive = failure.get("answered") is False and state.unanswered is None
    keep_failure(
        state,
        failure if decisive or not state.failures else {**failure, "error": short(failure["error"])},
        decisive=decisive,
    )


def keep_failure(state: State, failure: Failure, *, decisive: bool) -> None:
    """Keep a failure while there is room; the decisive one takes the place of the newest of the others."""
    if len(state.failures) < FAILURES_KEPT:
        state.failures.append(failure)
        return
    state.failures_left_out += 1
    if decisive:
        state.failures[-1] = failure


def restore_failures(state: State, failures: list[Failure]) -> None:
    """Failures that a retry kept, which are as they were noted."""
    for failure in failures:
        decisive = failure.get("answered") is False and state.unanswered is None
        keep_failure(state, failure, decisive=decisive)


def leave_child(state: State, child: str) -> None:
    """A child was given up; of very many the newest are remembered."""
    state.left.append(child)
    if len(state.left) > LEFT_KEPT:
        del state.left[0]


def takes_signals(signals: list[Signal]) -> bool:
    """Whether one more signal that nothing waits for has room."""
    return len(signals) < SIGNALS_KEPT


def drop_fragments(state: State) -> None:
    """Forget the oldest fragments that are over, with their results, once there are many."""
    over = [origin for origin, fragment in state.fragments.items() if fragment.ended]
    if len(over) <= 2 * FRAGMENTS_KEPT:
        return
    for origin in over[:-FRAGMENTS_KEPT]:
        del state.fragments[origin]
        inside = [step for step in state.steps if step.startswith(f"{origin}.")]
        for step in inside:
            state.runs_left_out += state.steps.pop(step).runs
            state.results.pop(step, None)

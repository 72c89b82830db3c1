"""What templates read as `trigger.payload` of ends: which execution ended, how, and what it gave."""

from collections.abc import Sequence

from noetl.control.firing_plan import body_of
from noetl.control.log_rows import stored_result
from noetl.core.event import iso
from noetl.errors import NoetlError, NotFound
from noetl.json_value import Json, JsonObject
from noetl.ports.arrival import Arrival
from noetl.ports.store import Store, Summary


async def payload_of_ends(store: Store, arrivals: Sequence[Arrival]) -> list[Json]:
    """The executions that ended, in the order of the arrivals; of one that is gone, what arrived."""
    return [await _end(store, arrival) for arrival in arrivals]


async def _end(store: Store, arrival: Arrival) -> JsonObject:
    found = {"version": None, "output": None, "error": None, "duration_ms": None}
    end: JsonObject = {**body_of(arrival), "ended_at": iso(arrival.at), **found}
    try:
        return {**end, **_result(await store.summary(str(end.get("execution_id"))))}
    except NotFound:
        return end


def _result(summary: Summary) -> JsonObject:
    try:
        result = stored_result(summary)
    except NoetlError:  # what a newer release wrote, or what is damaged, has ended all the same
        return {"version": summary.version}
    kept = ("output", "error", "duration_ms")
    return {"version": summary.version, **{name: result.get(name) for name in kept}}

"""An ended execution run again: the request for the new one, made from the old one's log and playbook."""

from typing import Any

from noetl.control.catalog import Catalog
from noetl.control.history import events
from noetl.core.event import Event
from noetl.core.message import Start
from noetl.core.program.program import Program
from noetl.core.reading.execution_retry import failed_before, past_of, retained_by_rerun, retained_by_retry
from noetl.core.reading.kept_payloads import payloads_read
from noetl.core.shapes import Retained
from noetl.core.values.patch import STORED, is_marker
from noetl.errors import Conflict
from noetl.json_value import Json
from noetl.ports.results import Payloads


async def retry(
    catalog: Catalog, payloads: Payloads, execution_id: str, step: str | None = None
) -> tuple[Start, Program]:
    """The request that goes on from what failed; raises Conflict when nothing did.

    Of one run with several logs all ids mean the run, and it goes on from the log that has what failed.
    """
    if step is None:
        execution_id = (await catalog.store.newest(execution_id)).execution_id
    log = await _log(catalog, execution_id)
    past = past_of(execution_id, log)
    while step is None and (before := failed_before(past)) is not None:
        execution_id, log = before, await _log(catalog, before)
        past = past_of(execution_id, log)
    digest = await _digest(catalog, execution_id)
    program = await catalog.program(digest)
    kept = retained_by_retry(past, program, step)
    return await _request(catalog, payloads, execution_id, log, digest=digest, kept=kept), program


async def rerun(
    catalog: Catalog,
    payloads: Payloads,
    execution_id: str,
    start: str,
    text: str | None = None,
    by: str = "cli",
) -> tuple[Start, Program]:
    """The request that begins again at a step, perhaps with a changed playbook."""
    log = await _log(catalog, execution_id)
    past = past_of(execution_id, log)
    if text is None:
        digest = await _digest(catalog, execution_id)
    else:
        entry, _ = await catalog.register(text, by=by)
        digest = entry.hash
    program = await catalog.program(digest)
    kept = retained_by_rerun(past, program, start)
    return await _request(catalog, payloads, execution_id, log, digest=digest, kept=kept), program


async def _log(catalog: Catalog, execution_id: str) -> list[Event]:
    return [event async for _, event in events(catalog.store, execution_id)]


async def _digest(catalog: Catalog, execution_id: str) -> str:
    summary = await catalog.store.summary(execution_id)
    if not summary.hash:
        raise Conflict(f"execution {execution_id} never had a playbook", hint="run its parent again")
    return summary.hash


async def _request(
    catalog: Catalog,
    payloads: Payloads,
    execution_id: str,
    log: list[Event],
    *,
    digest: str,
    kept: Retained | None,
) -> Start:
    requested = log[0].data or {}
    asked, trigger = await _whole(payloads, requested.get("payload")), requested.get("trigger")
    if trigger is not None and "payload" in trigger:
        trigger = {**trigger, "payload": await _whole(payloads, trigger["payload"])}
    entry = await catalog.store.playbook(digest=digest)
    program = await catalog.program(digest)
    owners = {key[:32] for key in payloads_read(kept, program)} if kept is not None else set()
    more = {"retry_of": execution_id, "kept": kept, "keeps": sorted(owners), "trigger": trigger}
    return await catalog.request(entry, program, asked, **more)


async def _whole(payloads: Payloads, value: Json) -> Any:
    return await payloads.get(value[STORED]) if is_marker(value) else value

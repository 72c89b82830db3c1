"""How a run that has not ended stands, in words: since when, on which worker, what it waits for."""

from datetime import UTC, datetime

from noetl.cli.formats.text import printable
from noetl.cli.options import server_flag
from noetl.cli.running.run_summary import duration
from noetl.ports.answers import RunStanding, Waiting

WAITS_MAX = 5  # of one run; a loop may have thousands


def standing_lines(run: RunStanding, execution_id: str, now: datetime) -> list[str]:
    """A line for the run, and one for each thing that it waits for."""
    begun = datetime.fromisoformat(run["started_at"] or run["scheduled_at"]).astimezone(UTC)
    parts = [f"for {duration((now - begun).total_seconds() * 1000)}"]
    loop = run.get("loop")
    if loop is not None:
        total = "?" if loop["total"] is None else f"{loop['total']:,}"
        parts.append(f"{loop['done']:,} of {total} iterations done, {loop['failed']:,} failed")
    if workers := run.get("workers"):  # a server of an older release does not say
        parts.append(f"on {', '.join(workers)}")
    waits = [_wait(wait, execution_id) for wait in run["waiting"][:WAITS_MAX]]
    if more := len(run["waiting"]) - WAITS_MAX:
        waits += [f"… and {more:,} more"] if more > 0 else []
    return [f"{run['id']}  {', '.join(parts)}", *waits]


def _wait(wait: Waiting, execution_id: str) -> str:
    """What a task waits for, and how it is given that."""
    what, server = wait["for"], server_flag()
    if "signal" in what:
        asked = printable(what.get("approval", f"the signal {what['signal']}"))
        payload = " --payload '{approved: true}'" if "approval" in what else ""
        return (
            f"waits for: {asked}  = noetl execution signal {execution_id} {what['signal']}{payload}{server}"
        )
    if "child" in what:
        return f"waits for a child  = noetl execution show {what['child']}{server}"
    return f"waits until {what['until']}" if "until" in what else "waits to be taken up"

"""What executions do, as lines of the log: how each ended, which step failed. Kinds of errors, no values."""

import logging

from noetl.core.event import Event, step_of

LOG = logging.getLogger("noetl.execution")


def tell(execution_id: str, first: int, events: list[Event]) -> None:
    """Log what someone may have to act on; what went well is told when debugging."""
    for event in events:
        if event.name == "playbook.processed":
            status = str((event.data or {}).get("status", ""))
            level = logging.DEBUG if status == "completed" else logging.WARNING
            if LOG.isEnabledFor(level):
                LOG.log(level, f"execution {status}", extra={"execution_id": execution_id})
        elif event.name == "step.failed" and LOG.isEnabledFor(logging.INFO):
            error = (event.data or {}).get("error") or {}
            facts = {
                "execution_id": execution_id,
                "step": step_of(event.run or ""),
                "kind": error.get("kind"),
            }
            LOG.info("step failed", extra=facts)

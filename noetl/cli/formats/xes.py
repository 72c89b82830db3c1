"""A log as XES (IEEE 1849), the XML that process mining tools read: one trace, one XES event per event."""

import re
from collections.abc import AsyncIterator
from xml.sax.saxutils import quoteattr

import msgspec

from noetl.core.event import EventEnvelope

HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1849.2016" xes.features="" xmlns="http://www.xes-standard.org/">
  <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
  <extension name="Time" prefix="time" uri="http://www.xes-standard.org/time.xesext"/>
  <extension name="Lifecycle" prefix="lifecycle" uri="http://www.xes-standard.org/lifecycle.xesext"/>
  <extension name="Organizational" prefix="org" uri="http://www.xes-standard.org/org.xesext"/>
  <global scope="trace">
    <string key="concept:name" value="unknown"/>
  </global>
  <global scope="event">
    <string key="concept:name" value="unknown"/>
    <string key="lifecycle:transition" value="complete"/>
    <date key="time:timestamp" value="1970-01-01T00:00:00.000Z"/>
  </global>
  <classifier name="Activity" keys="concept:name"/>
  <classifier name="Activity and lifecycle" keys="concept:name lifecycle:transition"/>
"""
TAIL = "  </trace>\n</log>\n"
# Event name -> transition of the standard lifecycle; every other event is a moment and so complete.
TRANSITIONS = {
    "step.scheduled": "schedule",
    "step.started": "start",
    "step.failed": "ate_abort",
    "task.started": "start",
    "task.parked": "suspend",
    "task.resumed": "resume",
    "loop.started": "start",
    "loop.iteration.started": "start",
    "loop.iteration.failed": "ate_abort",
    "lease.expired": "reassign",
}
# Characters that XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
OWN_FIELDS = ("seq", "name", "step_run_id", "task_run_id", "iteration_id", "attempt", "lease_epoch")


async def document(execution_id: str, path: str, events: AsyncIterator[EventEnvelope]) -> AsyncIterator[str]:
    """The document, piece by piece."""
    yield HEAD
    yield "  <trace>\n"
    yield _string("concept:name", execution_id, 4)
    yield _string("noetl_playbook", path, 4)
    async for event in events:
        yield _event(event)
    yield TAIL


def _event(event: EventEnvelope) -> str:
    activity = event.get("task_label") or event.get("step") or event["name"]
    parts = [
        "    <event>\n",
        _string("concept:name", str(activity)),
        _string("lifecycle:transition", TRANSITIONS.get(event["name"], "complete")),
        f'      <date key="time:timestamp" value={attribute(event["ts"])}/>\n',
        _string("org:resource", str(event.get("worker_id") or event["source"])),
    ]
    for name in OWN_FIELDS:
        value = event.get(name)
        if isinstance(value, int):
            parts.append(f'      <int key="noetl_{name}" value="{value}"/>\n')
        elif value is not None:
            parts.append(_string(f"noetl_{name}", str(value)))
    if event["data"]:
        parts.append(_string("noetl_data", msgspec.json.encode(event["data"]).decode()))
    return "".join([*parts, "    </event>\n"])


def _string(key: str, value: str, indent: int = 6) -> str:
    return f"{' ' * indent}<string key={attribute(key)} value={attribute(value)}/>\n"


def attribute(text: str) -> str:
    """A text as an attribute value that any XML 1.0 parser gives back, but for characters XML cannot hold."""
    return quoteattr(_FORBIDDEN.sub("\ufffd", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})

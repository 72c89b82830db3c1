"""Waits for a time, a signal or a person's approval, holding neither a worker slot nor a lease.

Exactly one of the inputs says what is waited for. The wait is recorded, so it goes on across restarts; a
time of up to 5 s is waited for in place, in the slot of the task. A signal is sent with
`noetl execution signal ID NAME --payload ...`; its payload is the task's data. An approval is a signal that
carries `{approved, by, reason}`; `approved: false` is error kind `rejected`. Its name is the text that a
person reads when that is a name (`release`), else the step and task (`ask.release`, in a loop
`ask.release[2]`); the whole text is accepted too. Bound any wait with `spec.timeout`, which stands still
while the execution is paused; a wait for a time ends at that time all the same.
"""

from typing import Annotated

from msgspec import Meta

from noetl.ports.tool import Input, define, doc

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: wait, path: tools/wait}
workflow:
  - step: start
    tool:
      - {name: breathe, kind: wait, input: {seconds: 0.1}}
      - {name: release, kind: wait, input: {approval: "Release the report?"}, spec: {timeout: 86400}}
"""


MOMENT = r"[Tt ].*([Zz]|[+-]\d\d(:?\d\d)?)$"  # that a zone is there; whether it is a date is seen later


class Wait(Input):
    """What is waited for."""

    seconds: Annotated[Annotated[float, Meta(ge=0)] | None, doc("Wait this long.")] = None
    until: Annotated[
        Annotated[str, Meta(pattern=MOMENT)] | None,
        doc("Wait until this moment, as an ISO 8601 date and time with a zone."),
    ] = None
    signal: Annotated[str | None, doc("Wait for a signal of this name.")] = None
    approval: Annotated[str | None, doc("Wait until a person approves; this text is what they read.")] = None


TOOL = define(
    "wait",
    __doc__,
    Wait,
    returns="the signal's payload; `null` for a time",
    one_of=(("seconds", "until", "signal", "approval"),),
    example=EXAMPLE,
)

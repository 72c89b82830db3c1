"""Runs another playbook as an execution of its own and answers with its output.

`path`, `version` and `wait` stand beside `kind`; `input` overlays the child's `workload`. The child has its
own scopes and its own log, linked both ways, and the caller's worker slot is free while it waits.
Cancelling, failing or timing out the parent cancels a child it waits for. With `wait: false` the answer is
`{execution_id}` at once. A child that failed is error kind `child` with its id and error.

`path` is a catalog path; the newest version unless `version` is given. Run from a file, it may also be a
file path relative to the calling file.
"""

from noetl.ports.tool import define

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: playbook, path: tools/playbook}
workflow:
  - step: start
    tool:
      kind: playbook
      path: reports/daily
      input: {day: "2026-01-31"}
"""

TOOL = define(
    "playbook",
    __doc__,
    returns="the child's output; `{execution_id}` with `wait: false`",
    open_input=True,
    beside=("path", "version", "wait"),
    example=EXAMPLE,
)

"""Calls a block of this playbook's `workbook` and answers with the block's output.

`block` stands beside `kind` and defaults to the task's `name`; `input` overlays the block's own `input`.
The block is a call boundary: its task names, its `step` scope and its `output` are its own. It reads `ctx`,
`workload`, `keychain` and `iter.parent`, and may write `ctx`.
"""

from noetl.ports.tool import define

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: workbook, path: tools/workbook}
workbook:
  double:
    input: {n: 1}
    tool: {kind: noop, output: "{{ input.n * 2 }}"}
workflow:
  - step: start
    tool: {kind: workbook, block: double, input: {n: 21}}
"""

TOOL = define(
    "workbook", __doc__, returns="the block's output", open_input=True, beside=("block",), example=EXAMPLE
)

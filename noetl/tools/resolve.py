"""Loads the payload behind a reference, with its size and checksum verified.

Data that is large, or that was stored by a tool, travels as a reference (`output.ref`). This kind is the
one way to its content. It reads all reference types: payloads of the result store, rows of a table
(`relational`), files and objects, and values in NATS. A reference with an `auth_reference` is read with
that secret; a missing or expired one is error kind `reference`.
"""

from typing import Annotated, Any

from noetl.ports.tool import Input, define, doc

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: resolve, path: tools/resolve}
workflow:
  - step: make
    tool: {kind: python, input: {code: "result = {'rows': [{'id': i} for i in range(100)]}"}}
    set: {ctx.rows_ref: "{{ output.ref }}"}
    next: {arcs: [{step: use}]}
  - step: use
    tool: {kind: resolve, input: {ref: "{{ ctx.rows_ref }}", select: "rows[?id > `90`].id", limit: 5}}
"""


class Resolve(Input):
    """Which payload, and how much of it."""

    ref: Annotated[dict[str, Any], doc("The reference, as in `{{ ctx.rows_ref }}`.")]
    select: Annotated[str | None, doc("A JMESPath expression applied to the payload.")] = None
    limit: Annotated[int | None, doc("At most this many items of a list, counted after `select`.")] = None
    offset: Annotated[int, doc("Leave out this many items of a list first.")] = 0


TOOL = define(
    "resolve", __doc__, Resolve, returns="the payload, or the part that was selected", example=EXAMPLE
)

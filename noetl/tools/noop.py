"""Does nothing and answers with the value of the task before it.

A place for decisions: give it a `set`, an `output` or policy rules that `jump`, `break` or `fail`. Because
it hands on the value it was given, a pipeline may end with one. Whatever you write under `input` is only
there to be read as `input.<key>` in its own `set`, `output` and rules.
"""

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, ok
from noetl.ports.tool import define

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: noop, path: tools/noop}
workflow:
  - step: start
    tool:
      - name: init
        kind: noop
        set: {step.count: 3}
      - name: answer
        kind: noop
        output: "{{ step.count * 2 }}"
"""


async def run(values: dict[str, Json], call: Call) -> Envelope:
    return ok(call.prev)


TOOL = define(
    "noop", __doc__, None, run, returns="the value of the task before it", open_input=True, example=EXAMPLE
)

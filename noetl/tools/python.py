"""Runs Python code in a process of its own.

The code either assigns `result`, or defines `main(...)`, whose return value is the result. Every key of
`input` beyond `code`, `script` and `timeout` is a variable of the code, or a keyword argument of `main` if
it takes one of that name. Code is never a template: hand values in as variables.

The process has its own memory and time bounds, a clean environment and no part in the engine: code that
exits, crashes, eats memory or never returns fails its own task only. What it prints is kept as the task's
log. The result may hold anything that has a JSON form; dates, decimals, UUIDs, bytes, tuples and sets are
converted, everything else is error kind `value`.
"""

from typing import Annotated

from noetl.ports.tool import Input, define, doc

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: python, path: tools/python}
workload: {numbers: [1, 2, 3]}
workflow:
  - step: start
    tool:
      kind: python
      input:
        numbers: "{{ workload.numbers }}"
        code: |
          def main(numbers):
              return {"sum": sum(numbers), "largest": max(numbers)}
"""


class Code(Input):
    """What is run; the variables stand beside these keys."""

    code: Annotated[str | None, doc("Python source that assigns `result` or defines `main(...)`.")] = None
    script: Annotated[str | None, doc("A file with such source, inside the allowed folders.")] = None
    timeout: Annotated[float | None, doc("Seconds after which the process is killed.")] = None


TOOL = define(
    "python",
    __doc__,
    Code,
    returns="the value of `result`, or what `main` returns",
    open_input=True,
    one_of=(("code", "script"),),
    helper="py",
    untemplated=("code",),
    example=EXAMPLE,
)

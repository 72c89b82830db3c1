"""The files of a new project, and the rule that nothing is overwritten."""

import json
import os
import re
import shlex
from dataclasses import dataclass

from noetl.errors import RequestError

PLAYBOOK, TEST, DATA = "orders.yaml", "orders.test.yaml", "orders.json"
PLAYBOOK_SCHEMA, TEST_SCHEMA = "playbook.schema.json", "test.schema.json"

ORDERS = """\
[
  {"item": "tea", "price": 4.5, "count": 10},
  {"item": "cups", "price": 12.0, "count": 5},
  {"item": "honey", "price": 7.25, "count": 2}
]
"""

PLAYBOOK_TEXT = """\
# yaml-language-server: $schema=playbook.schema.json
# Reads orders, adds them up, and takes one of two ways.
#
#   noetl run orders.yaml
#   noetl run orders.yaml --set goal=500
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: orders, path: NAME/orders}

workload:
  file: orders.json
  goal: 100

workflow:
  - step: start
    desc: Read the orders. A file that is being written is tried again.
    tool:
      name: read
      kind: file
      input: {action: read, path: "{{ workload.file }}"}
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' and output.error.retryable }}"
              then: {do: retry, attempts: 3, delay: 5, backoff: exponential}
            - when: "{{ output.status == 'error' }}"
              then: {do: fail}
            - else: {then: {do: continue}}
    next: {arcs: [{step: add_up, when: "{{ event.ok }}"}]}

  - step: add_up
    tool:
      kind: python
      input:
        orders: "{{ start.data }}"
        code: "result = sum(order['price'] * order['count'] for order in orders)"
    set: {ctx.total: "{{ output.data }}"}
    next:
      arcs:
        - {step: good, when: "{{ event.ok and ctx.total >= workload.goal }}"}
        - {step: poor, when: "{{ event.ok }}"}

  - step: good
    tool: {kind: noop}
    output: "a good day: {{ ctx.total }} of {{ workload.goal }}"

  - step: poor
    tool: {kind: noop}
    output: "a poor day: {{ ctx.total }} of {{ workload.goal }}"
"""

TEST_TEXT = """\
# yaml-language-server: $schema=test.schema.json
# The tests of orders.yaml: `noetl test` runs them. What stands under given is what a tool answers, so no
# file is read here and nothing is waited for; python really runs.
playbook: orders.yaml

tests:
  - name: orders above the goal make a good day
    given:
      start.read:
        data:
          - {item: tea, price: 60, count: 2}
    expect:
      output: "a good day: 120 of 100"
      ctx: {total: 120}
      steps: [start, add_up, good]

  - name: orders below the goal make a poor day
    workload: {goal: 500}
    given:
      start.read: {data: [{item: tea, price: 60, count: 2}]}
    expect:
      output: "a poor day: 120 of 500"
      arcs: {add_up -> good: 0, add_up -> poor: 1}

  - name: a file that is busy is read again
    given:
      start.read:
        - {attempt: 1, error: {kind: file, message: it is being written, retryable: true}}
        - {attempt: 2, data: []}
    expect:
      calls: {start.read: 2}
      that: ["{{ ctx.total == 0 }}"]

  - name: a file that is not there fails the run
    workload: {file: nowhere.json}
    given:
      start.read: {error: {kind: not_found, message: there is no such file}}
    expect:
      error: {kind: not_found, step: start}
      steps: [start]
      calls:
        start.read: [{path: nowhere.json}]
"""

SETTINGS_TEXT = """\
# The settings of this project; its folder is the one that has this file. `noetl doctor` shows those in force.
# Executions are kept in .noetl/ here. Other settings, as they could be:
#
# server = "https://noetl.example.com"    # where commands run playbooks, instead of here
# concurrency = 32                        # how many tasks a worker runs at once
"""

IGNORED_TEXT = """\
.noetl/
"""


SHARED = (".gitignore", "noetl.toml")  # a project may have these already


@dataclass(frozen=True, slots=True)
class Project:
    """What was made, what was there and is as it was, and what to do next."""

    folder: str
    files: list[str]
    existing: list[str]
    commands: list[str]


def begin(name: str | None) -> Project:
    """Write the files of a project; raises RequestError, and writes none, when one is there."""
    folder = name or "."
    texts = _texts(_path_part(folder))
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise RequestError(f"'{folder}' is a file, not a folder", hint="noetl init NAME makes a new folder")
    existing = [file for file in texts if os.path.lexists(os.path.join(folder, file))]
    clash = [file for file in existing if file not in SHARED]
    if clash:
        message = f"nothing was written: in '{folder}' there is already {', '.join(clash)}"
        raise RequestError(message, hint="choose another folder: noetl init NAME")
    files = [file for file in texts if file not in existing]
    write_files(folder, {file: texts[file] for file in files})
    change = [f"cd {shlex.quote(folder)}"] if name and os.path.normpath(name) != "." else []
    return Project(folder, files, existing, [*change, f"noetl run {PLAYBOOK}", "noetl test", "noetl dev"])


def write_files(folder: str, texts: dict[str, str]) -> None:
    """Write every file, or none; one that has come to be there meanwhile is not touched either."""
    names: list[str] = []
    try:
        for file, text in texts.items():
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            with open(os.path.join(folder, file), "x", encoding="utf-8") as stream:
                names.append(file)
                stream.write(text)
    except OSError as error:
        for file in names:
            os.unlink(os.path.join(folder, file))
        message = f"cannot write to '{folder}': {error.strerror or error}"
        raise RequestError(message, hint="choose another folder: noetl init NAME") from None


def _texts(name: str) -> dict[str, str]:
    from noetl.dsl.grammar.editor_schema import playbook_schema
    from noetl.dsl.testing.schema import suite_schema
    from noetl.wiring.tool_kinds import kinds

    return {
        PLAYBOOK: PLAYBOOK_TEXT.replace("NAME", name),
        TEST: TEST_TEXT,
        DATA: ORDERS,
        PLAYBOOK_SCHEMA: _as_json(playbook_schema(kinds())),
        TEST_SCHEMA: _as_json(suite_schema()),
        "noetl.toml": SETTINGS_TEXT,
        ".gitignore": IGNORED_TEXT,
    }


def _as_json(schema: object) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _path_part(folder: str) -> str:
    """The folder's name as the first part of the playbook's path."""
    name = os.path.basename(os.path.abspath(folder))
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "project"

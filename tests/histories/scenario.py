"""What a scenario is, and the tasks that several of them have."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Deed = Literal["", "cancel", "pause", "crash", "expire"]


@dataclass(frozen=True)
class Scenario:
    """A playbook, what it calls, and what is done to it while it runs."""

    name: str
    workflow: str
    root: str = ""
    children: Mapping[str, str] = field(default_factory=dict)  # workflows by path
    payload: Mapping[str, Any] | None = None
    signals: Mapping[str, Any] = field(default_factory=dict)  # what is answered when it is waited for
    deed: Deed = ""  # once something waits
    ends: str = "completed"

    @property
    def text(self) -> str:
        """The playbook that is run."""
        return document(f"histories/{self.name}", self.workflow, self.root)

    @property
    def texts(self) -> dict[str, str]:
        """The playbooks that it calls."""
        return {path: document(path, workflow) for path, workflow in self.children.items()}


def document(path: str, workflow: str, root: str = "") -> str:
    """A whole playbook."""
    head = f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: case, path: {path}}}\n"
    sections = textwrap.dedent(root).strip("\n")
    steps = textwrap.indent(textwrap.dedent(workflow).strip("\n"), "  ")
    return f"{head}{sections}{chr(10) if sections else ''}workflow:\n{steps}\n"


FAIL = "{name: boom, kind: python, input: {code: \"raise ValueError('no')\"}}"
FLAKY = (
    "{name: flaky, kind: noop, set: {step.n: '{{ (step.n | default(0)) + 1 }}'}, "
    "spec: {policy: {rules: [{when: '{{ step.n < 3 }}', then: {do: retry, attempts: 5, delay: 0}}]}}}"
)
BIG = "{name: big, kind: python, input: {code: \"result = {'rows': ['x' * 1000] * 100, 'count': 100}\"}}"
GO = "{name: hold, kind: wait, input: {signal: go}}"
ADD = "{name: add, kind: noop, output: '{{ iter.i * 2 }}'}"

"""A playbook and what is to come of it, as a table row; every run's log is audited afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.engine.harness import Ran, playbook, run


@dataclass(frozen=True)
class Case:
    """A workflow, other root sections, and what must hold of the run. Mappings are compared as far as given."""

    workflow: str
    root: Mapping[str, str] = field(default_factory=dict)
    payload: Mapping[str, Any] | None = None
    status: str = "completed"
    output: Any = ...
    ctx: Mapping[str, Any] | None = None
    runs: Mapping[str, int] | None = None
    error: Mapping[str, Any] | None = None
    says: str = ""  # part of the error's message
    events: Callable[[Ran], Any] | None = None

    async def check(self, folder: Path, /, **named: str) -> None:
        """Run it; `$name` in the workflow stands for what is given under that name."""
        text = playbook(self.workflow, **self.root)
        for name, value in named.items():
            text = text.replace(f"${name}", value)
        ran = await run(folder, text, dict(self.payload) if self.payload else None)
        status = "failed" if self.error is not None else self.status
        assert (ran.status, ran.error.get("message")) == (status, ran.error.get("message")), ran.result
        if self.output is not ...:
            assert ran.output == self.output
        for name, value in (self.ctx or {}).items():
            assert (name, ran.ctx.get(name)) == (name, value)
        for step, count in (self.runs or {}).items():
            assert (step, ran.runs(step)) == (step, count)
        for name, value in (self.error or {}).items():
            assert (name, ran.error.get(name)) == (name, value), ran.error
        assert self.says in str(ran.error.get("message", ""))
        if self.events is not None:
            assert self.events(ran)

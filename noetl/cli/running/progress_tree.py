"""A run on a terminal: its steps as a tree that is drawn again ten times a second, loops with a bar.

Hearing an event only counts; the drawing is done by the clock, whatever the number of events.
"""

from typing import TYPE_CHECKING

from noetl.adapters.clock.wall import now_ms
from noetl.cli.running.progress import LoopProgress, StepProgress
from noetl.cli.running.run_summary import duration, number
from noetl.cli.running.watches import TextWatch, loop_words
from noetl.core.event import Event
from noetl.ports.answers import ExecutionAnswer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

BAR = 24
MARKS = {
    "queued": ("○", "dim"),
    "running": ("●", "cyan"),
    "waiting": ("◔", "yellow"),
    "held": ("◌", "dim"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "cancelled": ("–", "dim"),
    "refused": ("–", "dim"),
}


class TreeWatch(TextWatch):
    """The same story as plain lines, drawn live."""

    tick_s: float | None = 0.1

    def __init__(self) -> None:
        super().__init__()
        self._live: Live | None = None
        self._title = ""

    def began(self, execution_id: str, path: str, page: str | None = None) -> None:
        super().began(execution_id, path, page)
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True, highlight=False, no_color=not self.paint.on)
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")
        self._live.start()

    def receive(self, first: int, events: list[Event]) -> None:
        """Count; the next tick draws."""
        self.progress.receive(first, events)
        self.progress.changed.clear()

    def tick(self) -> None:
        if self._live is not None:
            self._live.update(self._draw(self._live.console), refresh=True)

    def announce(self, text: str) -> None:
        """A sentence above the tree."""
        if self._live is None:
            super().announce(text)
        else:
            from rich.text import Text

            self._live.console.print(Text.from_ansi(text), soft_wrap=True)

    def ended(self, result: ExecutionAnswer) -> None:
        """Leave the tree as it is, then the rest."""
        self.tick()
        self.stop()
        super().ended(result)

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw(self, console: "Console") -> "Text":
        from rich.text import Text

        now = now_ms()
        steps = list(self.progress.steps.values())
        excess = max(0, len(steps) - max(5, console.height - 3))  # what is over gives way, the oldest first
        over = [step for step in steps if not step.active and step.state != "failed"][:excess]
        steps = [step for step in steps if not any(step is hidden_step for hidden_step in over)]
        lines = [_line(step, now, last=step is steps[-1]) for step in steps]
        if over:
            words = "1 earlier step" if len(over) == 1 else f"{len(over)} earlier steps"
            lines.insert(0, Text(f"├─ … {words}", style="dim"))
        return Text("\n", no_wrap=True, overflow="ellipsis").join(lines)


def _line(step: StepProgress, now: int, *, last: bool) -> "Text":
    from rich.text import Text

    mark, style = MARKS[step.state]
    line = Text.assemble(("└─ " if last else "├─ ", "dim"), (f"{mark} ", style), (step.name, "bold"))
    if step.runs > 1:
        line.append(f" ×{step.runs}", "dim")
    if step.loop is not None:
        _append_loop(line, step, step.loop, now)
    if step.task is not None and step.state == "running" and step.task != f"{step.name}_task":
        line.append(f"  {step.task}", "dim")
    if step.attempt > 1:
        line.append(f"  attempt {step.attempt}", "yellow")
    if step.why:
        line.append(f"  {step.why}", "dim")
    if step.state not in ("held", "refused") and step.why != "kept":
        line.append(f"  {duration(step.elapsed(now))}", "dim")
    return line


def _append_loop(line: "Text", step: StepProgress, loop: LoopProgress, now: int) -> None:
    full = BAR if loop.total == 0 else round(BAR * loop.over / loop.total)
    line.append("  ")
    line.append("━" * full, "red" if loop.failed else "green")
    line.append("━" * (BAR - full), "bright_black")
    line.append(f"  {loop_words(loop)}")
    rate, remaining_s = loop.rate(now), loop.left_s(now)
    if step.active and rate is not None and remaining_s is not None:
        line.append(f"  {number(round(rate))}/s  ETA {duration(remaining_s * 1000)}", "dim")

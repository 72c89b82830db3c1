"""The table of all engines, from seconds. Nothing is measured and nothing printed here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Seconds = Mapping[str, float]
AHEAD = 1.25  # how many times our time the quickest peer is to take


@dataclass(frozen=True)
class Column:
    """One figure: how its seconds are shown."""

    key: str
    title: str
    rate: bool = False

    def shown(self, seconds: float) -> str:
        """Milliseconds, or how many in a second."""
        return _number(1 / seconds if self.rate else seconds * 1000)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


COLUMNS = (
    Column("chain", "chain ms/step"),
    Column("fan_out", "items/s", rate=True),
    Column("burst", "executions/s", rate=True),
    Column("p50", "one p50 ms"),
    Column("p95", "p95 ms"),
)


def best(turns: Sequence[Seconds]) -> dict[str, float]:
    """The shortest time of each figure."""
    return {column.key: min(turn[column.key] for turn in turns) for column in COLUMNS}


def table(groups: Sequence[Mapping[str, Seconds]]) -> str:
    """A line for each engine; `x` is its time as a multiple of that of the first of its group."""
    rows = [("engine", *(cell for column in COLUMNS for cell in (column.title, "x")))]
    for group in groups:
        first = next(iter(group))
        rows += [_row(name, found, None if name == first else group[first]) for name, found in group.items()]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def goal(ours: Seconds, theirs: Seconds, name: str) -> str:
    """Whether a peer takes as many times our time as it is to, in the figures that count."""
    counting = [column for column in COLUMNS if column.key != "p95"]
    ratios = {column.title: theirs[column.key] / ours[column.key] for column in counting}
    missed = [title for title, ratio in ratios.items() if ratio < AHEAD]
    verdict = f"MISSED: {', '.join(missed)}" if missed else "ok"
    times = " · ".join(_number(ratio) for ratio in ratios.values())
    return f"goal: {name}'s time / NoETL's >= {AHEAD} in all but p95: {times}  {verdict}"


def _row(name: str, found: Seconds, measure: Seconds | None) -> tuple[str, ...]:
    cells = [name]
    for column in COLUMNS:
        seconds = found[column.key]
        cells += [column.shown(seconds), _number(seconds / measure[column.key]) if measure else ""]
    return tuple(cells)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()

"""The table of all engines, from seconds. Nothing is measured and nothing printed here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Seconds = Mapping[str, float]


@dataclass(frozen=True)
class Column:
    """One figure: how its seconds are shown."""

    key: str
    title: str
    rate: bool = False

    def shown(self, seconds: float) -> str:
        """Milliseconds, or how many in a second."""
        value = 1 / seconds if self.rate else seconds * 1000
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


def _row(name: str, found: Seconds, measure: Seconds | None) -> tuple[str, ...]:
    cells = [name]
    for column in COLUMNS:
        seconds = found[column.key]
        cells += [column.shown(seconds), f"{seconds / measure[column.key]:.3g}" if measure else ""]
    return tuple(cells)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()

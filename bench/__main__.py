"""The runner: finds the benchmarks, runs them one after another, reports. No measuring here."""

import importlib
import json
import pkgutil
import sys
from dataclasses import asdict
from pathlib import Path

from bench.figure import Figure

FOLDER = Path(__file__).resolve().parent
OUT = FOLDER / "out" / "latest.json"
NOT_BENCHMARKS = {"__main__", "figure", "mock_api", "pages", "peers", "records_api", "round_trip"}
ON_REQUEST = {"takeover_large"}  # too long to be run with all others


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or all but long ones; 1 if one misses its goal, 2 if a name is unknown."""
    known = sorted({module.name for module in pkgutil.iter_modules([str(FOLDER)])} - NOT_BENCHMARKS)
    wanted = [name for name in known if name not in ON_REQUEST]
    unknown = [name for name in arguments if name not in known]
    if unknown:
        print(
            f"bench: no benchmark called {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr
        )
        return 2
    figures = [figure for name in arguments or wanted for figure in _run(name)]
    print(table(figures))
    OUT.parent.mkdir(exist_ok=True)
    record = [asdict(f) | {"ratio": f.ratio, "meets_goal": f.meets_goal} for f in figures]
    OUT.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if all(figure.meets_goal for figure in figures) else 1


def _run(name: str) -> list[Figure]:
    print(f"bench: {name}", file=sys.stderr)
    figures: list[Figure] = importlib.import_module(f"bench.{name}").run()
    return figures


def table(figures: list[Figure]) -> str:
    """The figures as aligned lines, one per figure."""
    rows: list[tuple[str, ...]] = [("figure", "value", "unit", "goal", "floor", "x floor", "")]
    rows += [_row(figure) for figure in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _row(figure: Figure) -> tuple[str, ...]:
    goal = _goal(figure)
    verdict = "" if not goal else "ok" if figure.meets_goal else "MISSED"
    return (
        figure.name,
        _number(figure.value),
        figure.unit,
        goal,
        _number(figure.floor),
        _number(figure.ratio),
        verdict,
    )


def _goal(figure: Figure) -> str:
    sign = "<=" if figure.better == "lower" else ">="
    parts = [] if figure.goal is None else [f"{sign} {_number(figure.goal)}"]
    parts += [] if figure.ratio_goal is None else [f"<= {_number(figure.ratio_goal)} x"]
    return ", ".join(parts)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    numeric = {1, 3, 4, 5}
    cells = [
        cell.rjust(width) if column in numeric else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What the writes of a loop's iterations come to: reduced, checked for conflicts, or passed on.

In (index, write order), so that the result never depends on timing. The server merges the outer loop with
this, the worker inner ones. Paths that an enclosing loop reduces in the same way are passed on, every write
of them; where it reduces in another way it gets one operand from here. The existing value is an operand of
the outermost reducer alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from noetl.core.shapes import Patch, Write
from noetl.core.values.patch import OPERANDS, PatchProblem, reduce_writes, same
from noetl.json_value import Json

Path = tuple[str, ...]
IterationWrite = tuple[int, list[str], Json]  # index of the iteration, path with the scope first, value


def spread(value: Json, load: Callable[[Json], Json]) -> Iterator[Json]:
    """The operands that a kept value stands for, live."""
    if isinstance(value, dict) and value.keys() == {OPERANDS}:
        operands = load(value[OPERANDS])
        yield from operands if isinstance(operands, list) else (operands,)
    else:
        yield load(value)


def compact(pairs: Patch, reduced: Mapping[Path, str]) -> Patch:
    """Writes without those that the same pipeline has overwritten itself; operands all count."""
    if len(pairs) < 2:
        return pairs
    latest: dict[tuple[str | int, ...], Write] = {}
    for number, pair in enumerate(pairs):
        path = tuple(pair[0])
        key = (number,) if path in reduced else path
        latest.pop(key, None)  # a later write stands behind what was written in between
        latest[key] = pair
    return list(latest.values())


def merged(
    writes: Iterable[IterationWrite],
    *,
    reduce: Mapping[Path, str],
    parallel: bool,
    existing: Callable[[Path], Json],
    outer: Mapping[Path, str] | None = None,
) -> Patch:
    """One patch for a whole loop; operands are live."""
    around = outer or {}
    operands: dict[Path, list[Json]] = {}
    plain = _Plain(parallel)
    passed_on: Patch = []
    for index, path, value in writes:
        key = tuple(path)
        if key in around and reduce.get(key, around[key]) == around[key]:
            passed_on.append([list(key), value])
        elif key in reduce:
            operands.setdefault(key, []).append(value)
            plain.touch(key, index)
        else:
            plain.write(key, index, value)
    patch: Patch = [[list(key), value] for key, value in plain.agreed()]
    for key, values in operands.items():
        first = None if key in around else existing(key)
        patch.append([list(key), reduce_writes(reduce[key], first, values)])
    return patch + passed_on


class _Plain:
    """Writes without a reducer, in order; in a parallel loop two iterations may not disagree."""

    def __init__(self, parallel: bool) -> None:
        self.parallel = parallel
        self._written: dict[Path, tuple[int, Json]] = {}
        self._earlier: dict[Path, tuple[int, Json]] = {}  # what earlier iterations left at a path
        self._first: dict[Path, int] = {}  # the first iteration that wrote a path
        self._below: dict[Path, tuple[int, Path]] = {}  # the first one that wrote anything below a path

    def write(self, key: Path, index: int, value: Json) -> None:
        """Note a write."""
        self.touch(key, index)
        previous = self._written.pop(key, None)
        if previous is not None and previous[0] != index:
            self._leave(key, previous)
        self._written[key] = (index, value)

    def agreed(self) -> list[tuple[Path, Json]]:
        """What is written in the end; what an iteration has overwritten itself disagrees with nobody."""
        for key, last in self._written.items():
            self._leave(key, last)
        return [(key, value) for key, (_, value) in self._written.items()]

    def _leave(self, key: Path, last: tuple[int, Json]) -> None:
        earlier = self._earlier.setdefault(key, last)
        if self.parallel and key[0] == "ctx" and not same(earlier[1], last[1]):
            raise _conflict(earlier[0], last[0], f"write different values to {'.'.join(key)}", key)

    def touch(self, key: Path, index: int) -> None:
        """Note that a path is written; PatchProblem when another iteration writes above or below it."""
        if not self.parallel or key[0] != "ctx":
            return
        self._first.setdefault(key, index)
        for size in range(2, len(key)):
            above = key[:size]
            self._check(self._first.get(above, index), index, above, key)
            self._below.setdefault(above, (index, key))
        other, below = self._below.get(key, (index, key))
        self._check(other, index, below, key)

    def _check(self, other: int, index: int, first: Path, second: Path) -> None:
        if other != index:
            problem = f"write {'.'.join(first)} and {'.'.join(second)}, one of which is inside the other"
            raise _conflict(other, index, problem, min(first, second, key=len))


def _conflict(first: int, other: int, problem: str, target: Path) -> PatchProblem:
    return PatchProblem(
        f"iterations {first} and {other} {problem}; "
        f"declare how they combine: loop.spec.policy.reduce: {{{'.'.join(target)}: …}}"
    )

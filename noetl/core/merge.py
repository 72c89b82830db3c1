"""What the writes of a loop's iterations come to: reduced, checked for conflicts, or passed on.

In (index, write order), so that the result never depends on timing. The server merges the outer loop with
this, the worker inner ones.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from noetl.core.patch import Patch, PatchProblem, reduce_writes

Path = tuple[str, ...]
Write = tuple[int, list[str], Any]  # index of the iteration, path with the scope first, value


def merged(
    writes: Iterable[Write],
    *,
    reduce: Mapping[Path, str],
    parallel: bool,
    existing: Callable[[Path], Any],
    outer: Mapping[Path, str] | None = None,
) -> Patch:
    """One patch for a whole loop. Paths that an enclosing loop reduces are passed on, every write of them."""
    operands: dict[Path, list[Any]] = {}
    plain: dict[Path, tuple[int, Any]] = {}
    passed_on: Patch = []
    for index, path, value in writes:
        key = tuple(path)
        if key in reduce:
            operands.setdefault(key, []).append(value)
        elif outer and key in outer:
            passed_on.append([list(key), value])
        else:
            _note(plain, key, index, value, parallel=parallel)
    patch: Patch = [[list(key), value] for key, (_, value) in plain.items()]
    for key, values in operands.items():
        patch.append([list(key), reduce_writes(reduce[key], existing(key), values)])
    return patch + passed_on


def _note(plain: dict[Path, tuple[int, Any]], key: Path, index: int, value: Any, *, parallel: bool) -> None:
    known = plain.get(key)
    clash = known is not None and known[0] != index and known[1] != value
    if parallel and clash and known is not None and key[0] == "ctx":
        target = ".".join(key)
        raise PatchProblem(
            f"iterations {known[0]} and {index} write different values to {target}; "
            f"declare how they combine: loop.spec.policy.reduce: {{{target}: …}}"
        )
    plain[key] = (index, value)

"""The known name an author most likely meant. Nothing else lives here."""

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nlargest
from itertools import takewhile
from typing import TypeVar

Hint = TypeVar("Hint", str, None)

_CUTOFF = 0.6
_COMPARED_MAX = 300  # comparing is slow: of more names, only those that begin or end alike are compared
_SEPARATORS = str.maketrans("", "", "_- ")


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The closest known name, whatever its case and separators; None when nothing is close."""
    by_sound: dict[str, str] = {}
    for candidate in candidates:
        by_sound.setdefault(_sound(candidate), candidate)
    sound = _sound(name)
    if sound in by_sound:
        return by_sound[sound]
    likely = nlargest(_COMPARED_MAX, by_sound, lambda other: _alike(sound, other))
    close = get_close_matches(sound, likely, n=1, cutoff=_CUTOFF)
    return by_sound[close[0]] if close else None


def did_you_mean(name: str, candidates: Iterable[str], otherwise: Hint, form: str = "{}") -> str | Hint:
    """The hint that asks for the closest known name, as `form` spells it; another when nothing is close."""
    close = nearest(name, candidates)
    return f"did you mean '{form.format(close)}'?" if close else otherwise


def _sound(name: str) -> str:
    """The name without case and separators."""
    return name.casefold().translate(_SEPARATORS)


def _alike(name: str, other: str) -> int:
    """How many characters two names share at their beginning and at their end."""
    return _shared(name, other) + _shared(name[::-1], other[::-1])


def _shared(name: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))

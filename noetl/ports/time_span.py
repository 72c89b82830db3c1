"""Spans of time as people write them in commands and settings: 90s, 15m, 24h, 30d, 2w."""

import re

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"(\d{1,9})\s*([smhdw])", re.ASCII)


def read_span(text: str) -> int:
    """The milliseconds of a span; raises ValueError with how to write one."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise ValueError("write 90s, 15m, 24h, 30d or 2w")
    return int(match[1]) * _UNITS_S[match[2]] * 1000

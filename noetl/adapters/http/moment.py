"""Moments as the REST API writes them and as the product counts them. Pure."""

from collections.abc import Mapping
from datetime import datetime


def ms(text: str) -> int:
    """ISO 8601 as milliseconds since the epoch."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def with_ms(item: Mapping[str, object], *names: str) -> dict[str, object]:
    """What an answer says, without what it leaves open, and with these of its moments as milliseconds."""
    fields = {name: value for name, value in item.items() if value is not None}
    return fields | {name: ms(str(fields[name])) for name in names if name in fields}

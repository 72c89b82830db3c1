"""Moments as the REST API writes them and as the product counts them. Pure."""

from datetime import datetime


def ms(text: str) -> int:
    """ISO 8601 as milliseconds since the epoch."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def ms_or_none(text: str | None) -> int | None:
    """The same of a moment that may not have come yet."""
    return None if text is None else ms(text)

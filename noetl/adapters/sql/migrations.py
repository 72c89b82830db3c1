"""Migrations as every database has them: who can still work with what they leave, and who cannot.

A file of a migration may begin with `-- oldest reader: N`: releases that know schema N go on working with it.
Without that line nobody who does not know the migration itself does.
"""

import re
from typing import NamedTuple

from noetl import __version__
from noetl.errors import NewerFormat

_OLDEST_READER = re.compile(r"-- oldest reader: (\d+)\n")


class Later(NamedTuple):
    """What a newer release did to a schema: how far it is, who can work with it, which release that was."""

    version: int
    oldest_reader: int
    release: str


def oldest_reader(version: int, text: str) -> int:
    """The oldest schema whose releases can work with what a migration leaves."""
    match = _OLDEST_READER.match(text)
    return int(match[1]) if match else version


def check_reader(place: str, newest: int, later: Later) -> None:
    """Raises NewerFormat for a schema that is newer than a release knows, and not meant for it either."""
    if later.oldest_reader > newest:
        message = (
            f"the store {place} was brought to schema {later.version} by noetl {later.release}; "
            f"this release, {__version__}, knows up to {newest}, and {later.oldest_reader} is needed"
        )
        raise NewerFormat(message, hint="upgrade noetl, or set NOETL_STORE to another store")

"""The statements of the .sql files by name. Text only: nothing is executed here."""

import re
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def _file(name: str) -> str:
    return (resources.files("noetl.adapters.postgres") / name).read_text()


def _named(text: str) -> Mapping[str, str]:
    _, *parts = _NAME.split(text)
    return MappingProxyType(dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True)))


APPEND = _file("append.sql")
_STATEMENTS = ("statements.sql", "schedules.sql", "notifications.sql", "ticks.sql", "arrivals.sql")
SQL = _named("".join(map(_file, _STATEMENTS)))
_SCHEMAS = (
    "schema_001.sql", "schema_002.sql", "schema_003.sql", "schema_004.sql", "schema_005.sql",
    "schema_006.sql", "schema_007.sql", "schema_008.sql", "schema_009.sql", "schema_010.sql",
    "schema_011.sql", "schema_012.sql", "schema_013.sql", "schema_014.sql", "schema_015.sql",
    "schema_016.sql", "schema_017.sql", "schema_018.sql",
)  # fmt: skip
SCHEMAS = tuple(map(_file, _SCHEMAS))

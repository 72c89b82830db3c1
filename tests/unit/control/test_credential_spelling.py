"""Credentials in the original's spelling are stored with the fields that the tools read."""

from typing import Any

import pytest

from noetl.control.credential_spelling import current_fields

OLDER = {"db_host": "h", "db_port": 5433, "db_user": "u", "db_password": "p", "db_name": "d"}
CURRENT = {"host": "h", "port": 5433, "user": "u", "password": "p", "database": "d"}


@pytest.mark.parametrize(
    "material, fields",
    [
        (OLDER, CURRENT),
        ({"name": "pg", "type": "postgres", "description": "x", "tags": [], "data": OLDER}, CURRENT),
        ({"data": {"token": "t"}, "type": "httpBearerAuth"}, {"token": "t"}),
        ({"db_host": "old", "host": "new"}, {"host": "new"}),
        (CURRENT, CURRENT),
        ({"value": "v"}, {"value": "v"}),
        ({"data": "text"}, {"data": "text"}),
        ({"data": {"a": 1}, "value": "v"}, {"data": {"a": 1}, "value": "v"}),
    ],
)
def test_older_fields_become_those_of_today_and_others_stay(
    material: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert current_fields(material) == fields
    assert current_fields(fields) == fields

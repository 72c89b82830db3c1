"""Older spellings of a credential, which end here: what is stored has the fields that the tools read.

The original's files wrap the fields in `data` beside a name, a type and a description, and write those of a
database as `db_host`, `db_user` and so on.
"""

from collections.abc import Mapping

from noetl.json_value import Json, JsonObject

AROUND_DATA = frozenset(
    ("name", "type", "kind", "description", "desc", "tags", "labels", "meta", "metadata", "version", "data")
)
OLDER_FIELDS = {
    "db_host": "host",
    "db_port": "port",
    "db_user": "user",
    "db_username": "user",
    "db_password": "password",
    "db_name": "database",
    "db_database": "database",
    "nats_url": "url",
    "nats_user": "user",
    "nats_password": "password",
}


def current_fields(material: Mapping[str, Json]) -> JsonObject:
    """A credential with the fields of today; one that has them already is as it was."""
    fields = material.get("data")
    if isinstance(fields, Mapping) and fields and AROUND_DATA.issuperset(material):
        return current_fields(fields)
    renamed = {
        OLDER_FIELDS.get(name, name): value for name, value in material.items() if name in OLDER_FIELDS
    }
    return {**renamed, **{name: value for name, value in material.items() if name not in OLDER_FIELDS}}

"""The secret that a call connects with, where a place or a reference names another than the task."""

from dataclasses import replace

from noetl.ports.call import Call, Secret

POSTGRES_FIELDS = {
    "host": "host", "port": "port", "user": "user", "username": "user", "password": "password",
    "database": "database", "db_name": "database", "dbname": "database",
}  # fmt: skip


def address_of(secret: Secret) -> str | None:
    """The whole address that a secret may be; one of a single text, as of the environment, is its `value`."""
    for name in ("url", "dsn", "value"):
        if isinstance(found := secret.get(name), str) and "://" in found:
            return found
    return None


async def with_auth(call: Call, name: str | None) -> Call:
    """The call with the secret of a name; without one, as it is."""
    return call if name is None else replace(call, auth_name=name, auth=await call.secret(name))

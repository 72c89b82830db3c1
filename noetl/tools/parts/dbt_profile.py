"""The profile that dbt connects with: its structure in a file, every text of it in the environment.

A text that dbt reads from its environment is not rendered again, and a secret among them is one that dbt
masks in whatever it says.
"""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from noetl.core.values.redact import SECRET_FIELDS
from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.tools.parts.auth import POSTGRES_FIELDS, address_of
from noetl.tools.parts.tool_context import ToolContext

if TYPE_CHECKING:
    from noetl.tools.dbt import Project

PROFILE = "noetl"
TARGET = "noetl"
TARGET_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}")
# Of a credential: what dbt may say. It would mask a user called `main` in the name of every relation.
OPEN = frozenset({"type", "host", "user", "dbname", "database", "schema", "path", "sslmode"})
POSTGRES = ("postgres", "postgresql")
DEPTH = 8
FIELDS = 500
NOT_FILES = (":memory:", "md:", "motherduck:")


def write_profile(project: "Project", folder: str, context: ToolContext) -> dict[str, str] | None:
    """Write the profile; the environment that it needs. None: the project has its own."""
    if context.auth is None and project.profile is None:
        return None
    given: dict[str, Json] = project.profile or {}
    secret = _connection(context.auth or {}, given)
    adapter = given.get("type", secret.get("type"))
    if not isinstance(adapter, str):
        raise Failed("input", "dbt needs input 'profile.type': the adapter, such as duckdb or postgres")
    target = project.target or TARGET
    if not TARGET_NAME.fullmatch(target):
        raise Failed("input", f"dbt input 'target': {target[:40]!r} is no name of a target")
    fields = {**secret, **given, "type": adapter}
    if adapter == "duckdb" and isinstance(path := fields.get("path"), str):
        fields["path"] = path if path.startswith(NOT_FILES) else context.path(path)
    if adapter == "postgres":
        fields.setdefault("schema", "public")
    named = _Named()
    output = {
        key: named.value(value, secret=key in SECRET_FIELDS or not (key in given or key in OPEN))
        for key, value in fields.items()
    }
    profile = {PROFILE: {"target": target, "outputs": {target: output}}}
    with open(os.path.join(folder, "profiles.yml"), "wb") as file:
        file.write(msgspec.json.encode(profile))
    return named.environment


def _connection(secret: Mapping[str, Json], given: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a credential in the words of the adapter."""
    url = address_of(secret)
    if url is not None and url.partition("://")[0] in POSTGRES:
        return {"type": "postgres", **_of_url(url)}
    if given.get("type", secret.get("type")) not in (None, "postgres"):
        return dict(secret)
    names = {
        **POSTGRES_FIELDS,
        "database": "dbname",
        "db_name": "dbname",
        "dbname": "dbname",
        "username": "user",
    }
    fields: dict[str, Json] = {names.get(name, name): value for name, value in secret.items()}
    if isinstance(port := fields.get("port"), str):
        fields["port"] = _port(port)
    return {"type": "postgres", **fields} if "host" in fields else fields


def _of_url(url: str) -> dict[str, Json]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Failed("auth", "the url of the credential is no address of PostgreSQL") from None
    named = {
        "host": parts.hostname,
        "port": port or 5432,
        "user": None if parts.username is None else unquote(parts.username),
        "password": unquote(parts.password or ""),
        "dbname": unquote(parts.path.removeprefix("/")) or None,
    }
    options = {name: value for name, value in parse_qsl(parts.query) if name.startswith("ssl")}
    return {name: value for name, value in {**named, **options}.items() if value is not None}


def _port(text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text):
        raise Failed("auth", "the port of the credential is no number")
    return int(text)


class _Named:
    """Texts of a profile, each under a name of the environment."""

    def __init__(self) -> None:
        self.environment: dict[str, str] = {}

    def value(self, value: Json, *, secret: bool, depth: int = 0) -> Json:
        """A value as the file has it."""
        if depth > DEPTH or len(self.environment) >= FIELDS:
            raise Failed("input", f"the profile is deeper than {DEPTH} or has more than {FIELDS} texts")
        if isinstance(value, str):
            return self._name(value, secret=secret)
        if isinstance(value, dict):
            return {key: self.value(item, secret=secret, depth=depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, secret=secret, depth=depth + 1) for item in value]
        return value

    def _name(self, text: str, *, secret: bool) -> str:
        if "\0" in text:
            raise Failed("input", "a text of the profile contains a NUL character")
        name = f"{'DBT_ENV_SECRET' if secret else 'PROFILE'}_{len(self.environment)}"
        self.environment[name] = text
        return f"{{{{ env_var('{name}') }}}}"

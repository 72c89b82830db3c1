"""What a DuckDB call can read beside its own database: other files, and PostgreSQL over an extension."""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from noetl.json_value import Json
from noetl.ports.call import Secret
from noetl.ports.envelope import Failed
from noetl.tools.parts.auth import POSTGRES_FIELDS
from noetl.tools.parts.sql import literal, quote

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DATA_FILES = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")
PACKAGE = "duckdb_extension_postgres_scanner"  # the extension as a package: nothing is downloaded at run time


def attach_file(connection: "DuckDBPyConnection", name: str, path: str) -> None:
    """Another DuckDB file under a name, or a data file as a table."""
    if path.lower().endswith(DATA_FILES):
        connection.execute(f"create temp view {quote(name)} as from {literal(path)}")
    else:
        connection.execute(f"attach {literal(path)} as {quote(name)}")


def attach_postgres(connection: "DuckDBPyConnection", name: str, secret: Secret, read_only: bool) -> None:
    """A PostgreSQL database under a name; its login is a secret of DuckDB's, which shows no passwords."""
    connection.execute(f"load {literal(_extension())}")
    login_options = ", ".join(f"{field} {literal(str(value))}" for field, value in _login(secret).items())
    inner = quote(f"login of {name}")
    connection.execute(f"create temporary secret {inner} (type postgres, {login_options})")
    access = ", read_only" if read_only else ""
    connection.execute(f"attach '' as {quote(name)} (type postgres, secret {inner}{access})")


def _login(secret: Secret) -> Mapping[str, Json]:

    address = str(secret.get("dsn") or secret.get("value") or "")
    if "://" in address:
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError:
            raise Failed("auth", "the dsn of the credential is no address of PostgreSQL") from None
        login: dict[str, Json] = {
            "host": parts.hostname,
            "port": port,
            "user": parts.username,
            "password": parts.password,
            "database": parts.path.lstrip("/"),
        }
        return {name: unquote(str(value)) for name, value in login.items() if value}
    fields = {ours: secret[name] for name, ours in POSTGRES_FIELDS.items() if secret.get(name) is not None}
    if "host" not in fields:
        raise Failed(
            "auth", "to attach PostgreSQL, a secret needs host, user, password and database, or a dsn"
        )
    return fields


def _extension() -> str:
    """The file of the extension that fits the installed DuckDB."""
    import duckdb

    package = find_spec(PACKAGE)
    if package is not None and package.origin is not None:
        folder = os.path.join(os.path.dirname(package.origin), "extensions", f"v{duckdb.__version__}")
        file = os.path.join(folder, "postgres_scanner.duckdb_extension")
        if os.path.exists(file):
            return file
    message = f"DuckDB {duckdb.__version__} needs an extension to attach PostgreSQL"
    hint = f'pip install "duckdb-extension-postgres-scanner=={duckdb.__version__}"'
    raise Failed("missing_extra", f"{message}; {hint}")

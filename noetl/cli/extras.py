"""Which extra brings a module, so that what is not installed is named and not shown as a bug."""

from noetl.errors import MissingExtra

EXTRA_OF = {
    "adbc_driver_manager": "adbc",
    "adbc_driver_postgresql": "adbc",
    "adbc_driver_sqlite": "adbc",
    "aiokafka": "kafka",
    "argon2": "auth",
    "arro3": "parquet",
    "asyncpg": "postgres",
    "asyncssh": "ssh",
    "cramjam": "kafka",
    "deltalake": "delta",
    "dlt": "dlt",
    "duckdb": "duckdb",
    "fastapi": "server",
    "httptools": "speed",
    "joserfc": "auth",
    "lsprotocol": "lsp",
    "nats": "nats",
    "obstore": "server",
    "opentelemetry": "otel",
    "prometheus_client": "server",
    "psycopg2": "dlt",
    "pyarrow": "iceberg",
    "pydantic": "server",
    "pygls": "lsp",
    "pyiceberg": "iceberg",
    "pymysql": "sql",
    "pytz": "duckdb",
    "sqlalchemy": "sql",
    "starlette": "server",
    "structlog": "server",
    "uvicorn": "server",
    "uvloop": "speed",
}


def missing_extra(error: BaseException) -> MissingExtra | None:
    """The extra that is not installed, when that is what an error says."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    module = error.name.partition(".")[0]
    return MissingExtra(module, EXTRA_OF[module]) if module in EXTRA_OF else None

"""What `noetl doctor` looks at, one check for each thing that a command may need."""

import asyncio
import os
import stat
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypedDict
from urllib.parse import urlsplit

from noetl.cli.terminal import counted
from noetl.errors import Denied, NoetlError, NotFound, RequestError
from noetl.json_value import Json
from noetl.ports.shown_address import without_password
from noetl.settings import BY_NAME, CONTEXTS_NAME, SETTINGS, Settings, contexts, unknown_variables

State = Literal["ok", "warning", "error", "unused"]
PATIENCE_S = 15.0
PRIVATE = stat.S_IRWXG | stat.S_IRWXO
NAMED = 10  # credentials of those that cannot be opened
NO_PAYLOAD = f"{'0' * 32}/{'0' * 32}"
# What a task of the kind shell is told; `noetl doctor` may be what it runs.
OF_TASKS = frozenset(
    f"NOETL_{name}" for name in ("EXECUTION_ID", "STEP", "TASK", "ATTEMPT", "IDEMPOTENCY_KEY")
)
# What an extra brings: the module that is there when it is installed, and what it is for.
EXTRAS = {
    "server": ("fastapi", "noetl server start, noetl dev, object stores"),
    "postgres": ("asyncpg", "the postgres tool, PostgreSQL as the store"),
    "nats": ("nats", "the nats tool, NATS as the bus"),
    "sql": ("pymysql", "the sql tool: MySQL, MariaDB and SQLAlchemy's other databases"),
    "adbc": ("adbc_driver_manager", "the sql tool over Arrow: PostgreSQL, SQLite"),
    "duckdb": ("duckdb", "the duckdb tool"),
    "parquet": ("arro3.io", "parquet files"),
    "delta": ("deltalake", "Delta tables as targets of transfer"),
    "iceberg": ("pyiceberg", "Iceberg tables as targets of transfer"),
    "dlt": ("dlt", "the dlt tool"),
    "speed": ("uvloop", "a faster event loop"),
    "otel": ("opentelemetry.sdk", "traces"),
    "auth": ("joserfc", "tokens of an OpenID provider"),
    "ssh": ("asyncssh", "the ssh and sftp tools"),
    "kafka": ("aiokafka", "the kafka tool"),
    "lsp": ("pygls", "the language server for editors"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """How one thing stands."""

    name: str
    state: State
    told: str
    hint: str | None = None


Check = Callable[[Settings], Awaitable[Finding]]


class SettingFields(TypedDict):
    """A setting, its value and where that came from."""

    name: str
    value: Json
    origin: str


def effective(settings: Settings) -> list[SettingFields]:
    """Every setting with its value and where that came from; no secret is shown."""
    return [
        {
            "name": setting.name,
            "value": _public_value(settings, setting.name),
            "origin": settings.origins[setting.name],
        }
        for setting in SETTINGS
    ]


def _public_value(settings: Settings, name: str) -> Json:
    value = getattr(settings, name)
    if BY_NAME[name].secret:
        return None if value is None else "set"
    if isinstance(value, str) and "://" in value:
        return without_password(value)
    if isinstance(value, tuple):
        return list(value) or None
    return str(value) if isinstance(value, Path) else value


async def run_checks(settings: Settings) -> list[Finding]:
    return [await _run_check(name, check, settings) for name, check in CHECKS.items()]


async def _run_check(name: str, check: Check, settings: Settings) -> Finding:
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await check(settings)
    except TimeoutError:
        return Finding(name, "error", f"no answer within {PATIENCE_S:g} s")
    except NoetlError as error:
        return Finding(name, "error", error.message, error.hint)


# ---- on this machine ------------------------------------------------------------------------------------


async def _home(settings: Settings) -> Finding:
    home = settings.home
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    if not place.is_dir():
        why = f"{place} is a file, not a folder"
    elif not os.access(place, os.W_OK | os.X_OK):
        why = f"{place} cannot be written"
    else:
        return Finding("home", "ok", str(home) if place == home else f"{home} is made when it is needed")
    message = why if place == home else f"{home} cannot be made: {why}"
    return Finding("home", "error", message, "set NOETL_HOME to a folder that you may write in")


async def _environment(settings: Settings) -> Finding:
    odd = {name: near for name, near in unknown_variables().items() if name not in OF_TASKS}
    if not odd:
        return Finding("settings", "ok", "no unknown NOETL_ variable")
    near = [f"did you mean {nearest} for {name}?" for name, nearest in odd.items() if nearest is not None]
    hint = " ".join(near) or f"the settings are: {', '.join(setting.variable for setting in SETTINGS)}"
    return Finding("settings", "warning", f"no setting, and without effect: {', '.join(odd)}", hint)


async def _key(settings: Settings) -> Finding:
    from noetl.adapters.secrets.sealed_credentials import keys_of

    file = settings.home / "key"
    if settings.key is None and not file.exists():
        return Finding("key", "ok", f"{file} is made when the first credential is stored")
    count = len(keys_of(settings.key, file))
    place = settings.origins["key"] if settings.key is not None else str(file)
    if settings.key is None and file.stat().st_mode & PRIVATE:
        return Finding("key", "warning", f"others may read {file}", f"chmod 600 {file}")
    return Finding("key", "ok", f"{count} from {place}")


async def _contexts(settings: Settings) -> Finding:
    file = settings.home / CONTEXTS_NAME
    entries = contexts(settings.home)
    if entries and file.stat().st_mode & PRIVATE:
        return Finding("contexts", "warning", f"others may read {file}", f"chmod 600 {file}")
    in_use = next((f", {entry.name} in use" for entry in entries if entry.current), "")
    return Finding("contexts", "ok", f"{len(entries)}{in_use}")


async def _python(settings: Settings) -> Finding:
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "import noetl.worker.python.child")
    code = await process.wait()
    if code:
        return Finding("python", "error", f"{sys.executable} cannot run python tasks (exit {code})")
    version = ".".join(map(str, sys.version_info[:3]))
    took = (time.monotonic() - started) * 1000
    return Finding("python", "ok", f"{version} at {sys.executable}, starts in {took:.0f} ms")


async def _extras(settings: Settings) -> Finding:
    missing = [name for name, (module, _) in EXTRAS.items() if not _is_installed(module)]
    installed = ", ".join(name for name in EXTRAS if name not in missing) or "none"
    if not missing:
        return Finding("extras", "ok", installed)
    lost = "; ".join(f"{name} ({EXTRAS[name][1]})" for name in missing)
    return Finding(
        "extras",
        "ok",
        f"{installed}; not installed: {lost}",
        f'pip install "PATH[{missing[0]}]", where PATH is the wheel or checkout that this came from',
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


# ---- what is connected to -------------------------------------------------------------------------------


async def _store(settings: Settings) -> Finding:
    if settings.server is not None and not settings.store.startswith("postgres"):
        return Finding("store", "unused", "commands talk to the server")
    if settings.store.startswith(("postgres://", "postgresql://")):
        return await _postgres(settings)
    return await asyncio.to_thread(_sqlite, settings)


async def _postgres(settings: Settings) -> Finding:
    from noetl.adapters.postgres.database import Database
    from noetl.adapters.postgres.schema import newer_executions, newest_version, version_of

    database = Database(settings.store, patience_s=5.0)
    at, newest = await version_of(database), newest_version()
    if at >= newest:
        left = await newer_executions(database)
        return _well(f"{database.shown}, {_schema(at, newest)}", left)
    message = f"{database.shown} has schema {at}, this version works with {newest}"
    return Finding("store", "warning", message, "noetl db migrate; noetl server start does the same")


def _sqlite(settings: Settings) -> Finding:
    from noetl.adapters.sqlite.connection import newer_executions, newest_version, version_of
    from noetl.wiring.embedded import MEMORY, store_path

    if settings.store == MEMORY:
        return Finding("store", "ok", "in memory: nothing is kept")
    path = Path(store_path(settings))
    if not path.exists():
        place = next(folder for folder in path.parents if folder.exists())
        if not os.access(place, os.W_OK | os.X_OK):
            return Finding("store", "error", f"{path} cannot be made: {place} cannot be written")
        return Finding("store", "ok", f"{path} is made by the first run")
    at, newest = version_of(str(path)), newest_version()
    if not os.access(path, os.W_OK):
        return Finding("store", "error", f"{path} cannot be written")
    left = newer_executions(str(path)) if at >= newest else []
    return _well(f"{path}, {_schema(at, newest)}", left)


def _well(told: str, left: list[str]) -> Finding:
    """A store that can be used, and which executions in it this release leaves to others."""
    if not left:
        return Finding("store", "ok", told)
    named = ", ".join(left[:3]) + (" …" if len(left) > 3 else "")
    message = f"{told}; {counted(len(left), 'open execution')} of a newer noetl, left to its servers: {named}"
    return Finding(
        "store", "warning", message, "upgrade noetl, or keep a server of the newer release running"
    )


def _schema(at: int, newest: int) -> str:
    if at > newest:
        return f"schema {at} of a newer noetl; this one, which knows {newest}, can work with it"
    return f"schema {at}" + ("" if at == newest else f" of {newest}")


async def _credentials(settings: Settings) -> Finding:
    """Whether the keys that are in force here open what rests in the store."""
    served = settings.server is not None
    if served and not settings.store.startswith("postgres"):
        return Finding("credentials", "unused", "those of the server are opened there")
    sealed = await _sealed(settings)
    lost = await asyncio.to_thread(_unopened, settings, sealed)
    if not lost:
        return Finding("credentials", "ok", f"{len(sealed)}, all opened" if sealed else "none")
    names = ", ".join(list(lost)[:NAMED]) + (" …" if len(lost) > NAMED else "")
    message = f"{len(lost)} of {len(sealed)} cannot be opened with {_key_place(settings)}: {names}"
    hints = "; ".join(dict.fromkeys(lost.values()))
    return Finding("credentials", "warning" if served else "error", message, hints)


async def _sealed(settings: Settings) -> list[tuple[str, bytes]]:
    if settings.store.startswith(("postgres://", "postgresql://")):
        from noetl.adapters.postgres import schema
        from noetl.adapters.postgres.database import Database

        database = Database(settings.store, patience_s=5.0)
        return await schema.sealed_credentials(database) if await schema.version_of(database) else []
    return await asyncio.to_thread(_sealed_here, settings)


def _sealed_here(settings: Settings) -> list[tuple[str, bytes]]:
    from noetl.adapters.sqlite.connection import sealed_credentials, version_of
    from noetl.wiring.embedded import MEMORY, store_path

    path = None if settings.store == MEMORY else store_path(settings)
    there = path is not None and Path(path).exists() and version_of(path)
    return sealed_credentials(str(path)) if there else []


def _unopened(settings: Settings, sealed: list[tuple[str, bytes]]) -> dict[str, str]:
    """The credentials that no key here opens, each with what to do about it."""
    from noetl.adapters.secrets.sealed_credentials import Sealer, keys_of

    file, lost = settings.home / "key", {}
    if settings.key is None and not file.exists():
        return {name: f"restore {file}, set NOETL_KEY, or set the credential again" for name, _ in sealed}
    sealer = Sealer(keys_of(settings.key, file))
    for name, content in sealed:
        try:
            sealer.open(name, content)
        except NoetlError as error:
            lost[name] = error.hint or error.message
    return lost


def _key_place(settings: Settings) -> str:
    file = settings.home / "key"
    if settings.key is not None:
        return f"the key from {settings.origins['key']}"
    return f"the key in {file}" if file.exists() else f"no key: there is no {file}"


async def _bus(settings: Settings) -> Finding:
    if settings.bus is None:
        return Finding("bus", "ok", "none: workers dial the servers")
    from noetl.adapters.nats.bus import shown

    async with _open_bus(settings):
        return Finding("bus", "ok", shown(settings.bus))


@asynccontextmanager
async def _open_bus(settings: Settings) -> AsyncIterator[Any]:
    from noetl.wiring.links import opened_bus

    async with opened_bus(settings, "noetl doctor") as bus:
        yield bus


async def _results(settings: Settings) -> Finding:
    location = settings.results
    if location in (None, "postgres"):
        return Finding(
            "results", "ok", "with the store" if location is None else "in PostgreSQL, as the store"
        )
    from noetl.wiring.distributed import opened_elsewhere

    async with _open_bus(settings) as bus, opened_elsewhere(str(location), bus) as results:
        with suppress(NotFound):  # it answers, and has no such payload
            await results.read(NO_PAYLOAD)
    return Finding("results", "ok", without_password(str(location)))


async def _server(settings: Settings) -> Finding:
    if settings.server is None:
        if str(settings.store).startswith("postgresql"):
            told = "none is named; what is in PostgreSQL is run by servers"
            return Finding("server", "unused", told, "NOETL_SERVER=http://HOST:8080, or --server")
        return Finding("server", "unused", "playbooks run in this process")
    from noetl.adapters.http.front import HttpFront

    front = HttpFront(settings.server, settings.token)
    try:
        await front.client.ask("GET", "/health/live", prefix="")
        late = await front.overdue_ms()
        told = await _let_in(settings, front)
    finally:
        await front.close()
    if settings.token is not None and _is_open(front.url):
        message = f"{front.url} is not encrypted: others on the way can read the token"
        return Finding("server", "warning", message, "use https://")
    return Finding("server", "ok", f"{front.url}{told}, the oldest due work waits {late} ms")


async def _let_in(settings: Settings, front: Any) -> str:
    """For what the server lets its caller in, where it is less than to ask; raises Denied."""
    try:
        await front.client.ask("GET", "/tools")
    except Denied as denied:
        if settings.token is None:
            raise
        try:
            await _work(settings)
        except RequestError as refusal:
            message = f"{denied.message}; as a worker: {refusal.message}"
            raise Denied(message, hint=refusal.hint) from None
        return f" lets workers of pool '{settings.pool}' in"
    return ""


async def _work(settings: Settings) -> None:
    """Be let in as a worker is; raises RequestError."""
    from noetl.wiring.links import opened_bus, worker_link, worker_name

    name = worker_name(settings)
    async with opened_bus(settings, name) as bus, worker_link(settings, name, bus) as link:
        link.open()
        await link.which()


def _is_open(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1")


async def _token(settings: Settings) -> Finding:
    if settings.withheld is not None:
        message = f"that of {settings.withheld} is not sent: {settings.origins['server']} names the server"
        hint = f"noetl context add NAME {settings.server} --token - gives that server a token"
        return Finding("token", "warning", message, hint)
    if settings.token is None:
        return Finding("token", "unused" if settings.server is None else "ok", "none")
    return Finding("token", "ok", f"from {settings.origins['token']}")


CHECKS: dict[str, Check] = {
    "home": _home,
    "settings": _environment,
    "key": _key,
    "contexts": _contexts,
    "store": _store,
    "credentials": _credentials,
    "bus": _bus,
    "results": _results,
    "server": _server,
    "token": _token,
    "python": _python,
    "extras": _extras,
}

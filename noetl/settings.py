"""The settings, and the only place that reads the environment and TOML files.

Each value comes from the first of: command-line flag, environment (`NOETL_*`), `noetl.toml` of the project,
the user's chosen context, `noetl.toml` in the user's noetl folder, default. Where it came from is kept, so
that it can be shown. Which token a server may be sent is decided here, see `_token`.
Nothing here opens a store or a connection.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from noetl.errors import RequestError
from noetl.ports.shown_address import each_address, without_password

FILE_NAME = "noetl.toml"
CONTEXTS_NAME = "contexts.toml"
PREFIX = "NOETL_"
DEFAULT_ORIGIN = "default"
TYPED = ("flag ", "argument ", "environment ")  # how the places begin that the user alone writes to


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value.strip()


def _address(value: Any) -> str:
    from urllib.parse import urlsplit

    text = _text(value)
    try:
        places = [urlsplit(one).netloc for one in each_address(text)]
    except ValueError:
        raise ValueError("an address") from None
    if text.startswith("postgres") and any(place.count("@") > 1 for place in places):
        raise ValueError("an address with one login before its servers, and %40 for an @ in it")
    return text


def _keys(value: Any) -> str:
    from noetl.adapters.secrets.sealed_credentials import decode_keys

    text = _text(value)
    decode_keys(text)
    return text


def _path(value: Any) -> Path:
    return Path(_text(value)).expanduser().absolute()


def _port(value: Any) -> int:
    number = _whole(value)
    if not 0 <= number <= 65535:
        raise ValueError("a port number, 0 to 65535")
    return number


def _positive(value: Any) -> int:
    number = _whole(value)
    if number < 1:
        raise ValueError("a whole number of at least 1")
    return number


def _whole(value: Any) -> int:
    try:
        return int(value) if not isinstance(value, bool | float) else int("")
    except (TypeError, ValueError):
        raise ValueError("a whole number") from None


def _seconds(value: Any) -> float:
    try:
        number = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < float("inf"):
        raise ValueError("a number of seconds above 0")
    return number


def _span(value: Any) -> int:
    from noetl.ports.time_span import read_span

    milliseconds = read_span(_text(value))
    if not milliseconds:
        raise ValueError("a span of time above 0s")
    return milliseconds


def _networks(value: Any) -> tuple[str, ...]:
    from noetl.ports.network import read_allowed

    return read_allowed(value if isinstance(value, list) else _text(value).split(","))


def _switch(value: Any) -> bool:
    words = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
    found = words.get(str(value).strip().lower())
    if found is None:
        raise ValueError("on or off")
    return found


def _folders(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else _text(value).split(os.pathsep)
    return tuple(str(_path(one)) for one in listed)


def _modules(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else _text(value).split(",")
    return tuple(_text(one) for one in listed)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name in TOML, how its value is read, and a sentence."""

    name: str
    read: Callable[[Any], Any]
    doc: str
    default: Any = None
    secret: bool = False

    @property
    def variable(self) -> str:
        """The name in the environment."""
        return PREFIX + self.name.upper()


# `home` and `store` have defaults that depend on the machine and the project; see load().
SETTINGS: tuple[Setting, ...] = (
    Setting(
        "home",
        _path,
        "Folder for what belongs to the user: credentials key, contexts, the user's noetl.toml.",
    ),
    Setting("store", _address, "Where executions are kept: an SQLite file, or postgresql://…"),
    Setting(
        "bus", _address, "NATS between servers and workers: nats://…; when unset, workers dial the servers."
    ),
    Setting("bus_creds", _text, "A file of credentials for NATS: as nsc writes it, or the seed of an NKEY."),
    Setting("bus_ca", _text, "A file of certificates that are believed of NATS, beside the system's."),
    Setting(
        "results", _address, "Where large results go: beside the store when unset; postgres, nats or s3://…"
    ),
    Setting(
        "server",
        _address,
        "The server that commands talk to; unset means embedded. A worker dials all, with commas between.",
    ),
    Setting("token", _text, "The bearer token for the server.", secret=True),
    Setting(
        "key",
        _keys,
        "The key that protects stored credentials; made on first local use when unset.",
        secret=True,
    ),
    Setting("host", _text, "The address a server listens on.", "127.0.0.1"),
    Setting("port", _port, "The port a server listens on.", 8080),
    Setting(
        "advertise_url",
        _address,
        "The address at which workers reach this server; unset: that of host and port.",
    ),
    Setting(
        "public_url",
        _address,
        "The address at which people reach the pages, for links in notifications; unset: advertise_url.",
    ),
    Setting(
        "own_worker",
        _switch,
        "Whether a server runs tasks itself, without workers; unset: unless its store is PostgreSQL.",
    ),
    Setting("pool", _text, "The pool a worker serves.", "default"),
    Setting("concurrency", _positive, "How many pipelines a worker runs at once.", 32),
    Setting(
        "task_log_bytes", _positive, "How much is kept of what one attempt at a task prints.", 4 * 1024 * 1024
    ),
    Setting(
        "execution_log_bytes",
        _positive,
        "How much is kept of what the tasks of one execution print.",
        32 * 1024 * 1024,
    ),
    Setting(
        "retention",
        _span,
        "How long servers keep executions that have ended, as in 30d; for ever when unset.",
    ),
    Setting("lease_s", _seconds, "Seconds after which work of a silent worker may be taken over.", 30.0),
    Setting(
        "allow_networks",
        _networks,
        "Addresses beside public ones that playbooks may reach: loopback, private, 10.1.0.0/16, …",
        (),
    ),
    Setting(
        "roots",
        _folders,
        "Folders in which playbooks on a worker may read and write; the worker's own folder when unset.",
        (),
    ),
    Setting(
        "auth",
        _switch,
        "Whether a server asks callers for a token; unset: unless only this machine can reach it.",
    ),
    Setting("oidc_issuer", _address, "The OpenID provider whose tokens a server also accepts: its issuer."),
    Setting("oidc_audience", _text, "The audience that tokens of the OpenID provider must name.", "noetl"),
    Setting("oidc_client_id", _text, "The provider's client as which people log in to the web page."),
    Setting(
        "oidc_client_secret", _text, "The secret of that client; none for one with PKCE alone.", secret=True
    ),
    Setting("oidc_scope", _text, "What is asked of the provider at a login.", "openid profile email"),
    Setting("rate", _positive, "Requests a second that each caller of a server may make.", 200),
    Setting("body_bytes", _positive, "The most bytes that a request to a server may have.", 2 * 1024 * 1024),
    Setting("otlp", _address, "Where traces go: the address of a collector that speaks OTLP over HTTP."),
    Setting(
        "tools",
        _modules,
        "Modules with the project's own tool kinds: files such as tools/greet.py, or dotted names.",
        (),
    ),
    Setting("ready_s", _seconds, "A server is not ready when work has been due for longer.", 30.0),
)
BY_NAME: Mapping[str, Setting] = MappingProxyType({setting.name: setting for setting in SETTINGS})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, read and checked, with where each value came from."""

    project: Path
    home: Path
    store: str
    bus: str | None = None
    bus_creds: str | None = None
    bus_ca: str | None = None
    results: str | None = None
    server: str | None = None
    token: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    host: str = "127.0.0.1"
    port: int = 8080
    advertise_url: str | None = None
    public_url: str | None = None
    own_worker: bool | None = None
    pool: str = "default"
    concurrency: int = 32
    task_log_bytes: int = 4 * 1024 * 1024
    execution_log_bytes: int = 32 * 1024 * 1024
    retention: int | None = None  # milliseconds
    lease_s: float = 30.0
    allow_networks: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    auth: bool | None = None
    oidc_issuer: str | None = None
    oidc_audience: str = "noetl"
    oidc_client_id: str | None = None
    oidc_client_secret: str | None = field(default=None, repr=False)
    oidc_scope: str = "openid profile email"
    rate: int = 200
    body_bytes: int = 2 * 1024 * 1024
    otlp: str | None = None
    tools: tuple[str, ...] = ()
    ready_s: float = 30.0
    servers: tuple[str, ...] = ()  # all that a worker dials; `server` is the first
    withheld: str | None = None  # where a token stands that the server is not sent
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def guarded(self) -> bool:
        """Whether a server asks who is there: as told, else unless only this machine can reach it."""
        from noetl.ports.network import is_loopback

        return self.auth if self.auth is not None else not is_loopback(self.host)

    @property
    def works_itself(self) -> bool:
        """Whether a server runs tasks in its own process: as told, else where nobody could dial another."""
        clustered = self.bus is not None or self.store.startswith(("postgres://", "postgresql://"))
        return self.own_worker if self.own_worker is not None else not clustered


@dataclass(frozen=True, slots=True)
class Context:
    """A server that the user gave a name, with the token for it."""

    name: str
    server: str
    token: str | None = field(default=None, repr=False)
    current: bool = False

    def names(self, server: str | None) -> bool:
        """Whether a server is this one."""
        return server is not None and server.rstrip("/").lower() == self.server.rstrip("/").lower()


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    named: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """The settings in force for a command started in a folder; flags that are None count as not given.

    `named`: what was given as no flag but, say, as the argument of a function, and what that is called.
    """
    environ = os.environ if environ is None else environ
    project = find_project(folder or Path.cwd())
    layers = [
        _from_flags(flags or {}, named or {}),
        _from_environment(environ),
        _from_file(project / FILE_NAME),
    ]
    home = _choose(BY_NAME["home"], layers) or (_default_home(), DEFAULT_ORIGIN)
    known = contexts(home[0])
    layers += [_from_context(known), _from_file(home[0] / FILE_NAME)]
    chosen = {setting.name: _choose(setting, layers) or _default(setting, project) for setting in SETTINGS}
    chosen["home"] = home
    servers = _servers(chosen["server"][0])
    chosen["server"] = _server((next(iter(servers), None), chosen["server"][1]), known)
    servers = (chosen["server"][0], *servers[1:]) if servers else ()
    ours = str(project / FILE_NAME)
    chosen["token"], withheld = _token(chosen, known, ours)
    values = {name: value for name, (value, _) in chosen.items()}
    origins = {name: origin for name, (_, origin) in chosen.items()}
    return Settings(
        project=project, servers=servers, withheld=withheld, origins=MappingProxyType(origins), **values
    )


Chosen = tuple[Any, str]  # a value, and where it stands


def _servers(text: str | None) -> tuple[str, ...]:
    """The servers of a text with commas between."""
    return tuple(filter(None, (one.strip() for one in (text or "").split(","))))


def _server(chosen: Chosen, known: tuple[Context, ...]) -> Chosen:
    """The server: an address, or the name of a context."""
    named = next((one for one in known if one.name == chosen[0]), None)
    return chosen if named is None else (named.server, f"{chosen[1]}, context {named.name}")


def _token(
    chosen: Mapping[str, Chosen], known: tuple[Context, ...], project_file: str
) -> tuple[Chosen, str | None]:
    """The token that the server may be sent, and where one stands that it may not.

    Whoever writes a project's file must not get the user's token by naming a server of their own. Such a
    server gets the token that the same file has, or that of a context of the user's which names it.
    """
    server, token = chosen["server"], chosen["token"]
    context = next((one for one in known if one.names(server[0]) and one.token), None)
    own = (context.token, f"context {context.name}") if context is not None else None
    home_is_ours = chosen["home"][1] != project_file
    typed = server[1].startswith(TYPED) and ", context " not in server[1]
    if typed or (home_is_ours and not server[1].startswith(project_file)):
        explicit = token[1].startswith(TYPED)
        return (token if explicit or own is None else own), None
    if own is not None and home_is_ours:
        return own, None
    if token[0] is None or token[1] == project_file:
        return token, None
    return (None, DEFAULT_ORIGIN), token[1]


def contexts(home: Path) -> tuple[Context, ...]:
    """The servers that the user named, in order of their names."""
    file = home / CONTEXTS_NAME
    written = _toml(file)
    found = written.get("contexts", {})
    if not isinstance(found, dict) or not all(
        isinstance(one, dict) and isinstance(one.get("server"), str) for one in found.values()
    ):
        raise RequestError(f"cannot read the contexts in '{file}'", hint="correct the file, or remove it")
    chosen = written.get("current")
    return tuple(
        Context(name, one["server"], one.get("token"), name == chosen) for name, one in sorted(found.items())
    )


def _from_context(known: tuple[Context, ...]) -> "Layer":
    """The context in use. Its token is no setting of its own: it belongs to that one server."""
    current = next((one for one in known if one.current), None)
    return {} if current is None else {"server": (current.server, f"context {current.name}")}


def find_project(folder: Path) -> Path:
    """The nearest folder upward that has a noetl.toml, else the folder itself."""
    folder = folder.absolute()
    return next((place for place in (folder, *folder.parents) if (place / FILE_NAME).is_file()), folder)


def colour_allowed(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the user's environment lets programs use colour."""
    environ = os.environ if environ is None else environ
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def cursor_allowed(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the user's terminal can show something that is drawn again and again."""
    environ = os.environ if environ is None else environ
    return environ.get("TERM") not in (None, "", "dumb")


Layer = Mapping[str, tuple[Any, str]]  # setting -> value as written, and where it stands


def _from_flags(flags: Mapping[str, Any], named: Mapping[str, str]) -> Layer:
    return {
        name: (value, named.get(name, f"flag --{name.replace('_', '-')}"))
        for name, value in flags.items()
        if value is not None
    }


def _from_environment(environ: Mapping[str, str]) -> Layer:
    return {
        s.name: (environ[s.variable], f"environment {s.variable}")
        for s in SETTINGS
        if environ.get(s.variable)
    }


def _toml(file: Path) -> dict[str, Any]:
    import tomllib

    try:
        if not file.is_file():
            return {}
        with file.open("rb") as opened:
            return tomllib.load(opened)
    except (OSError, ValueError) as error:
        raise RequestError(
            f"cannot read the settings in '{file}': {error}", hint="correct the file"
        ) from error


def _from_file(file: Path) -> Layer:
    written = _toml(file)
    for name in written:
        if name not in BY_NAME:
            raise _unknown(name, file)
    return {name: (value, str(file)) for name, value in written.items()}


def _unknown(name: str, file: Path) -> RequestError:
    from noetl.dsl.nearest import nearest

    near = nearest(name, BY_NAME)
    hint = f"did you mean '{near}'?" if near else f"the settings are: {', '.join(BY_NAME)}"
    return RequestError(f"unknown setting '{name}' in '{file}'", hint=hint)


def unknown_variables(environ: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """The `NOETL_*` variables that are no setting, each with the variable that may have been meant."""
    from noetl.dsl.nearest import nearest

    environ = os.environ if environ is None else environ
    known = {setting.variable for setting in SETTINGS}
    found = {}
    for variable in sorted(name for name in environ if name.startswith(PREFIX) and name not in known):
        near = nearest(variable.removeprefix(PREFIX), BY_NAME)
        found[variable] = near and BY_NAME[near].variable
    return found


def _choose(setting: Setting, layers: list[Layer]) -> tuple[Any, str] | None:
    for layer in layers:
        if setting.name in layer:
            written, origin = layer[setting.name]
            return _read(setting, written, origin), origin
    return None


def _read(setting: Setting, written: Any, origin: str) -> Any:
    try:
        return setting.read(written)
    except ValueError as error:
        secret = "an empty text" if written == "" else "the value given"
        seen = secret if setting.secret else repr(_shown(written))
        raise RequestError(
            f"setting '{setting.name}' must be {error}, not {seen} (from {origin})",
            hint=f"correct it, or leave it out to use {setting.default!r}"
            if setting.default
            else "correct it, or leave it out",
        ) from None


def _shown(written: Any) -> Any:
    return without_password(written) if isinstance(written, str) and "://" in written else written


def _default(setting: Setting, project: Path) -> tuple[Any, str]:
    value = f"sqlite:///{project}/.noetl/noetl.db" if setting.name == "store" else setting.default
    return value, DEFAULT_ORIGIN


def _default_home() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("noetl"))


def environment(name: str) -> str | None:
    """A variable of the process's environment, for secrets that a playbook's keychain names."""
    return os.environ.get(name)

"""The grammar of the keychain: for each kind of entry, where its value comes from.

Only tables live here; resolving a secret is the engine's.
"""

from collections.abc import Mapping

from noetl.dsl.shapes import PROSE, Choice, Either, Free, Identifier, Key, ListOf, Number, Record, Text

_PLAIN = Text(template=False)
SECRET = Either(
    (
        _PLAIN,
        Record(
            "a secret's source",
            {
                "env": Key(_PLAIN, "An environment variable."),
                "path": Key(_PLAIN, "A file."),
                "credential": Key(_PLAIN, "A stored credential."),
            },
            needs_one=("env", "path", "credential"),
        ),
    ),
    says="a text or a source {env | path | credential}",
)
_ENV = Key(_PLAIN, "The environment variable that holds the value.")
_PATH = Key(_PLAIN, "The file that holds the value.")
_CREDENTIAL = Key(_PLAIN, "The stored credential.")
_SOURCES = {"env": _ENV, "path": _PATH, "credential": _CREDENTIAL}


def _entry(
    kind: str, keys: Mapping[str, Key], *, needs_one: tuple[str, ...] = (), free: bool = False
) -> Record:
    common = {
        "name": Key(Identifier("keychain entry"), "The name templates and auth use.", required=True),
        "kind": Key(_PLAIN, "The kind of secret.", required=True),
        "desc": Key(PROSE, "What it is for."),
    }
    return Record(f"a keychain entry of kind {kind}", {**common, **keys}, open=free, needs_one=needs_one)


def _needed(key: Key) -> Key:
    return Key(key.shape, key.doc, required=True)


KEYCHAIN: Mapping[str, Record] = {
    "credential": _entry("credential", {"credential": _needed(_CREDENTIAL)}),
    "env": _entry("env", {"env": _needed(_ENV)}),
    "file": _entry("file", {"path": _needed(_PATH)}),
    "secret_manager": _entry(
        "secret_manager",
        {
            "provider": Key(
                Choice(("env", "file", "vault", "gcp", "aws", "azure", "k8s")), "Who keeps the secret."
            )
        },
        free=True,
    ),
    "postgres_credential": _entry(
        "postgres_credential",
        {
            **_SOURCES,
            "host": Key(_PLAIN, "Host."),
            "port": Key(
                Either((Number(integer=True, least=1, template=False), _PLAIN), says="a port"), "Port."
            ),
            "database": Key(_PLAIN, "Database."),
            "user": Key(SECRET, "User."),
            "password": Key(SECRET, "Password."),
            "sslmode": Key(_PLAIN, "TLS mode."),
        },
    ),
    "bearer": _entry(
        "bearer",
        {**_SOURCES, "token": Key(SECRET, "The token.")},
        needs_one=("token", "env", "path", "credential"),
    ),
    "basic": _entry(
        "basic",
        {"credential": _CREDENTIAL, "user": Key(SECRET, "User."), "password": Key(SECRET, "Password.")},
        needs_one=("password", "credential"),
    ),
    "api_key": _entry(
        "api_key",
        {
            **_SOURCES,
            "key": Key(SECRET, "The key."),
            "header": Key(_PLAIN, "The header that carries it."),
            "param": Key(_PLAIN, "The query parameter that carries it."),
            "prefix": Key(_PLAIN, "Text before the key."),
        },
        needs_one=("key", "env", "path", "credential"),
    ),
    "oauth2": _entry(
        "oauth2",
        {
            "credential": _CREDENTIAL,
            "token_url": Key(_PLAIN, "Where tokens are issued."),
            "client_id": Key(SECRET, "Client id."),
            "client_secret": Key(SECRET, "Client secret."),
            "refresh_token": Key(SECRET, "Refresh token."),
            "scope": Key(Either((_PLAIN, ListOf(_PLAIN)), says="a text or a list of texts"), "Scopes."),
            "audience": Key(_PLAIN, "Audience."),
        },
        needs_one=("token_url", "credential"),
    ),
    "static": _entry("static", {"value": Key(Free(), "The value itself; for tests only.")}, free=True),
}

# An entry whose kind cannot be read: any key that some kind knows.
ANY_ENTRY = Record(
    "a keychain entry",
    {
        name: Key(Free(), required=name in ("name", "kind"))
        for record in KEYCHAIN.values()
        for name in record.keys
    },
)

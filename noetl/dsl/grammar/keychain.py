"""The grammar of the keychain: for each kind of entry, where its value comes from.

Only tables live here; resolving a secret is the engine's.
"""

from collections.abc import Mapping

from noetl.dsl.grammar.types import PROSE, Choice, Either, Free, Identifier, Key, ListOf, Number, Record, Text

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


_FIELD = Key(_PLAIN, "The one field to take, as `value`; left out, all of them.")
_VERSION = Key(
    Either((_PLAIN, Number(integer=True, least=1, template=False)), says="a version"),
    "The version; else the newest.",
)
# Where each keeper of secrets is told what to read, and as whom.
PROVIDERS: Mapping[str, Mapping[str, Key]] = {
    "vault": {
        "address": Key(_PLAIN, "The server; by default VAULT_ADDR."),
        "mount": Key(_PLAIN, "Where the KV engine (version 2) is mounted; by default `secret`."),
        "path": Key(_PLAIN, "The secret.", required=True),
        "key": _FIELD,
        "version": _VERSION,
        "namespace": Key(_PLAIN, "The namespace; by default VAULT_NAMESPACE."),
        "token": Key(SECRET, "The token; by default VAULT_TOKEN, when the address is VAULT_ADDR."),
        "role_id": Key(SECRET, "Role id of an AppRole login."),
        "secret_id": Key(SECRET, "Secret id of an AppRole login."),
        "role": Key(_PLAIN, "Role of a Kubernetes login, when the address is VAULT_ADDR."),
        "jwt_path": Key(_PLAIN, "The file with the service account's token."),
        "auth_mount": Key(_PLAIN, "Where the login method is mounted."),
    },
    "gcp": {
        "project": Key(_PLAIN, "The project; by default the service account's, or GOOGLE_CLOUD_PROJECT."),
        "secret": Key(_PLAIN, "The secret.", required=True),
        "key": _FIELD,
        "version": _VERSION,
        "service_account": Key(SECRET, "The JSON of a service account's key file."),
        "endpoint": Key(_PLAIN, "Another address of Secret Manager."),
    },
    "aws": {
        "secret": Key(_PLAIN, "A secret of Secrets Manager: its name or ARN."),
        "parameter": Key(_PLAIN, "A parameter of Systems Manager, instead of a secret."),
        "key": _FIELD,
        "version": Key(_PLAIN, "The version's stage; else the current one."),
        "region": Key(_PLAIN, "The region; by default AWS_REGION."),
        "access_key_id": Key(SECRET, "Key id; by default the environment's or the machine's role."),
        "secret_access_key": Key(SECRET, "Secret key."),
        "session_token": Key(SECRET, "Session token."),
        "endpoint": Key(_PLAIN, "Another address of the service."),
    },
    "azure": {
        "vault": Key(_PLAIN, "The vault's name, or its address; by default AZURE_KEY_VAULT."),
        "secret": Key(_PLAIN, "The secret.", required=True),
        "key": _FIELD,
        "version": Key(_PLAIN, "The version; else the newest."),
        "tenant_id": Key(SECRET, "Tenant of an application; left out, the machine's identity is used."),
        "client_id": Key(SECRET, "Client id of an application or of an identity."),
        "client_secret": Key(SECRET, "Client secret."),
        "login": Key(_PLAIN, "Another address to log in at."),
    },
    "k8s": {
        "secret": Key(_PLAIN, "The Secret."),
        "namespace": Key(_PLAIN, "Its namespace; by default the pod's own."),
        "key": _FIELD,
        "folder": Key(_PLAIN, "The folder that the Secret is mounted as, instead of asking the cluster."),
    },
}

KEYCHAIN: Mapping[str, Record] = {
    "credential": _entry("credential", {"credential": _needed(_CREDENTIAL)}),
    "env": _entry("env", {"env": _needed(_ENV)}),
    "file": _entry("file", {"path": _needed(_PATH)}),
    "secret_manager": _entry(
        "secret_manager",
        {"provider": Key(Choice(("env", "file", *PROVIDERS)), "Who keeps the secret.")},
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
            "client_auth": Key(Choice(("header", "body")), "Where the client's id and secret are sent."),
        },
        needs_one=("token_url", "credential"),
    ),
    **{kind: _entry(kind, {"credential": _CREDENTIAL, **keys}) for kind, keys in PROVIDERS.items()},
    "static": _entry("static", {"value": Key(Free(), "The value itself; for tests only.")}, free=True),
}

# An entry whose kind cannot be read: any key that some kind knows.
ANY_ENTRY = Record(
    "a keychain entry",
    {
        name: Key(Text() if name == "kind" else Free(), required=name in ("name", "kind"))
        for record in KEYCHAIN.values()
        for name in record.keys
    },
)

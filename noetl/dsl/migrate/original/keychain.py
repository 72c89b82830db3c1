"""Keychain entries of the original: secrets of Google's manager, and tokens asked for by hand."""

import re

from noetl.dsl.grammar.keychain import KEYCHAIN
from noetl.dsl.migrate.original.remarks import drop_keys, remark
from noetl.dsl.older_spellings.respell import edit_paths
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.templates import edit_scalar, templates_under
from noetl.dsl.templates.facts import plain_path
from noetl.dsl.templates.reads import Path
from noetl.dsl.yaml.editable_tree import Collection, Entry, pair, plain, word

IDLE = {
    "auto_renew": "a token is renewed before it expires",
    "method": "a token is asked for with POST",
    "headers": "a token is asked for with the headers of OAuth 2",
    "ttl": "a token is kept as long as it says",
    "ttl_seconds": "a token is kept as long as it says",
    "type": "the kind says it",
}
SHARING = ("local", "global", "shared", "catalog")
KINDS = {
    "secrets": "secret_manager",
    "gcp_secret_manager": "secret_manager",
    "oauth2_client_credentials": "oauth2",
}
SECRET = re.compile(r"projects/(?P<project>[^/]+)/secrets/(?P<secret>[^/]+)(?:/versions/(?P<version>[^/]+))?")


def rewrite_keychain(rw: Rewriting, root: Collection) -> None:
    """Bring every entry of the keychain to a kind and keys that the language has."""
    for entry in root.maps_at("keychain"):
        kind = entry.scalar_at("kind")
        if kind is not None and kind.value in KINDS:
            rw.changed(kind.mark, f"the keychain kind '{kind.value}' is now '{KINDS[kind.value]}'")
            kind.text = kind.value = KINDS[kind.value]
        if entry.word("scope") in SHARING:
            drop_keys(rw, entry, {"scope": "an entry belongs to its playbook"})
        if entry.word("kind") == "secret_manager":
            _rewrite_secret(rw, root, entry)
        elif entry.word("kind") == "oauth2":
            _rewrite_token(rw, entry)
        record = KEYCHAIN.get(entry.word("kind") or "")
        if record is not None:
            drop_keys(rw, entry, {key: why for key, why in IDLE.items() if key not in record.keys})


# ---- secrets ----------------------------------------------------------------------------------------------


def _rewrite_secret(rw: Rewriting, root: Collection, entry: Collection) -> None:
    """`map: {field: path}` of one secret: its name, read as `value`."""
    service_account = "the service account stands under service_account, or in the environment"
    drop_keys(rw, entry, {"auth": service_account})
    holder, secrets = entry.entry("map"), entry.map_at("map")
    if holder is None or secrets is None:
        return
    path = _path(root, secrets.entries[0]) if len(secrets.entries) == 1 else None
    if path is None:
        hint = "one entry for each secret: {kind: secret_manager, provider: gcp, project: …, secret: …}"
        remark(rw, entry, holder, "an entry of the keychain holds one secret", hint)
        return
    field, name = str(secrets.entries[0].key), str(entry.word("name"))
    place = entry.place(holder)
    entry.pull(holder)
    for key in ("version", "secret", "project"):
        if path[key] and not (key == "version" and path[key] == "latest"):
            entry.insert(place, pair(key, word(path[key])))
    rw.changed(holder.mark, "'map' of one secret is now 'project', 'secret' and 'version'")
    _read_value(rw, root, name, field)


def _path(root: Collection, entry: Entry) -> dict[str, str] | None:
    """The parts of a secret's path, given as it is or by a name of the workload."""
    text = entry.text or ""
    names = plain_path(text)
    if names is not None:
        text = root.word("workload", *(names[1:] if names[0] == "workload" else names)) or ""
    match = SECRET.fullmatch(text)
    return {key: value or "" for key, value in match.groupdict().items()} if match is not None else None


def _read_value(rw: Rewriting, root: Collection, name: str, field: str) -> None:
    def edit(path: Path) -> tuple[int, str] | None:
        return (3, f"keychain.{name}.value") if path[:3] == ("keychain", name, field) else None

    for key in ("workflow", "workbook"):
        for scalar in templates_under(rw, root.get(key)):
            edit_scalar(scalar, lambda text: edit_paths(text, edit))


# ---- tokens -----------------------------------------------------------------------------------------------


def _rewrite_token(rw: Rewriting, entry: Collection) -> None:
    endpoint = entry.entry("endpoint")
    if endpoint is not None and "token_url" not in entry:
        endpoint.rename("token_url")
        rw.changed(endpoint.mark, "'endpoint' of the keychain entry is now 'token_url'")
    holder, data = entry.entry("data"), entry.map_at("data")
    if holder is None or data is None:
        return
    keys = KEYCHAIN["oauth2"].keys
    place = entry.place(holder)
    entry.pull(holder)
    for part in reversed(list(data.entries)):
        if str(part.key) in keys and str(part.key) not in entry:
            entry.insert(place, part)
            if "{{" in (part.text or ""):
                hint = "name its source: {env: …} or {credential: …}"
                remark(rw, entry, part, f"'{part.key}' is no template", hint)
    if "client_auth" not in entry and "client_secret" in entry:
        entry.add(pair("client_auth", plain("body")))
    rw.changed(holder.mark, "what 'data' of the keychain entry held now stands in the entry itself")

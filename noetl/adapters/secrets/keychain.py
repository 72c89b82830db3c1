"""Keychain entries become secret material: a mapping with `value`, or the fields of the entry's kind.

An entry's fields may be literal, or name where they come from: {env}, {path} or {credential}.
"""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

import msgspec

from noetl.adapters.secrets.provider_http import Ask, Connector, fields_of
from noetl.adapters.secrets.sealed_credentials import Sealer, version_of
from noetl.adapters.secrets.token_cache import Cache, Fetched, Material
from noetl.dsl.model import Secret
from noetl.errors import NotFound
from noetl.json_value import Json
from noetl.ports.control import material_digest
from noetl.ports.store import Store

Resolve = Callable[["Keychain", Secret], Awaitable[Material]]
REFRESH = "refresh_token"
OWN_PREFIX = "NOETL_"  # of variables that hold keys and tokens of noetl itself
# Where each provider is; a module of its own, loaded when an entry first names it.
PROVIDERS = {
    name: f"noetl.adapters.secrets.{name}" for name in ("oauth2", "vault", "gcp", "aws", "azure", "k8s")
}
# The field that a whole-entry source (`env`, `path` or `credential` beside the kind) stands for.
MAIN_FIELD = {"bearer": "token", "basic": "password", "api_key": "key", "postgres_credential": "password"}


class Keychain:
    """Resolves entries with the environment, files and stored credentials of this process."""

    def __init__(
        self,
        store: Store,
        sealer: Callable[[], Sealer],
        environ: Callable[[str], str | None],
        folder: Path,
        *,
        connector: Connector | None = None,
        closed: tuple[Path, ...] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._sealer, self._environ, self._folder = store, sealer, environ, folder
        self._connector, self._clock = connector, clock
        self._closed = closed  # folders and files that no playbook may name
        self._cache = Cache(clock, lambda material: material_digest(_without_refresh(material)))

    async def material(self, entries: tuple[Secret, ...], name: str, refused: str | None = None) -> Material:
        """The material of a keychain entry, or of a stored credential when no entry has the name.

        `refused` is the digest of material that somebody did not let in: it is not kept any longer.
        """
        entry = next((entry for entry in entries if entry.name == name), None)
        if entry is None:
            return await self.credential(name)
        resolve = RESOLVERS.get(entry.kind)
        if resolve is None:
            raise NotFound(f"keychain entry {name!r}: kind {entry.kind!r} has no provider here")
        if refused is not None:
            self._cache.refuse(refused)
        return await resolve(self, entry)

    async def credential(self, name: str) -> Material:
        """A stored credential, opened."""
        sealed = await self._store.secret(name)
        return await asyncio.to_thread(lambda: self._sealer().open(name, sealed))

    async def keep(self, name: str, material: Material) -> None:
        """Store a credential, sealed as its next version."""
        try:
            version = version_of(name, await self._store.secret(name)) + 1
        except NotFound:
            version = 1
        sealed = await asyncio.to_thread(lambda: self._sealer().seal(name, material, version))
        await self._store.put_secret(name, sealed)

    async def seal_again(self) -> int:
        """Wrap the data key of every credential with the newest key, while others read and set; how many."""
        names = [name for name, _ in await self._store.secrets()]
        for name in names:
            while not await self._wrapped_again(name):
                pass  # it was set in between: wrap what is there now
        return len(names)

    async def _wrapped_again(self, name: str) -> bool:
        try:
            sealed = await self._store.secret(name)
        except NotFound:
            return True
        again = await asyncio.to_thread(lambda: self._sealer().wrap_again(name, sealed))
        return again == sealed or await self._store.reseal_secret(name, sealed, again)

    async def check(self, entries: tuple[Secret, ...]) -> dict[str, NotFound]:
        """Entries that cannot be had, and why."""
        missing = {}
        for entry in entries:
            try:
                await self.material(entries, entry.name)
            except NotFound as error:
                missing[entry.name] = error
        return missing

    async def text(self, source: Mapping[str, Json], what: str) -> str:
        """The text that a source names: an environment variable, a file, or a credential's value."""
        if "env" in source:
            if str(source["env"]).upper().startswith(OWN_PREFIX):
                raise NotFound(f"{what}: {source['env']} is noetl's own and no secret of a playbook")
            value = self._environ(str(source["env"]))
            if value is None:
                raise NotFound(f"{what}: the environment variable {source['env']} is not set")
            return value
        if "path" in source:
            return await self._file(str(source["path"]), what)
        if "credential" in source:
            material = await self.credential(str(source["credential"]))
            return str(material.get("value", ""))
        raise NotFound(f"{what}: it names no source (env, path or credential)")

    async def _file(self, path: str, what: str) -> str:
        try:
            text = await asyncio.to_thread(lambda: self._open(path, what).read_text())
        except (OSError, UnicodeDecodeError) as error:
            raise NotFound(f"{what}: the file {path} cannot be read: {error}") from None
        return text.rstrip("\n")

    def _open(self, path: str, what: str) -> Path:
        """The file of a path, links followed, unless it is one of noetl's own."""
        file = (self._folder / Path(path).expanduser()).resolve()
        if any(file.is_relative_to(place.resolve()) for place in self._closed):
            raise NotFound(f"{what}: {path} is noetl's own and no secret of a playbook")
        return file

    async def field(self, value: Json, what: str) -> Json:
        """A field of an entry: itself, or what its source names."""
        return await self.text(value, what) if isinstance(value, Mapping) else value

    async def fetch(self, entry: Secret, provider: str, source: Mapping[str, Json]) -> Material:
        """What a provider gives for an entry; kept while it is good."""
        what, fields = _what(entry), dict(source)
        literals = frozenset(name for name, value in fields.items() if not isinstance(value, Mapping))
        credential = None if (name := fields.pop("credential", None)) is None else str(name)
        fields = {name: await self.field(value, f"{what} field {name!r}") for name, value in fields.items()}
        if credential is not None:
            fields = await self.credential(credential) | fields
        same = {name: value for name, value in fields.items() if name != REFRESH}  # it changes by itself
        key = hashlib.sha256(msgspec.json.encode((provider, same), order="sorted")).hexdigest()
        if credential is None and REFRESH in self._cache.last(key):
            fields[REFRESH] = self._cache.last(key)[REFRESH]
        place = partial(self._open, what=what)
        ask = Ask(what, fields, literals, self._environ, self._clock, self._connector, place)

        async def fetch() -> Fetched:
            fetched: Fetched = await import_module(PROVIDERS[provider]).fetch(ask)
            await self._keep_renewed(credential, fetched.material.get(REFRESH))
            return fetched

        return _without_refresh(await self._cache.get(key, fetch))

    async def _keep_renewed(self, name: str | None, renewed: Json) -> None:
        """A refresh token that a server put in place of the stored one: the old one may be worth nothing."""
        if name is not None and renewed is not None:
            material = await self.credential(name)
            if material.get(REFRESH) != renewed:
                await self.keep(name, {**material, REFRESH: renewed})


def _without_refresh(material: Material) -> Material:
    """What tasks are given: a refresh token is the keychain's own."""
    return {name: value for name, value in material.items() if name != REFRESH}


def _what(entry: Secret) -> str:
    return f"keychain entry {entry.name!r}"


async def _single(keychain: Keychain, entry: Secret) -> Material:
    return _parts(await keychain.text(entry.source, _what(entry)))


def _parts(text: str) -> Material:
    """A secret's text as its value; one that is a JSON mapping has the mapping's fields as well."""
    return {**(fields_of(text) or {}), "value": text}


async def _static(keychain: Keychain, entry: Secret) -> Material:
    return {key: value for key, value in entry.source.items() if key != "desc"}


async def _read_stored(keychain: Keychain, entry: Secret) -> Material:
    return await keychain.credential(str(entry.source["credential"]))


async def _read_managed(keychain: Keychain, entry: Secret) -> Material:
    provider = entry.source.get("provider", "env")
    if provider in PROVIDERS:
        source = {key: value for key, value in entry.source.items() if key not in ("provider", "desc")}
        return await keychain.fetch(entry, provider, source)
    if provider not in ("env", "file"):
        raise NotFound(f"{_what(entry)}: there is no provider {provider!r} here")
    field = "env" if provider == "env" else "path"
    secret_name = next((entry.source[key] for key in (field, "key", "secret") if key in entry.source), None)
    if secret_name is None and provider == "file":
        raise NotFound(f"{_what(entry)}: it names no file; write path: …")
    return _parts(await keychain.text({field: secret_name or entry.name.upper()}, _what(entry)))


async def _read_fields(keychain: Keychain, entry: Secret) -> Material:
    """Fields one by one; a source beside the kind fills the entry's main field."""
    source = dict(entry.source)
    whole: Material = {key: source.pop(key) for key in ("env", "path") if key in source}
    material: Material = {"kind": entry.kind}
    if "credential" in source:
        material |= await keychain.credential(str(source.pop("credential")))
    for key, value in source.items():
        if key != "desc":
            material[key] = await keychain.field(value, f"{_what(entry)} field {key!r}")
    if whole:
        material[MAIN_FIELD[entry.kind]] = await keychain.text(whole, _what(entry))
    main = MAIN_FIELD[entry.kind]
    if main in material:
        material.setdefault("value", material[main])
    return material


async def _fetch(keychain: Keychain, entry: Secret) -> Material:
    source = {key: value for key, value in entry.source.items() if key != "desc"}
    return await keychain.fetch(entry, entry.kind, source)


RESOLVERS: dict[str, Resolve] = {
    "env": _single,
    "file": _single,
    "static": _static,
    "credential": _read_stored,
    "secret_manager": _read_managed,
    "postgres_credential": _read_fields,
    "bearer": _read_fields,
    "basic": _read_fields,
    "api_key": _read_fields,
    **dict.fromkeys(PROVIDERS, _fetch),
}

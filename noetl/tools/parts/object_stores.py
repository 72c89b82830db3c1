"""Object stores by address: S3, Google Cloud, Azure and folders. Bytes in, bytes out."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from noetl.errors import MissingExtra
from noetl.json_value import Json
from noetl.ports.call import Call, Secret
from noetl.ports.envelope import Failed
from noetl.tools.parts.bucket import PIECE, Bucket, Mode, Opened
from noetl.tools.parts.guard import reachable
from noetl.tools.parts.paths import inside

if TYPE_CHECKING:
    from obstore import GetResult, ObjectMeta
    from obstore.store import ObjectStore

STORES_MAX = 32
PARTS_AT_ONCE = 4
# What a secret may say about a store, by the address's scheme.
_SETTINGS = {
    "s3": "access_key_id secret_access_key session_token region endpoint virtual_hosted_style_request",
    "gs": "service_account_path service_account_key application_credentials",
    "az": "account_name account_key client_id client_secret tenant_id sas_key endpoint",
}


async def bucket(address: str, call: Call) -> Bucket:
    """The bucket of an address; a plain path is a folder inside the allowed folders."""
    try:
        scheme = urlsplit(address).scheme.lower()
    except ValueError:
        raise Failed("input", f"{address[:100]!r} is no address of a bucket") from None
    if scheme == "nats":
        from noetl.tools.parts.nats_bucket import NatsBucket

        return NatsBucket(address, call)
    for endpoint in _endpoints(call.auth or {}):
        await reachable(endpoint, call.network)
    return call.resource("object", Stores).get(address, scheme, call)


def _endpoints(secret: Secret) -> Iterator[str]:
    """Addresses that a secret puts in place of the service's own."""
    if secret.get("endpoint"):
        yield str(secret["endpoint"])
    with suppress(msgspec.DecodeError, RecursionError):
        account = msgspec.json.decode(str(secret.get("service_account_key") or "{}"))
        if isinstance(account, dict) and account.get("gcs_base_url"):
            yield str(account["gcs_base_url"])


class Stores:
    """The object stores of a worker: making one sets up connections."""

    def __init__(self) -> None:
        self._stores: OrderedDict[str, Store] = OrderedDict()

    def get(self, address: str, scheme: str, call: Call) -> "Store":
        if scheme in ("", "file"):
            folder = inside(call, address.removeprefix("file://"))
            return Store(_local(folder), lambda key: inside(call, f"{folder}/{key}"))
        key = repr((address, sorted((call.auth or {}).items())))
        if key not in self._stores:
            self._stores[key] = Store(_remote(address, scheme, call.auth or {}))
        self._stores.move_to_end(key)
        if len(self._stores) > STORES_MAX:
            self._stores.popitem(last=False)
        return self._stores[key]

    async def close(self) -> None:
        """Forget them; they close with their last use."""
        self._stores.clear()


def _obstore() -> Any:
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ModuleNotFoundError:
        raise MissingExtra("obstore", "server") from None
    return obstore


def _local(folder: str) -> "ObjectStore":
    store: ObjectStore = _obstore().store.LocalStore(folder, mkdir=True)
    return store


def _remote(address: str, scheme: str, secret: Secret) -> "ObjectStore":
    plain = {"s3a": "s3", "gcs": "gs", "azure": "az", "abfs": "az"}.get(scheme, scheme)
    names = _SETTINGS.get(plain)
    if plain == "gs":
        address = f"gs{address[len(scheme) :]}"
    if names is None:
        raise Failed("input", f"{address!r} is no object store; use s3://, gs://, az://, nats:// or a folder")
    config: dict[str, Json] = {name: secret[name] for name in names.split() if name in secret}
    if not config:
        config["skip_signature"] = True  # without a secret, nothing of the machine's own is used
    options = {"timeout": "60s", "connect_timeout": "10s", "allow_http": True}
    retries = {"max_retries": 0}  # trying again is the policy's decision
    obstore = _obstore()
    try:
        store: ObjectStore = obstore.store.from_url(
            address, config=config, client_options=options, retry_config=retries
        )
    except (obstore.exceptions.BaseError, ValueError) as problem:
        raise Failed("input", f"{address!r} cannot be used: {_first_line(problem)}") from None
    return store


class Store:
    """A bucket that obstore speaks to. In a folder, `check` refuses a key that leads out over a link."""

    def __init__(self, store: "ObjectStore", check: Callable[[str], str] | None = None) -> None:
        self.store = store
        self.check = check

    def _key(self, key: str) -> str:
        if self.check is not None:
            self.check(key)
        return key

    async def open(self, key: str) -> Opened:
        with naming_failures(key):
            response = await _obstore().get_async(self.store, self._key(key))
            return Opened(int(response.meta["size"]), _pieces(response, key))

    async def head(self, key: str) -> dict[str, Json]:
        with naming_failures(key):
            return _entry(await _obstore().head_async(self.store, self._key(key)))

    async def put(self, key: str, raw: bytes | BufferedReader, mode: Mode) -> str | None:
        """Keep bytes under a key; many of them go in parts, which appear together at the end."""
        with naming_failures(key):
            how = "create" if mode == "create" else "overwrite"
            stored_object = await _obstore().put_async(
                self.store, self._key(key), raw, mode=how, max_concurrency=PARTS_AT_ONCE
            )
        tag: str | None = stored_object["e_tag"]
        return tag

    async def list(self, prefix: str | None, limit: int) -> list[dict[str, Json]]:
        """The objects under a prefix, in the order of their keys."""
        entries: list[dict[str, Json]] = []
        with naming_failures(prefix or ""):
            async for batch in _obstore().list(self.store, prefix, chunk_size=min(limit, 1000)):
                entries.extend(_entry(meta) for meta in batch)
                if self.check is None and len(entries) >= limit:  # a folder has no order of its own
                    break
        return sorted(entries, key=lambda entry: str(entry["key"]))[:limit]

    async def delete(self, key: str) -> None:
        with naming_failures(key):
            await _obstore().delete_async(self.store, self._key(key))


async def _pieces(response: "GetResult", key: str) -> AsyncIterator[bytes]:
    with naming_failures(key):
        async for piece in response.stream(min_chunk_size=PIECE):
            yield bytes(piece)


@contextmanager
def naming_failures(key: str) -> Iterator[None]:
    """Errors inside become failures that name the object."""
    try:
        yield
    except (_obstore().exceptions.BaseError, OSError, ValueError) as problem:
        raise _failure(problem, key) from None


def _entry(meta: "ObjectMeta") -> dict[str, Json]:
    modified = meta["last_modified"].isoformat()
    return {"key": meta["path"], "bytes": meta["size"], "modified": modified, "etag": meta["e_tag"]}


def _first_line(problem: BaseException) -> str:
    return str(problem).partition("\n")[0].removesuffix(': <?xml version="1.0" encoding="UTF-8"?>')


def _failure(problem: BaseException, key: str) -> Failed:
    errors = _obstore().exceptions
    what = _first_line(problem)
    if isinstance(problem, FileNotFoundError | errors.NotFoundError):
        return Failed("not_found", f"there is no object {key!r}", answered=True)
    if isinstance(problem, errors.AlreadyExistsError | FileExistsError):
        return Failed("exists", f"the object {key!r} is there already", answered=True)
    if isinstance(problem, errors.PermissionDeniedError | errors.UnauthenticatedError | PermissionError):
        return Failed("auth", f"access to {key!r} was refused: {what}", answered=True)
    if isinstance(problem, ValueError):
        return Failed("input", f"{key!r} cannot be used as a key: {what}")
    if "error sending request" in what:
        return Failed("connect", f"the store cannot be reached: {what}", retryable=True)
    if not key and "404 Not Found" in what:
        return Failed("not_found", f"there is no such bucket: {what}", answered=True)
    retryable = isinstance(problem, errors.GenericError)
    return Failed("object", f"{key!r}: {what}", code=type(problem).__name__, retryable=retryable)

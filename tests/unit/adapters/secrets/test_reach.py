"""What a playbook's keychain may reach: addresses, files, and what belongs to the machine itself."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug import Request, Response

from noetl.adapters.memory.store import MemoryStore
from noetl.adapters.secrets.keychain import Keychain
from noetl.adapters.secrets.sealed_credentials import Sealer
from noetl.errors import BackendError, NotFound
from tests.unit.adapters.secrets.ask import KV, answers, entries_of


async def test_an_address_that_a_playbook_names_is_reached_over_the_deployments_connections(
    tmp_path, httpserver, base
):
    from noetl.ports.network import Network
    from noetl.tools.parts.guard import connector

    environ: Callable[[str], str | None] = {"VAULT_ADDR": base, "VAULT_TOKEN": "t"}.get
    keychain = Keychain(
        MemoryStore(lambda: 1),
        lambda: Sealer([b"k" * 32]),
        environ,
        tmp_path,
        connector=lambda: connector(Network()),
    )
    answers(httpserver, "GET", "/v1/secret/data/x", KV)
    answers(httpserver, "POST", "/token", {"access_token": "t"})
    written = {
        "name": "w",
        "kind": "oauth2",
        "token_url": f"{base}/token",
        "client_id": "c",
        "client_secret": "s",
    }
    entries = entries_of(written, {"name": "own", "kind": "vault", "path": "x"})
    with pytest.raises(BackendError, match="loopback address"):
        await keychain.material(entries, "w")
    assert (await keychain.material(entries, "own"))["user"] == "app"


async def test_where_a_written_service_account_logs_in_is_an_address_that_a_playbook_names(
    tmp_path, httpserver, base, private_key
):
    from noetl.ports.network import Network
    from noetl.tools.parts.guard import connector

    keychain = Keychain(
        MemoryStore(lambda: 1),
        lambda: Sealer([b"k" * 32]),
        lambda name: None,
        tmp_path,
        connector=lambda: connector(Network()),
    )
    account = {"private_key": private_key, "client_email": "x@shop.iam", "token_uri": f"{base}/token"}
    source = {"project": "p", "secret": "db", "service_account": json.dumps(account)}
    entries = entries_of({"name": "tok", "kind": "gcp", **source})
    with pytest.raises(BackendError, match="loopback address"):
        await keychain.material(entries, "tok")
    assert httpserver.log == []


async def test_an_answer_that_comes_in_pieces_is_read_whole_and_one_without_end_is_not(
    world, httpserver, base
):
    text = json.dumps(KV)
    pieces = {"/v1/secret/data/x": [text[:9], text[9:]], "/v1/secret/data/long": ["[" * 70_000] * 16}

    def handle(request: Request) -> Response:
        return Response((piece for piece in pieces[request.path]), content_type="application/json")

    for path in pieces:
        httpserver.expect_request(path).respond_with_handler(handle)
    assert (await world.get("vault", address=base, path="x", token="t"))["user"] == "app"
    with pytest.raises(NotFound, match="more than 1048576 bytes"):
        await world.get("vault", address=base, path="long", token="t")


@pytest.mark.parametrize("variable", ["NOETL_KEY", "NOETL_TOKEN", "noetl_key"])
async def test_the_keys_of_noetl_itself_are_no_secrets_of_a_playbook(world, variable):
    world.environ[variable] = "canary"
    with pytest.raises(NotFound, match="noetl's own"):
        await world.get("env", env=variable)


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "vault", "address": "x"},
        {"kind": "vault", "path": "x", "pth": 1},
        {"kind": "gcp", "project": "x"},
        {"kind": "azure"},
        {"kind": "oauth2", "client_id": "x"},
        {"kind": "oauth2", "token_url": "x", "client_auth": "both"},
        {"kind": "hashicorp", "path": "x"},
        {"kind": "secret_manager", "provider": "hashicorp"},
    ],
)
def test_an_entry_that_cannot_be_is_found_before_anything_runs(entry):
    with pytest.raises(AssertionError):
        entries_of({"name": "tok", **entry})


@pytest.mark.parametrize(
    "way", ["home/key", "./home/../home/key", "link", "folder/key", "/proc/self/environ"]
)
async def test_files_of_noetl_itself_are_no_secrets_of_a_playbook(tmp_path, way):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("canary")
    (tmp_path / "link").symlink_to("home/key")
    (tmp_path / "folder").symlink_to("home")
    (tmp_path / "own").write_text("mine")
    closed = (tmp_path / "home", Path("/proc"))
    store = MemoryStore(lambda: 1)
    environ: Callable[[str], str | None] = {"VAULT_ADDR": "http://127.0.0.1:9"}.get
    keychain = Keychain(store, lambda: Sealer([b"k" * 32]), environ, tmp_path, closed=closed)
    entries = entries_of(
        {"name": "tok", "kind": "file", "path": way},
        {"name": "jwt", "kind": "vault", "path": "x", "role": "r", "jwt_path": way},
        {"name": "folder", "kind": "k8s", "folder": str(Path(way).parent)},
        {"name": "own", "kind": "file", "path": "own"},
    )
    for name in ("tok", "jwt", "folder"):
        with pytest.raises(NotFound, match="noetl's own"):
            await keychain.material(entries, name)
    assert await keychain.material(entries, "own") == {"value": "mine"}

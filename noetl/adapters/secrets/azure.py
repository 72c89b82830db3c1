"""Keychain provider `azure`: Key Vault, as an application or as the machine's managed identity."""

from urllib.parse import quote

from noetl.adapters.secrets.provider_http import Ask, material_of
from noetl.adapters.secrets.token_cache import Fetched
from noetl.errors import NotFound
from noetl.json_value import JsonObject

LOGIN = "https://login.microsoftonline.com"
METADATA = "http://169.254.169.254"
RESOURCE = "https://vault.azure.net"
VERSION = "7.4"


async def fetch(ask: Ask) -> Fetched:
    """A secret of a vault."""
    vault = ask.text("vault", "AZURE_KEY_VAULT").rstrip("/")
    own = "://" not in vault  # a name; an address could be anybody's
    address = f"https://{quote(vault, safe='')}.vault.azure.net" if own else vault
    # The machine's own login is shown to no address that a playbook names.
    explicit = "login" in ask.written or (not own and "vault" in ask.written)
    token = await _token(ask, machine=not explicit)
    version = ask.optional("version")
    url = f"{address}/secrets/{quote(ask.text('secret'), safe='')}{f'/{quote(version)}' if version else ''}"
    headers, params = {"Authorization": f"Bearer {token}"}, {"api-version": VERSION}
    answer = await ask.json("GET", url, named_by=None if own else "vault", headers=headers, params=params)
    text = answer.get("value")
    if not isinstance(text, str):
        raise NotFound(f"{ask.what}: {url} holds no value")
    return Fetched(material_of(text, ask))


async def _token(ask: Ask, *, machine: bool) -> str:
    """A token for the vault: of an application, or of the machine where it may be used."""
    tenant = ask.optional("tenant_id", "AZURE_TENANT_ID" if machine else None)
    if tenant is not None:
        answer = await _application(ask, tenant, machine)
    elif machine:
        answer = await _identity(ask)
    else:
        raise NotFound(f"{ask.what}: an address of its own needs tenant_id, client_id and client_secret")
    if not isinstance(answer.get("access_token"), str):
        raise NotFound(f"{ask.what}: the login gave no access_token")
    return str(answer["access_token"])


async def _application(ask: Ask, tenant: str, machine: bool) -> JsonObject:
    form = {
        "grant_type": "client_credentials",
        "client_id": ask.text("client_id", "AZURE_CLIENT_ID" if machine else None),
        "client_secret": ask.text("client_secret", "AZURE_CLIENT_SECRET" if machine else None),
        "scope": f"{RESOURCE}/.default",
    }
    host = ask.text("login", default=LOGIN).rstrip("/")
    url = f"{host}/{quote(tenant, safe='')}/oauth2/v2.0/token"
    return await ask.json("POST", url, named_by="login", data=form)


async def _identity(ask: Ask) -> JsonObject:
    host = (ask.environ("AZURE_POD_IDENTITY_AUTHORITY_HOST") or METADATA).rstrip("/")
    params = {"api-version": "2018-02-01", "resource": RESOURCE}
    if client_id := ask.optional("client_id", "AZURE_CLIENT_ID"):
        params["client_id"] = client_id
    url = f"{host}/metadata/identity/oauth2/token"
    return await ask.json("GET", url, params=params, headers={"Metadata": "true"})

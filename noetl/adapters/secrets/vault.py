"""Keychain provider `vault`: HashiCorp Vault's KV version 2, by token, AppRole or Kubernetes login."""

from urllib.parse import quote

from noetl.adapters.secrets.provider_http import Ask, chosen, part
from noetl.adapters.secrets.token_cache import Fetched
from noetl.errors import NotFound

JWT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount/token"


async def fetch(ask: Ask) -> Fetched:
    """The fields of a secret, or one of them."""
    address = ask.text("address", "VAULT_ADDR").rstrip("/")
    mount, path = ask.text("mount", default="secret").strip("/"), ask.text("path").strip("/")
    if ".." in f"{mount}/{path}".split("/"):
        raise NotFound(f"{ask.what}: {mount}/{path} is no path of a secret")
    headers = {"X-Vault-Token": await _token(ask, address), **_namespace(ask)}
    url = f"{address}/v1/{quote(mount)}/data/{quote(path)}"
    version = ask.optional("version")
    params = {"version": version} if version else {}
    answer = await ask.json("GET", url, named_by="address", headers=headers, params=params)
    fields = part(answer, "data").get("data")
    if not isinstance(fields, dict):
        raise NotFound(f"{ask.what}: {mount}/{path} holds no value; was this version deleted?")
    return Fetched(chosen(fields, ask))


def _namespace(ask: Ask) -> dict[str, str]:
    namespace = ask.optional("namespace", "VAULT_NAMESPACE")
    return {"X-Vault-Namespace": namespace} if namespace else {}


async def _token(ask: Ask, address: str) -> str:
    """The token itself, or the one that a login gives."""
    if ask.optional("role_id"):
        login = {"role_id": ask.text("role_id"), "secret_id": ask.text("secret_id")}
        return await _login(ask, address, ask.text("auth_mount", default="approle"), login)
    if ask.optional("role"):
        if "address" in ask.written:  # whoever has the pod's token is the pod
            raise NotFound(f"{ask.what}: a login by role goes to VAULT_ADDR alone; leave address out")
        jwt = await ask.named_file(ask.text("jwt_path", default=JWT_PATH))
        login = {"role": ask.text("role"), "jwt": jwt}
        return await _login(ask, address, ask.text("auth_mount", default="kubernetes"), login)
    if "address" in ask.written:  # the machine's own token goes to the machine's own server alone
        return ask.text("token")
    return ask.text("token", "VAULT_TOKEN")


async def _login(ask: Ask, address: str, mount: str, login: dict[str, str]) -> str:
    url = f"{address}/v1/auth/{quote(mount.strip('/'))}/login"
    answer = await ask.json("POST", url, named_by="address", json=login, headers=_namespace(ask))
    token = part(answer, "auth").get("client_token")
    if not isinstance(token, str):
        raise NotFound(f"{ask.what}: the login at {url} gave no token")
    return token

"""Keychain provider `gcp`: Google Secret Manager, as a service account or as the machine's own identity."""

import base64
from urllib.parse import quote

import msgspec

from noetl.adapters.secrets.provider_http import Ask, decoded, material_of, part
from noetl.adapters.secrets.token_cache import Fetched
from noetl.errors import NotFound
from noetl.json_value import JsonObject

ENDPOINT = "https://secretmanager.googleapis.com"
METADATA_HOST = "metadata.google.internal"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
LIFE_S = 3600


async def fetch(ask: Ask) -> Fetched:
    """A version of a secret."""
    token, project = await _login(ask)
    place = "/".join(
        quote(part, safe="")
        for part in (
            "projects",
            ask.optional("project") or project or ask.text("project", "GOOGLE_CLOUD_PROJECT"),
            "secrets",
            ask.text("secret"),
            "versions",
            ask.text("version", default="latest"),
        )
    )
    endpoint = ask.text("endpoint", default=ENDPOINT).rstrip("/")
    headers = {"Authorization": f"Bearer {token}"}
    answer = await ask.json("GET", f"{endpoint}/v1/{place}:access", named_by="endpoint", headers=headers)
    try:
        text = decoded(part(answer, "payload").get("data"))
    except ValueError:
        raise NotFound(f"{ask.what}: {place} holds no text") from None
    return Fetched(material_of(text, ask))


async def _login(ask: Ask) -> tuple[str, str | None]:
    """An access token, and the project that the login belongs to."""
    account, named_by = await _account(ask)
    # A token of the machine itself never goes to an address that a playbook names.
    if named_by is None and "endpoint" in ask.written:
        raise NotFound(f"{ask.what}: an endpoint of its own needs a service account; write credential: …")
    if account is None:
        host = ask.environ("GCE_METADATA_HOST") or METADATA_HOST
        url = f"http://{host}/computeMetadata/v1/instance/service-accounts/default/token"
        answer = await ask.json("GET", url, headers={"Metadata-Flavor": "Google"})
        return _token(ask, answer), None
    url = str(account.get("token_uri", "https://oauth2.googleapis.com/token"))
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": _assertion(ask, account, url),
    }
    answer = await ask.json("POST", url, named_by=named_by, data=form)
    project = account.get("project_id")
    return _token(ask, answer), project if isinstance(project, str) else None


def _token(ask: Ask, answer: JsonObject) -> str:
    if not isinstance(answer.get("access_token"), str):
        raise NotFound(f"{ask.what}: the login gave no access_token")
    return str(answer["access_token"])


async def _account(ask: Ask) -> tuple[JsonObject | None, str | None]:
    """The service account, and the field it came from: of a stored credential, JSON text, or the machine."""
    if "private_key" in ask.fields:
        return dict(ask.fields), "token_uri"
    named_by = next((name for name in ("service_account", "value") if ask.optional(name)), None)
    text = None if named_by is None else ask.text(named_by)
    file = ask.environ("GOOGLE_APPLICATION_CREDENTIALS")
    if text is None and file:
        text = await ask.file(file)
    if text is None:
        return None, None
    try:
        account = msgspec.json.decode(text, type=JsonObject)
    except msgspec.DecodeError:
        account = {}
    if "private_key" not in account or "client_email" not in account:
        raise NotFound(f"{ask.what}: the service account is not the JSON of a key file")
    return account, named_by


def _assertion(ask: Ask, account: JsonObject, audience: str) -> str:
    """A JWT that the account's key signs (RFC 7523)."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    now = int(ask.clock())
    header = {"alg": "RS256", "typ": "JWT"}
    if key_id := account.get("private_key_id"):
        header["kid"] = str(key_id)
    claims = {
        "iss": account["client_email"],
        "scope": SCOPE,
        "aud": audience,
        "iat": now,
        "exp": now + LIFE_S,
    }
    signed = b".".join(_url64(msgspec.json.encode(part)) for part in (header, claims))
    try:
        key = serialization.load_pem_private_key(str(account["private_key"]).encode(), password=None)
    except ValueError:
        raise NotFound(f"{ask.what}: the private_key of the service account cannot be read") from None
    if not isinstance(key, RSAPrivateKey):
        raise NotFound(f"{ask.what}: the private_key of the service account is no RSA key")
    return (signed + b"." + _url64(key.sign(signed, PKCS1v15(), hashes.SHA256()))).decode()


def _url64(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")

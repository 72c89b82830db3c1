"""Keychain kind `oauth2`: an access token by client credentials or by a refresh token (RFC 6749)."""

from noetl.adapters.secrets.provider_http import Ask
from noetl.adapters.secrets.token_cache import Fetched
from noetl.errors import NotFound
from noetl.json_value import Json, JsonObject

UNSAID_S = 300.0  # how long a token is used whose life the server does not tell


async def fetch(ask: Ask) -> Fetched:
    """A new access token, and how long it lasts."""
    url = ask.text("token_url")
    form, headers = _grant(ask), {"Accept": "application/json"}
    client_id, client_secret = ask.text("client_id"), ask.optional("client_secret")
    if client_secret is None or ask.optional("client_auth") == "body":
        form["client_id"] = client_id
        form |= {"client_secret": client_secret} if client_secret else {}
    else:
        headers["Authorization"] = _basic(client_id, client_secret)
    answer = await ask.json("POST", url, named_by="token_url", data=form, headers=headers)
    token = answer.get("access_token")
    if not isinstance(token, str) or not token:
        raise NotFound(f"{ask.what}: {url} answered without an access_token")
    material: JsonObject = {"kind": "bearer", "token": token, "value": token}
    if isinstance(answer.get("refresh_token"), str):
        material["refresh_token"] = answer["refresh_token"]
    return Fetched(material, _life(answer.get("expires_in")))


def _grant(ask: Ask) -> dict[str, str]:
    refresh = ask.optional("refresh_token")
    form = {"grant_type": "client_credentials"}
    if refresh is not None:
        form = {"grant_type": "refresh_token", "refresh_token": refresh}
    scope = ask.fields.get("scope")
    if scope:
        form["scope"] = " ".join(map(str, scope)) if isinstance(scope, list) else str(scope)
    if audience := ask.optional("audience"):
        form["audience"] = audience
    return form


def _basic(user: str, password: str) -> str:
    """Both are form-encoded first (RFC 6749, 2.3.1)."""
    import base64
    from urllib.parse import quote_plus

    login = f"{quote_plus(user)}:{quote_plus(password)}".encode()
    return f"Basic {base64.b64encode(login).decode()}"


def _life(seconds: Json) -> float:
    try:
        return max(float(seconds), 1.0) if isinstance(seconds, str | int | float) else UNSAID_S
    except ValueError:
        return UNSAID_S

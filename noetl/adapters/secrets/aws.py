"""Keychain provider `aws`: Secrets Manager and Systems Manager parameters, with Signature Version 4."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

import msgspec

from noetl.adapters.secrets.provider_http import Ask, material_of, part
from noetl.adapters.secrets.token_cache import Fetched
from noetl.errors import NotFound

METADATA = "http://169.254.169.254"
ALGORITHM = "AWS4-HMAC-SHA256"
REGION = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Keys:
    """Who signs."""

    id: str
    secret: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What a signature is good for."""

    region: str
    service: str
    moment: datetime


async def fetch(ask: Ask) -> Fetched:
    """A secret, or a parameter."""
    service, target, body = _request(ask)
    region = _region(ask)
    url = ask.text("endpoint", default=f"https://{service}.{region}.amazonaws.com").rstrip("/") + "/"
    scope = Scope(region, service, datetime.fromtimestamp(ask.clock(), UTC))
    raw = msgspec.json.encode(body)
    headers = {"content-type": "application/x-amz-json-1.1", "x-amz-target": target}
    headers |= signature_headers("POST", url, headers, raw, await _keys(ask), scope)
    answer = await ask.send("POST", url, named_by="endpoint", data=raw, headers=headers)
    if answer.status != 200 or not isinstance(answer.body, dict):
        raise ask.refusal(url, answer)
    parameter = part(answer.body, "Parameter") or answer.body
    text = parameter.get("SecretString", parameter.get("Value"))
    if text is None:
        raise NotFound(f"{ask.what}: the secret is binary; noetl reads texts")
    return Fetched(material_of(str(text), ask))


def _region(ask: Ask) -> str:
    """The region; it becomes a part of a host's name, so it has no sign that ends one."""
    region = ask.text("region", "AWS_REGION", ask.environ("AWS_DEFAULT_REGION"))
    if not REGION.fullmatch(region):
        raise NotFound(f"{ask.what}: {region[:80]!r} is no region; write one such as eu-west-1")
    return region


def _request(ask: Ask) -> tuple[str, str, dict[str, object]]:
    """The service, its action and what it is asked."""
    if parameter := ask.optional("parameter"):
        return "ssm", "AmazonSSM.GetParameter", {"Name": parameter, "WithDecryption": True}
    body: dict[str, object] = {"SecretId": ask.text("secret")}
    if stage := ask.optional("version"):
        body["VersionStage"] = stage
    return "secretsmanager", "secretsmanager.GetSecretValue", body


async def _keys(ask: Ask) -> Keys:
    """The entry's own keys, those of the environment, or those of the machine's role."""
    if key_id := ask.optional("access_key_id"):
        return Keys(key_id, ask.text("secret_access_key"), ask.optional("session_token"))
    # Keys of the machine itself never sign for an address that a playbook names.
    if "endpoint" in ask.written:
        raise NotFound(f"{ask.what}: an endpoint of its own needs access_key_id and secret_access_key")
    if key_id := ask.environ("AWS_ACCESS_KEY_ID"):
        secret = ask.text("secret_access_key", "AWS_SECRET_ACCESS_KEY")
        return Keys(key_id, secret, ask.environ("AWS_SESSION_TOKEN"))
    return await _machine_keys(ask)


async def _machine_keys(ask: Ask) -> Keys:
    import aiohttp

    host = ask.environ("AWS_EC2_METADATA_SERVICE_ENDPOINT") or METADATA
    place = f"{host.rstrip('/')}/latest"
    life = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
            async with session.put(f"{place}/api/token", headers=life) as answer:
                token = {"X-aws-ec2-metadata-token": await answer.text()}
            roles = f"{place}/meta-data/iam/security-credentials/"
            async with session.get(roles, headers=token) as answer:
                role = (await answer.text()).split("\n")[0].strip() if answer.status == 200 else ""
    except (aiohttp.ClientError, OSError, TimeoutError):
        role = ""
    if not role:
        raise NotFound(
            f"{ask.what}: there are no keys: not in the entry, the environment, or from the machine's role"
        )
    keys = await ask.json("GET", roles + role, headers=token)
    return Keys(str(keys["AccessKeyId"]), str(keys["SecretAccessKey"]), str(keys["Token"]))


def signature_headers(
    method: str, url: str, headers: Mapping[str, str], body: bytes, keys: Keys, scope: Scope
) -> dict[str, str]:
    """The headers that sign a request whose query is empty."""
    stamp = scope.moment.strftime("%Y%m%dT%H%M%SZ")
    parts = urlsplit(url)
    added = {"x-amz-date": stamp} | ({"x-amz-security-token": keys.session} if keys.session else {})
    covered = dict(sorted({"host": parts.netloc, **headers, **added}.items()))
    names = ";".join(covered)
    lines = "".join(f"{name}:{value.strip()}\n" for name, value in covered.items())
    request = "\n".join((method, parts.path or "/", "", lines, names, hashlib.sha256(body).hexdigest()))
    day = stamp[:8]
    place = f"{day}/{scope.region}/{scope.service}/aws4_request"
    text = "\n".join((ALGORITHM, stamp, place, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{keys.secret}".encode()
    for name in (day, scope.region, scope.service, "aws4_request"):
        key = hmac.digest(key, name.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"Credential={keys.id}/{place}, SignedHeaders={names}, Signature={signature}"
    return {**added, "authorization": f"{ALGORITHM} {credential}"}

"""Keychain kinds that fetch: what goes over the wire, what comes of the answer, and how often it is asked."""

import asyncio
import base64
import json
import ssl
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request

from noetl.adapters.secrets import aws, k8s
from noetl.adapters.secrets.token_cache import REFUSED_S, renewal_s
from noetl.errors import BackendError, NotFound
from noetl.ports.control import material_digest
from tests.unit.adapters.secrets.ask import KV, NOW, answers, entries_of


def form(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.get_data(as_text=True)).items()}


# ---- oauth2 ---------------------------------------------------------------------------------------------


async def test_client_credentials_give_a_bearer_token(world, httpserver, base):
    seen = answers(httpserver, "POST", "/token", {"access_token": "t0ken-1", "expires_in": 3600})
    world.environ["SECRET"] = "s3 cret"
    got = await world.get(
        "oauth2",
        token_url=f"{base}/token",
        client_id="me:1",
        client_secret={"env": "SECRET"},
        scope=["a", "b"],
        audience="api",
    )
    assert got == {"kind": "bearer", "token": "t0ken-1", "value": "t0ken-1"}
    assert form(seen[0]) == {"grant_type": "client_credentials", "scope": "a b", "audience": "api"}
    login = base64.b64decode(seen[0].headers["Authorization"].removeprefix("Basic ")).decode()
    assert login == "me%3A1:s3+cret"


async def test_a_client_may_also_name_itself_in_the_body(world, httpserver, base):
    seen = answers(httpserver, "POST", "/token", {"access_token": "t"})
    source = {"token_url": f"{base}/token", "client_id": "me", "client_secret": "s", "client_auth": "body"}
    await world.get("oauth2", **source)
    assert form(seen[0]) == {
        "grant_type": "client_credentials",
        "client_id": "me",
        "client_secret": "s",
    }
    assert "Authorization" not in seen[0].headers


async def test_a_refused_token_is_dropped_and_asked_for_once(world, httpserver, base):
    """Many tasks meet the refusal at once; one that comes right after the next token is not its fault."""
    bodies = [{"access_token": f"t-{n}", "refresh_token": f"r-{n}", "expires_in": 3600} for n in range(5)]
    seen = answers(httpserver, "POST", "/token", *bodies)
    source = {"token_url": f"{base}/token", "client_id": "me", "client_secret": "s", "refresh_token": "r"}
    entries = entries_of({"name": "tok", "kind": "oauth2", **source})

    async def get(refused: Any = None) -> dict[str, Any]:
        digest = None if refused is None else material_digest(refused)
        return await world.keychain.material(entries, "tok", digest)

    first = await get()
    second, *others = await asyncio.gather(*(get(first) for _ in range(20)))
    assert second["token"] == "t-1"
    assert others == [second] * 19
    assert form(seen[1])["refresh_token"] == "r-0"
    assert await get(first) == second
    assert await get(second) == second  # so soon: asking for a third would not help
    world.now += REFUSED_S
    assert (await get(second))["token"] == "t-2"
    assert len(seen) == 3


async def test_many_tasks_at_once_cost_one_request_and_a_token_is_renewed_early(world, httpserver, base):
    seen = answers(
        httpserver, "POST", "/token", *({"access_token": f"t{n}", "expires_in": 1000} for n in (1, 2))
    )
    source = {"token_url": f"{base}/token", "client_id": "me", "client_secret": "s"}
    tokens = await asyncio.gather(*(world.get("oauth2", **source) for _ in range(50)))
    assert ({token["token"] for token in tokens}, len(seen)) == ({"t1"}, 1)
    world.now += 899
    assert (await world.get("oauth2", **source))["token"] == "t1"
    world.now += 2  # a tenth of its life before the end
    assert (await world.get("oauth2", **source))["token"] == "t2"
    assert len(seen) == 2


@pytest.mark.parametrize("life, renewed", [(3600, 3240), (1000, 900), (300, 240), (100, 50), (10, 5)])
def test_a_minute_or_a_tenth_early_but_not_before_half_its_time(life, renewed):
    assert renewal_s(life) == renewed


async def test_a_refresh_token_that_the_server_replaces_is_kept_with_its_credential(world, httpserver, base):
    seen = answers(
        httpserver,
        "POST",
        "/token",
        *({"access_token": f"t{n}", "expires_in": 60, "refresh_token": f"r{n}"} for n in (1, 2)),
    )
    stored = {"client_id": "me", "client_secret": "s", "refresh_token": "r0"}
    await world.keychain.keep("login", stored)
    source = {"token_url": f"{base}/token", "credential": "login"}
    for _ in range(3):
        assert await world.get("oauth2", **source) == {"kind": "bearer", "token": "t1", "value": "t1"}
    assert await world.keychain.credential("login") == {**stored, "refresh_token": "r1"}
    world.now += 60
    assert (await world.get("oauth2", **source))["token"] == "t2"
    assert [form(request)["refresh_token"] for request in seen] == ["r0", "r1"]
    assert {form(request)["grant_type"] for request in seen} == {"refresh_token"}


async def test_a_replaced_refresh_token_without_a_place_is_remembered(world, httpserver, base):
    seen = answers(
        httpserver,
        "POST",
        "/token",
        *({"access_token": f"t{n}", "expires_in": 60, "refresh_token": f"r{n}"} for n in (1, 2)),
    )
    world.environ["REFRESH"] = "r0"
    source = {"token_url": f"{base}/token", "client_id": "me", "refresh_token": {"env": "REFRESH"}}
    await world.get("oauth2", **source)
    world.now += 60
    await world.get("oauth2", **source)
    assert [form(request)["refresh_token"] for request in seen] == ["r0", "r1"]


@pytest.mark.parametrize(
    "status, body, error, word",
    [
        (401, {"error": "invalid_client", "error_description": "no such client"}, NotFound, "no such client"),
        (400, {"error": "invalid_grant"}, NotFound, "invalid_grant"),
        (200, {"nothing": 1}, NotFound, "without an access_token"),
        (503, {}, BackendError, "answered 503"),
        (429, {}, BackendError, "answered 429"),
    ],
)
async def test_a_token_that_is_not_given_says_why_and_is_asked_for_again(
    world, httpserver, base, status, body, error, word
):
    seen = answers(httpserver, "POST", "/token", body, status=status)
    source = {"token_url": f"{base}/token", "client_id": "me", "client_secret": "canary-secret"}
    for _ in range(2):
        with pytest.raises(error, match=word) as caught:
            await world.get("oauth2", **source)
        assert "canary-secret" not in str(caught.value)
    assert len(seen) == 2


async def test_a_server_that_cannot_be_reached_is_a_backend_error(world):
    with pytest.raises(BackendError, match="cannot be reached"):
        await world.get("oauth2", token_url="http://127.0.0.1:9/token", client_id="me", client_secret="s")


# ---- vault ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vault", "secret_manager"])
async def test_vault_gives_the_fields_of_a_secret(world, httpserver, base, kind):
    seen = answers(httpserver, "GET", "/v1/kv/data/app/db", KV)
    more = {"provider": "vault"} if kind == "secret_manager" else {}
    world.environ["T"] = "hvs.1"
    source = {"address": base, "mount": "kv", "path": "app/db", "token": {"env": "T"}, "version": 3, **more}
    assert await world.get(kind, **source) == {"user": "app", "password": "pw-canary"}
    assert await world.get(kind, **source, key="password") == {"value": "pw-canary"}
    assert seen[0].headers["X-Vault-Token"] == "hvs.1"
    assert seen[0].args["version"] == "3"


async def test_vault_uses_the_environment_of_the_machine(world, httpserver, base):
    seen = answers(httpserver, "GET", "/v1/secret/data/x", KV)
    world.environ |= {"VAULT_ADDR": base, "VAULT_TOKEN": "hvs.2", "VAULT_NAMESPACE": "team"}
    assert (await world.get("vault", path="x"))["user"] == "app"
    assert (seen[0].headers["X-Vault-Token"], seen[0].headers["X-Vault-Namespace"]) == ("hvs.2", "team")


async def test_the_machines_token_goes_to_no_address_that_a_playbook_names(world, httpserver, base):
    world.environ |= {"VAULT_TOKEN": "hvs.own"}
    with pytest.raises(NotFound, match="no token"):
        await world.get("vault", address=base, path="x")
    assert httpserver.log == []


@pytest.mark.parametrize("mount, login", [("approle", "approle"), ("kubernetes", "kubernetes")])
async def test_vault_logs_in_by_role(world, httpserver, base, tmp_path, mount, login):
    answers(httpserver, "GET", "/v1/secret/data/x", KV)
    answer = {"auth": {"client_token": "hvs.login", "lease_duration": 3600}}
    seen = answers(httpserver, "POST", f"/v1/auth/{mount}/login", answer)
    (tmp_path / "jwt").write_text("jwt-of-the-pod\n")
    by = {
        "approle": {"role_id": "r", "secret_id": "s"},
        "kubernetes": {"role": "reader", "jwt_path": str(tmp_path / "jwt")},
    }[login]
    world.environ["VAULT_ADDR"] = base
    assert (await world.get("vault", path="x", **by))["user"] == "app"
    sent = {"approle": by, "kubernetes": {"role": "reader", "jwt": "jwt-of-the-pod"}}[login]
    assert seen[0].get_json() == sent
    assert httpserver.log[-1][0].headers["X-Vault-Token"] == "hvs.login"


@pytest.mark.parametrize("more", [{}, {"jwt_path": "jwt"}, {"jwt_path": "/proc/self/environ"}])
async def test_a_pods_login_goes_to_no_address_that_a_playbook_names(world, httpserver, base, more, tmp_path):
    (tmp_path / "jwt").write_text("jwt-of-the-pod")
    with pytest.raises(NotFound, match="VAULT_ADDR alone"):
        await world.get("vault", address=base, path="x", role="r", **more)
    assert httpserver.log == []


@pytest.mark.parametrize(
    "status, body, word",
    [
        (404, {"errors": []}, "answered 404"),
        (403, {"errors": ["permission denied"]}, "permission denied"),
        (200, {"data": {"data": None}}, "deleted"),
    ],
)
async def test_a_secret_that_vault_does_not_give_is_not_found(world, httpserver, base, status, body, word):
    answers(httpserver, "GET", "/v1/secret/data/x", body, status=status)
    with pytest.raises(NotFound, match=word):
        await world.get("vault", address=base, path="x", token="t")


async def test_a_field_that_a_secret_does_not_have_is_told_with_those_it_has(world, httpserver, base):
    answers(httpserver, "GET", "/v1/secret/data/x", KV)
    with pytest.raises(NotFound, match="no field 'pass'; it has password, user") as caught:
        await world.get("vault", address=base, path="x", token="t", key="pass")
    assert "pw-canary" not in str(caught.value)


async def test_a_path_cannot_leave_its_mount(world, httpserver, base):
    seen = answers(httpserver, "GET", "/v1/sys/seal-status", {})
    with pytest.raises(NotFound, match="no path of a secret"):
        await world.get("vault", address=base, path="../../sys/seal-status", token="t")
    assert seen == []


# ---- gcp ------------------------------------------------------------------------------------------------


def gcp_secret(text: str) -> dict[str, Any]:
    return {
        "name": "projects/1/secrets/s/versions/4",
        "payload": {"data": base64.b64encode(text.encode()).decode()},
    }


async def test_gcp_signs_in_as_a_service_account(world, httpserver, base, private_key):
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

    logins = answers(httpserver, "POST", "/token", {"access_token": "ya29.x", "expires_in": 3600})
    seen = answers(
        httpserver, "GET", "/v1/projects/shop/secrets/db/versions/latest:access", gcp_secret('{"a": 1}')
    )
    account = {
        "type": "service_account",
        "project_id": "shop",
        "private_key_id": "k1",
        "private_key": private_key,
        "client_email": "x@shop.iam",
        "token_uri": f"{base}/token",
    }
    await world.keychain.keep("sa", account)
    assert await world.get("gcp", credential="sa", secret="db", endpoint=base) == {"a": 1}
    assert seen[0].headers["Authorization"] == "Bearer ya29.x"
    sent = form(logins[0])
    assert sent["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    header, claims, signature = sent["assertion"].split(".")

    def raw(part: str) -> bytes:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))

    assert json.loads(raw(header)) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    assert json.loads(raw(claims)) == {
        "iss": "x@shop.iam",
        "scope": "https://www.googleapis.com/auth/cloud-platform",
        "aud": f"{base}/token",
        "iat": int(NOW),
        "exp": int(NOW) + 3600,
    }
    public: Any = serialization.load_pem_private_key(private_key.encode(), None).public_key()
    public.verify(raw(signature), f"{header}.{claims}".encode(), PKCS1v15(), hashes.SHA256())


async def test_gcp_uses_the_identity_of_the_machine(world, httpserver, monkeypatch):
    from noetl.adapters.secrets import gcp

    path = "/computeMetadata/v1/instance/service-accounts/default/token"
    seen = answers(httpserver, "GET", path, {"access_token": "ya29.m", "expires_in": 10})
    answers(httpserver, "GET", "/v1/projects/shop/secrets/db/versions/4:access", gcp_secret("one text"))
    monkeypatch.setattr(gcp, "ENDPOINT", httpserver.url_for(""))
    world.environ |= {"GCE_METADATA_HOST": f"127.0.0.1:{httpserver.port}", "GOOGLE_CLOUD_PROJECT": "shop"}
    assert await world.get("gcp", secret="db", version="4") == {"value": "one text"}
    assert seen[0].headers["Metadata-Flavor"] == "Google"


async def test_the_machines_identity_is_shown_to_no_address_that_a_playbook_names(world, httpserver, base):
    world.environ |= {"GCE_METADATA_HOST": f"127.0.0.1:{httpserver.port}", "AWS_ACCESS_KEY_ID": "AKIA"}
    with pytest.raises(NotFound, match="service account"):
        await world.get("gcp", project="p", secret="db", endpoint=base)
    with pytest.raises(NotFound, match="access_key_id"):
        await world.get("aws", region="r", secret="db", endpoint=base)
    with pytest.raises(NotFound, match="tenant_id"):
        await world.get("azure", vault=base, secret="db")
    world.environ |= {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "canary"}
    with pytest.raises(NotFound, match="tenant_id"):
        await world.get("azure", vault="shop", secret="db", login=base)
    assert httpserver.log == []


async def test_the_machines_service_account_is_shown_to_no_address_that_a_playbook_names(
    world, httpserver, base, tmp_path, private_key
):
    account = {"private_key": private_key, "client_email": "x@shop.iam", "token_uri": f"{base}/token"}
    (tmp_path / "sa.json").write_text(json.dumps(account))
    world.environ["GOOGLE_APPLICATION_CREDENTIALS"] = str(tmp_path / "sa.json")
    with pytest.raises(NotFound, match="service account"):
        await world.get("gcp", project="p", secret="db", endpoint=base)
    assert httpserver.log == []


@pytest.mark.parametrize("text", ["no json", "{}", '{"private_key": "x"}'])
async def test_a_service_account_that_is_none_is_told(world, text):
    with pytest.raises(NotFound, match="key file"):
        await world.get("gcp", project="p", secret="s", service_account=text)


# ---- aws ------------------------------------------------------------------------------------------------


def test_the_signature_is_that_of_the_published_example():
    keys = aws.Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    scope = aws.Scope("us-east-1", "service", datetime(2015, 8, 30, 12, 36, tzinfo=UTC))
    headers = aws.signature_headers("GET", "https://example.amazonaws.com/", {}, b"", keys, scope)
    assert headers["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, "
        "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    )


AWS = {
    "region": "eu-central-1",
    "access_key_id": "AKIA",
    "secret_access_key": "s3cr3t",
    "session_token": "st",
}


def signature_holds(request: Request, service: str) -> bool:
    """What a server does: sign what arrived with the key it knows, and compare."""
    scope = aws.Scope("eu-central-1", service, datetime.fromtimestamp(NOW, UTC))
    covered = {name: request.headers[name] for name in ("content-type", "x-amz-target")}
    keys = aws.Keys("AKIA", "s3cr3t", "st")
    expected = aws.signature_headers(
        "POST", f"http://{request.host}/", covered, request.get_data(), keys, scope
    )
    return all(request.headers[name] == value for name, value in expected.items())


async def test_aws_gives_a_secret_of_secrets_manager(world, httpserver, base):
    answer = {"ARN": "arn:…", "Name": "db", "SecretString": '{"user": "app", "password": "pw"}'}
    seen = answers(httpserver, "POST", "/", answer)
    assert await world.get("aws", secret="db", endpoint=base, **AWS) == {"user": "app", "password": "pw"}
    assert seen[0].headers["X-Amz-Target"] == "secretsmanager.GetSecretValue"
    assert seen[0].headers["Content-Type"] == "application/x-amz-json-1.1"
    assert json.loads(seen[0].get_data()) == {"SecretId": "db"}
    assert signature_holds(seen[0], "secretsmanager")


async def test_aws_gives_a_parameter_of_systems_manager(world, httpserver, base):
    seen = answers(httpserver, "POST", "/", {"Parameter": {"Name": "/p", "Value": "one text"}})
    assert await world.get("aws", parameter="/p", endpoint=base, **AWS) == {"value": "one text"}
    assert seen[0].headers["X-Amz-Target"] == "AmazonSSM.GetParameter"
    assert json.loads(seen[0].get_data()) == {"Name": "/p", "WithDecryption": True}
    assert signature_holds(seen[0], "ssm")


async def test_aws_uses_the_role_of_the_machine(world, httpserver, base, monkeypatch):
    httpserver.expect_request("/latest/api/token", method="PUT").respond_with_data("imds-token")
    roles = "/latest/meta-data/iam/security-credentials/"
    httpserver.expect_request(roles, headers={"X-aws-ec2-metadata-token": "imds-token"}).respond_with_data(
        "reader\n"
    )
    made = {"AccessKeyId": "ASIA", "SecretAccessKey": "x", "Token": "session"}
    answers(httpserver, "GET", f"{roles}reader", made)
    world.environ["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = base
    from noetl.adapters.secrets.provider_http import Ask

    ask = Ask("entry", {}, frozenset(), world.environ.get, lambda: NOW)
    assert await aws._keys(ask) == aws.Keys("ASIA", "x", "session")


@pytest.mark.parametrize("region", ["x.evil.example/#", "eu-west-1.evil.example", "EU", "a@b", "a:1", "eu\n"])
async def test_a_region_is_no_way_to_another_host(world, region):
    world.environ |= {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "canary"}
    with pytest.raises(NotFound, match="no region"):
        await world.get("aws", secret="db", region=region)


async def test_a_secret_that_aws_does_not_give_says_why(world, httpserver, base):
    body = {"__type": "ResourceNotFoundException", "Message": "Secrets Manager can't find it"}
    answers(httpserver, "POST", "/", body, status=400)
    with pytest.raises(NotFound, match="can't find it"):
        await world.get("aws", secret="db", endpoint=base, **AWS)


# ---- azure ----------------------------------------------------------------------------------------------


async def test_azure_signs_in_as_an_application(world, httpserver, base):
    logins = answers(httpserver, "POST", "/t1/oauth2/v2.0/token", {"access_token": "eyJ", "expires_in": 3599})
    seen = answers(httpserver, "GET", "/secrets/db/v7", {"value": "one text", "id": "…"})
    source = {"tenant_id": "t1", "client_id": "c", "client_secret": "s", "login": base}
    assert await world.get("azure", vault=base, secret="db", version="v7", **source) == {"value": "one text"}
    assert form(logins[0]) == {
        "grant_type": "client_credentials",
        "client_id": "c",
        "client_secret": "s",
        "scope": "https://vault.azure.net/.default",
    }
    assert seen[0].headers["Authorization"] == "Bearer eyJ"
    assert seen[0].args["api-version"] == "7.4"


async def test_azure_uses_the_identity_of_the_machine(world, httpserver, base):
    path = "/metadata/identity/oauth2/token"
    seen = answers(httpserver, "GET", path, {"access_token": "eyM", "expires_in": "3599"})
    answers(httpserver, "GET", "/secrets/db", {"value": "v"})
    world.environ |= {"AZURE_POD_IDENTITY_AUTHORITY_HOST": base, "AZURE_KEY_VAULT": base}
    assert await world.get("azure", secret="db") == {"value": "v"}
    assert seen[0].headers["Metadata"] == "true"
    assert seen[0].args["resource"] == "https://vault.azure.net"


# ---- k8s ------------------------------------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=cluster",
    ]
    files = ["-keyout", str(tmp_path / "tls.key"), "-out", str(tmp_path / "ca.crt")]
    subprocess.run(
        [*command, *files, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True
    )
    return tmp_path


@pytest.fixture
def cluster(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    (certificate / "token").write_text("pod-token")
    (certificate / "namespace").write_text("shop")
    monkeypatch.setattr(k8s, "ACCOUNT", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "ca.crt", certificate / "tls.key")
    with HTTPServer("127.0.0.1", 0, ssl_context=context) as server:
        yield server


async def test_k8s_asks_the_cluster_as_its_pod(world, cluster):
    encoded = {
        name: base64.b64encode(text.encode()).decode() for name, text in (("user", "app"), ("pw", "x"))
    }
    seen = answers(cluster, "GET", "/api/v1/namespaces/shop/secrets/db", {"kind": "Secret", "data": encoded})
    world.environ |= {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(cluster.port)}
    assert await world.get("k8s", secret="db") == {"user": "app", "pw": "x"}
    assert await world.get("k8s", secret="db", namespace="shop", key="pw") == {"value": "x"}
    assert seen[0].headers["Authorization"] == "Bearer pod-token"


async def test_k8s_reads_a_mounted_secret(world, tmp_path):
    data = tmp_path / "..data"
    data.mkdir()
    (data / "user").write_text("app\n")
    (tmp_path / "user").symlink_to("..data/user")
    assert await world.get("k8s", folder=str(tmp_path)) == {"user": "app"}


async def test_outside_a_cluster_k8s_says_so(world):
    with pytest.raises(NotFound, match="no pod"):
        await world.get("k8s", secret="db")

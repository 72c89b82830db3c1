"""The http kind against real servers on this machine."""

import asyncio
import base64
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from noetl import tools

Raw = Callable[[bytes, bool], Awaitable[str]]


@pytest.fixture
async def raw() -> AsyncIterator[Raw]:
    """A server that answers every connection with the given bytes, then closes or keeps silent."""
    servers = []
    release = asyncio.Event()

    async def start(answer: bytes, close: bool = True) -> str:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            if not close:
                await release.wait()
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    yield start
    release.set()
    for server in servers:
        server.close()
        await server.wait_closed()


def echo(request: Request) -> Response:
    """What the server saw, as JSON."""
    seen = {
        "method": request.method,
        "args": request.args.to_dict(flat=False),
        "headers": {name.lower(): value for name, value in request.headers.items()},
        "form": request.form.to_dict(flat=False),
        "files": {name: [f.filename, f.read().decode(), f.content_type] for name, f in request.files.items()},
        "body": request.get_data(as_text=True),
    }
    return Response(json.dumps(seen), content_type="application/json")


@pytest.fixture
def echoing(httpserver: HTTPServer) -> str:
    httpserver.expect_request("/echo").respond_with_handler(echo)
    return httpserver.url_for("/echo")


async def test_a_json_answer_is_parsed_and_described(use, httpserver):
    httpserver.expect_request("/x").respond_with_json({"a": [1, 2.5, None]}, headers={"X-Request-Id": "r1"})
    output = await use("http", {"url": httpserver.url_for("/x")})
    assert output["status"] == "ok"
    assert output["data"] == {"a": [1, 2.5, None]}
    assert output["http"]["status"] == 200
    assert output["http"]["request_id"] == "r1"
    assert output["http"]["url"] == httpserver.url_for("/x")
    assert all(name == name.lower() for name in output["http"]["headers"])
    assert output["error"] is None


@pytest.mark.parametrize(
    "values, part, seen",
    [
        ({"params": {"a": 1, "b": [True, "x y"], "c": None}}, "args", {"a": ["1"], "b": ["true", "x y"]}),
        ({"method": "post", "json": {"k": [1]}}, "body", '{"k":[1]}'),
        ({"method": "POST", "json": 0}, "body", "0"),
        ({"method": "PUT", "body": "häh"}, "body", "häh"),
        ({"method": "POST", "form": {"a": 1, "b": ["x", "y"]}}, "form", {"a": ["1"], "b": ["x", "y"]}),
        ({"method": "delete"}, "method", "DELETE"),
    ],
)
async def test_the_request_is_sent_as_written(use, echoing, values, part, seen):
    output = await use("http", {"url": echoing, **values})
    assert output["data"][part] == seen


async def test_query_parameters_join_those_in_the_address(use, echoing):
    output = await use("http", {"url": echoing + "?a=0&q=1", "params": {"b": "2"}})
    assert output["data"]["args"] == {"a": ["0"], "q": ["1"], "b": ["2"]}


@pytest.mark.parametrize(
    "values, media",
    [
        ({"json": {}}, "application/json"),
        ({"body": "x"}, "text/plain; charset=utf-8"),
        ({"json": {}, "headers": {"content-type": "application/vnd.x+json"}}, "application/vnd.x+json"),
        ({"form": {"a": 1}}, "application/x-www-form-urlencoded"),
    ],
)
async def test_the_content_type_follows_the_body_unless_it_is_given(use, echoing, values, media):
    output = await use("http", {"url": echoing, "method": "POST", **values})
    assert output["data"]["headers"]["content-type"] == media


async def test_files_are_sent_as_multipart(use, echoing, tmp_path: Path):
    (tmp_path / "a.txt").write_text("hello")
    files = {
        "one": "a.txt",
        "two": {"content": "{}", "filename": "b.json", "content_type": "application/json"},
    }
    output = await use("http", {"url": echoing, "method": "POST", "files": files, "form": {"k": "v"}})
    assert output["data"]["form"] == {"k": ["v"]}
    assert output["data"]["files"]["one"][:2] == ["a.txt", "hello"]
    assert output["data"]["files"]["two"] == ["b.json", "{}", "application/json"]


@pytest.mark.parametrize(
    "values, kind, word",
    [
        ({"url": "ftp://x/"}, "input", "ftp://x/"),
        ({"url": "http://"}, "input", "http://"),
        ({"url": "http://127.0.0.1:1/", "json": {}, "body": "x"}, "input", "json and body"),
        ({"url": "http://127.0.0.1:1/", "headers": {"a": "x\ny"}}, "input", "cannot be sent"),
        ({"url": "http://127.0.0.1:1/", "files": {"f": "/etc/passwd"}}, "path", "outside"),
        ({"url": "http://127.0.0.1:1/", "files": {"f": "gone.txt"}}, "not_found", "gone.txt"),
        ({"url": "http://127.0.0.1:1/", "nope": 1}, "input", "'nope'"),
        ({"url": 5}, "input", "'url'"),
        (
            {"url": "http://x/", "headers": {"ok": "1", "bad": [1]}},
            "input",
            "http input 'headers.bad': expected",
        ),
        ({"url": "http://x/", "files": {"f": {"path": 5}}}, "input", "'files.f.path'"),
        ({"url": "http://x/", "headers": [1]}, "input", "'headers'"),
        ({}, "input", "'url'"),
    ],
)
async def test_a_request_that_cannot_be_is_an_input_error(use, values, kind, word):
    output = await use("http", values)
    assert output["status"] == "error"
    assert output["error"]["kind"] == kind
    assert word in output["error"]["message"]
    assert output["error"]["retryable"] is False


@pytest.mark.parametrize(
    "status, retryable",
    [(304, False), (400, False), (401, False), (404, False), (408, True), (409, False), (425, True), (429, True),
     (500, True), (501, True), (502, True), (503, True), (504, True)],
)  # fmt: skip
async def test_any_status_but_2xx_is_an_error_that_keeps_the_body(use, httpserver, status, retryable):
    httpserver.expect_request("/x").respond_with_json({"why": status}, status=status)
    output = await use("http", {"url": httpserver.url_for("/x")})
    assert output["status"] == "error"
    assert output["error"]["kind"] == "http"
    assert output["error"]["code"] == str(status)
    assert output["error"]["retryable"] is retryable
    assert output["http"]["status"] == status
    assert output["data"] == (None if status == 304 else {"why": status})


@pytest.mark.parametrize("status", [200, 201, 204, 206])
async def test_every_2xx_is_ok(use, httpserver, status):
    httpserver.expect_request("/x").respond_with_data("", status=status, content_type="application/json")
    output = await use("http", {"url": httpserver.url_for("/x")})
    assert output["status"] == "ok"
    assert output["data"] is None


async def test_a_redirect_is_followed_or_an_error(use, httpserver):
    httpserver.expect_request("/a").respond_with_data("", status=302, headers={"Location": "/b"})
    httpserver.expect_request("/b").respond_with_json("there")
    followed = await use("http", {"url": httpserver.url_for("/a")})
    assert followed["data"] == "there"
    assert followed["http"]["url"] == httpserver.url_for("/b")
    kept = await use("http", {"url": httpserver.url_for("/a"), "follow_redirects": False})
    assert kept["status"] == "error"
    assert kept["http"]["headers"]["location"] == "/b"


async def test_endless_redirects_end(use, httpserver):
    httpserver.expect_request("/a").respond_with_data("", status=302, headers={"Location": "/a"})
    output = await use("http", {"url": httpserver.url_for("/a")})
    assert output["error"]["kind"] == "redirect"


@pytest.mark.parametrize(
    "content_type, body, mode, data",
    [
        ("application/json", b'{"a":1}', "auto", {"a": 1}),
        ("application/problem+json; charset=utf-8", b"[1]", "auto", [1]),
        ("text/plain", b"007", "auto", "007"),
        ("text/plain; charset=latin-1", "ä".encode("latin-1"), "auto", "ä"),
        ("application/xml", b"<a/>", "auto", "<a/>"),
        ("application/x-ndjson", b'{"a":1}\n{"a":2}\n', "auto", '{"a":1}\n{"a":2}\n'),
        ("application/yaml", b"a: 1", "auto", "a: 1"),
        ("text/csv; charset=utf-8", b"gr\xfcn", "auto", "gr\ufffdn"),
        ("application/octet-stream", b"\x00\xff", "auto", base64.b64encode(b"\x00\xff").decode()),
        ("text/plain", b"[1]", "json", [1]),
        ("application/json", b"[1]", "text", "[1]"),
        ("application/json", b"[1]", "bytes", base64.b64encode(b"[1]").decode()),
        ("application/json", b"123456789012345678901234567890", "auto", 123456789012345678901234567890),
    ],
)
async def test_the_body_is_read_by_its_type_or_as_asked(use, httpserver, content_type, body, mode, data):
    httpserver.expect_request("/x").respond_with_data(body, content_type=content_type)
    output = await use("http", {"url": httpserver.url_for("/x"), "response": mode})
    assert output["data"] == data


async def test_a_body_that_only_claims_to_be_json_is_an_error_with_the_text(use, httpserver):
    httpserver.expect_request("/x").respond_with_data("<html>", content_type="application/json")
    output = await use("http", {"url": httpserver.url_for("/x")})
    assert output["error"]["kind"] == "body"
    assert output["data"] == "<html>"
    assert output["http"]["status"] == 200


@pytest.mark.parametrize("body", [b'{"a": "\\u0000"}', b'"x\\u0000"'])
async def test_a_nul_in_json_is_refused_where_it_enters(use, httpserver, body):
    httpserver.expect_request("/x").respond_with_data(body, content_type="application/json")
    output = await use("http", {"url": httpserver.url_for("/x")})
    assert output["error"]["kind"] == "value"


async def test_json_that_is_nested_too_deep_to_be_kept_is_an_error_with_the_text(use, httpserver):
    body = '{"a":' * 300 + "1" + "}" * 300
    httpserver.expect_request("/x").respond_with_data(body, content_type="application/json")
    envelope = await use("http", {"url": httpserver.url_for("/x")})
    assert (envelope["error"]["kind"], envelope["data"]) == ("body", body)
    assert "nested deeper" in envelope["error"]["message"]


async def test_a_mark_of_the_byte_order_before_json_is_no_part_of_it(use, httpserver):
    httpserver.expect_request("/").respond_with_data(b'\xef\xbb\xbf{"a": 1}', content_type="application/json")
    assert (await use("http", {"url": httpserver.url_for("/")}))["data"] == {"a": 1}


async def test_half_a_character_in_json_is_called_that(use, httpserver):
    httpserver.expect_request("/").respond_with_data(r'{"a": ["\ud800"]}', content_type="application/json")
    error = (await use("http", {"url": httpserver.url_for("/")}))["error"]
    assert error["kind"] == "body"
    told = "the body cannot be kept: the text at $.a[0] contains a NUL or half of a surrogate pair"
    assert error["message"] == told
    assert error["details"] == {"body": r'{"a": ["\ud800"]}'}


async def test_a_large_body_goes_into_the_result_store(use, httpserver, payloads):
    httpserver.expect_request("/x").respond_with_data(b"y" * 300_000, content_type="text/plain")
    spec = {"limits": {"max_hydrate_bytes": 100_000}}
    output = await use("http", {"url": httpserver.url_for("/x")}, spec=spec)
    assert output["status"] == "ok"
    assert output["data"] is None
    assert output["ref"]["meta"]["bytes"] == 300_000
    assert payloads.kept[output["ref"]["locator"]["key"]] == (b"y" * 300_000, "text/plain")


async def test_response_ref_always_stores_the_body(use, httpserver, payloads):
    httpserver.expect_request("/x").respond_with_json([1])
    output = await use("http", {"url": httpserver.url_for("/x"), "response": "ref"})
    assert output["data"] is None
    assert await payloads.get(output["ref"]) == [1]


async def test_a_body_over_the_cap_is_not_read(use, httpserver):
    httpserver.expect_request("/x").respond_with_data(b"y" * 5000, content_type="text/plain")
    output = await use("http", {"url": httpserver.url_for("/x")}, spec={"max_response_bytes": 1000})
    assert output["error"]["kind"] == "too_large"
    assert output["http"]["status"] == 200


async def test_the_cap_counts_what_compression_hides(use, httpserver):
    packed = gzip.compress(b"y" * 1_000_000)
    httpserver.expect_request("/x").respond_with_data(packed, headers={"Content-Encoding": "gzip"})
    output = await use("http", {"url": httpserver.url_for("/x")}, spec={"max_response_bytes": 100_000})
    assert len(packed) < 100_000
    assert output["error"]["kind"] == "too_large"


async def test_a_compressed_body_is_decompressed(use, httpserver):
    body = gzip.compress(b'{"a": 1}')
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    httpserver.expect_request("/x").respond_with_data(body, headers=headers)
    assert (await use("http", {"url": httpserver.url_for("/x")}))["data"] == {"a": 1}


async def test_a_refused_connection_is_retryable(use):
    output = await use("http", {"url": "http://127.0.0.1:1/"})
    assert output["error"]["kind"] == "connect"
    assert output["error"]["code"] == "ECONNREFUSED"
    assert output["error"]["retryable"] is True
    assert "http" not in output


async def test_an_unknown_host_is_a_dns_error(use):
    output = await use("http", {"url": "http://no-such-host.invalid/"})
    assert output["error"]["kind"] == "dns"
    assert "no-such-host.invalid" in output["error"]["message"]


@pytest.mark.parametrize(
    "answer, kind",
    [
        (b"", "connect"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "connect"),
        (b"no http at all\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", "body"),
    ],
)
async def test_a_broken_answer_says_how(use, raw, answer, kind):
    output = await use("http", {"url": await raw(answer), "method": "POST"})
    assert output["error"]["kind"] == kind
    assert output["error"]["retryable"] is (kind == "connect")


@pytest.mark.parametrize(
    "answer, limit, code",
    [
        (b"", {"read": 0.05}, "read"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", {"read": 0.05}, "read"),
        (b"", 0.05, None),
    ],
)
async def test_a_silent_server_is_a_retryable_timeout(use, raw, answer, limit, code):
    output = await use("http", {"url": await raw(answer, False)}, spec={"timeout": limit})
    assert output["error"]["kind"] == "timeout"
    assert output["error"]["retryable"] is True
    assert code is None or output["error"]["code"] == code


SECRETS = {
    "bearer": ({"kind": "bearer", "token": "t0ken1"}, {"authorization": "Bearer t0ken1"}),
    "plain": ({"kind": "env", "value": "t0ken2"}, {"authorization": "Bearer t0ken2"}),
    "basic": ({"kind": "basic", "user": "me", "password": "pw"}, {"authorization": "Basic bWU6cHc="}),
    "nameless": ({"kind": "basic", "password": "pw", "value": "pw"}, {"authorization": "Basic OnB3"}),
    "key": ({"kind": "api_key", "key": "k1"}, {"x-api-key": "k1"}),
    "header": ({"kind": "api_key", "key": "k1", "header": "X-K", "prefix": "Key "}, {"x-k": "Key k1"}),
}


@pytest.mark.parametrize("name", SECRETS)
async def test_auth_becomes_the_header_its_secret_asks_for(use, echoing, secrets, name):
    secrets["me"], expected = SECRETS[name]
    output = await use("http", {"url": echoing}, auth_name="me")
    assert expected.items() <= output["data"]["headers"].items()


async def test_an_api_key_may_go_into_the_query_and_is_not_shown(use, echoing, secrets):
    secrets["me"] = {"kind": "api_key", "key": "k 1", "param": "apikey"}
    output = await use("http", {"url": echoing, "params": {"a": 1}}, auth_name="me")
    assert output["data"]["args"] == {"a": ["1"], "apikey": ["k 1"]}
    assert output["http"]["url"] == echoing + "?a=1"


async def test_credentials_do_not_follow_a_redirect_to_another_host(use, httpserver, raw, secrets):
    got: list[bytes] = []

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    other = await asyncio.start_server(record, "127.0.0.1", 0)
    target = f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}/"
    httpserver.expect_request("/a").respond_with_data("", status=302, headers={"Location": target})
    secrets["me"] = {"kind": "api_key", "key": "k3y-canary", "header": "X-K"}
    output = await use("http", {"url": httpserver.url_for("/a")}, auth_name="me")
    other.close()
    await other.wait_closed()
    assert output["status"] == "ok"
    assert httpserver.log[0][0].headers["X-K"] == "k3y-canary"
    assert b"k3y-canary" not in got[0]


@pytest.mark.parametrize(
    "spec, header",
    [
        ({}, None),
        ({"idempotency": True}, "idempotency-key"),
        ({"idempotency_header": "X-Once"}, "x-once"),
    ],
)
async def test_the_idempotency_key_is_sent_when_asked_for(use, echoing, spec, header):
    output = await use("http", {"url": echoing}, spec=spec)
    keys = [name for name, value in output["data"]["headers"].items() if value == "key-1"]
    assert keys == ([header] if header else [])


async def test_cookies_do_not_pass_from_one_call_to_the_next(use, httpserver, echoing):
    httpserver.expect_request("/set").respond_with_data("", headers={"Set-Cookie": "a=1; Path=/"})
    await use("http", {"url": httpserver.url_for("/set")})
    assert "cookie" not in (await use("http", {"url": echoing}))["data"]["headers"]


async def test_certificates_are_checked_unless_told_otherwise(use, tmp_path: Path):
    certificate = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n7")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    outputs = [
        await use("http", {"url": url, "verify": verify}) for verify in (True, False, "cert.pem", "x.pem")
    ]
    server.close()
    await server.wait_closed()
    assert [output["data"] for output in outputs] == [None, 7, 7, None]
    assert outputs[0]["error"]["kind"] == outputs[3]["error"]["kind"] == "tls"
    assert outputs[0]["error"]["retryable"] is False


def make_certificate(folder: Path) -> str:
    """A certificate for 127.0.0.1 that only we trust."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "cert.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return str(file)


async def test_cancelling_a_request_ends_it_at_once(use, raw):
    url = await raw(b"", False)
    task = asyncio.create_task(use("http", {"url": url}))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)


def test_the_kind_knows_its_helper_field():
    assert tools.get("http").kind.helper == "http"

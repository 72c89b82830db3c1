"""Google Cloud Storage and Azure as the object kind speaks to them: the requests, and what comes of the answers."""

import json
import re
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from noetl.ports.network import Network


class Cloud:
    """Keeps objects by path, as both services do over HTTP."""

    def __init__(self, server: HTTPServer) -> None:
        self.kept: dict[str, bytes] = {}
        self.seen: list[Request] = []
        server.expect_request(re.compile(".*")).respond_with_handler(self.handle)

    def handle(self, request: Request) -> Response:
        body = request.get_data()
        self.seen.append(request)
        headers = {"ETag": '"e1"', "Last-Modified": "Sun, 15 Nov 2026 07:00:00 GMT"}
        if request.method == "PUT":
            conditions = (
                request.headers.get("If-None-Match"),
                request.headers.get("x-goog-if-generation-match"),
            )
            if request.path in self.kept and conditions != (None, None):
                return Response(
                    "<Error><Code>BlobAlreadyExists</Code></Error>", 412 if conditions[1] else 409
                )
            self.kept[request.path] = body
            return Response(status=201, headers=headers)
        if request.args.get("comp") == "batch":
            return self._batch(body.decode())
        if request.path not in self.kept:
            return Response("<Error><Code>BlobNotFound</Code></Error>", 404)
        if request.method == "DELETE":
            del self.kept[request.path]
            return Response(status=202)
        return Response(self.kept[request.path], headers=headers)

    def _batch(self, text: str) -> Response:
        """Azure deletes many objects with one request, whose parts are requests themselves."""
        for path in re.findall(r"DELETE (\S+) HTTP", text):
            del self.kept[path]
        part = "Content-Type: application/http\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n"
        return Response(f"--b\r\n{part}\r\n--b--\r\n", 202, content_type="multipart/mixed; boundary=b")


@pytest.fixture
def cloud(httpserver: HTTPServer) -> Cloud:
    return Cloud(httpserver)


def secret_of(scheme: str, httpserver: HTTPServer) -> dict[str, Any]:
    url = httpserver.url_for("").rstrip("/")
    if scheme == "az":
        return {"account_name": "acc", "account_key": "c2VjcmV0LWNhbmFyeQ==", "endpoint": url}
    account = {
        "gcs_base_url": url,
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }
    return {"service_account_key": json.dumps(account)}


@pytest.mark.parametrize(
    "address, scheme, path",
    [
        ("gs://bucket/in", "gs", "/bucket/in/a.json"),
        ("gcs://bucket/in", "gs", "/bucket/in/a.json"),
        ("az://bucket/in", "az", "/bucket/in/a.json"),
    ],
)
async def test_an_object_is_put_read_headed_and_deleted(
    use, secrets, httpserver, cloud, address, scheme, path
):
    secrets["cloud"] = secret_of(scheme, httpserver)

    async def objects(action: str, **values: Any) -> Any:
        given = {"action": action, "store": address, "key": "a.json", **values}
        return await use("object", given, auth_name="cloud")

    kept = await objects("put", content={"n": 1})
    assert kept["status"] == "ok", kept
    assert [key for key in cloud.kept if key.endswith(path)] == list(cloud.kept)
    assert (await objects("get"))["data"] == {"n": 1}
    assert (await objects("head"))["data"]["bytes"] == kept["data"]["bytes"]
    assert (await objects("put", content=2, mode="create"))["error"]["kind"] == "exists"
    assert (await objects("delete"))["status"] == "ok"
    assert (await objects("get"))["error"]["kind"] == "not_found"
    if scheme == "az":
        assert all(request.headers["Authorization"].startswith("SharedKey acc:") for request in cloud.seen)
        assert all("secret-canary" not in str(request.headers) for request in cloud.seen)


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
async def test_an_endpoint_that_the_deployment_does_not_allow_is_never_asked(
    use, secrets, httpserver, cloud, scheme
):
    url = httpserver.url_for("").rstrip("/")
    keys = {"access_key_id": "a", "secret_access_key": "b", "region": "r", "endpoint": url}
    secrets["cloud"] = keys if scheme == "s3" else secret_of(scheme, httpserver)
    for action in ("get", "put", "list", "head", "delete"):
        values = {"action": action, "store": f"{scheme}://latest", "key": "meta-data", "content": "x"}
        output = await use("object", values, auth_name="cloud", network=Network())
        assert (output["error"]["kind"], output["error"]["code"]) == ("network", "loopback")
    assert cloud.seen == []

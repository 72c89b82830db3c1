"""Sends one HTTP request and answers with the parsed body.

Any 2xx answer is ok. Every other status is an error of kind `http` with the body still in `data`, so that
rules can look at it. Connections are kept and shared by all tasks of a worker.

`output.http` is `{status, headers, url, request_id}` with lower-case header names. `error.retryable` says
whether another try can help: it is true for refused and broken connections, timeouts, and the statuses 408,
425, 429, 500, 502, 503 and 504. Other error kinds are `dns`, `connect`, `tls`, `timeout`, `redirect` and
`too_large`.

With `auth: NAME` the request carries a bearer token, basic credentials or an API key from that secret; it
is sent to the first host only, never to where a redirect leads. With `spec: {idempotency: true}` the
request carries an `Idempotency-Key` that stays the same when the engine has to repeat a call whose answer
it never saw.

A body over `spec.limits.max_hydrate_bytes` (16 MiB) goes into the result store while it arrives, and
`output.ref` says where; so does every body with `response: ref`. Nothing over
`spec.limits.max_response_bytes` (1 GiB, counted after decompression) is read.
"""

from typing import Annotated, Any, Literal

from noetl.ports.tool import Input, define, doc

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: http, path: tools/http}
workload: {api_url: "http://127.0.0.1:8080"}
workflow:
  - step: start
    tool:
      kind: http
      input:
        url: "{{ workload.api_url }}/items"
        params: {page: 1, tag: [red, blue]}
      spec:
        timeout: {connect: 5, read: 15}
        policy:
          rules:
            - when: "{{ output.status == 'error' and output.error.retryable }}"
              then: {do: retry, attempts: 5, backoff: exponential, delay: 0.5, jitter: true}
            - when: "{{ output.status == 'error' }}"
              then: {do: fail}
            - else: {then: {do: continue}}
"""

Scalar = str | int | float | bool
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


class Part(Input):
    """One file of a multipart body."""

    path: Annotated[str | None, doc("The file to send, inside the allowed folders.")] = None
    content: Annotated[str | None, doc("The text to send instead of a file.")] = None
    filename: Annotated[str | None, doc("The name to send it under.")] = None
    content_type: Annotated[str | None, doc("Its media type.")] = None


class Request(Input):
    """The request."""

    url: Annotated[str, doc("Where to, as `http://` or `https://`.")]
    method: Annotated[str, doc("The method, in any case.", examples=METHODS)] = "GET"
    headers: Annotated[dict[str, Scalar | None] | None, doc("Headers to send.")] = None
    params: Annotated[
        dict[str, Scalar | list[Scalar] | None] | None,
        doc("Query parameters. A list repeats its key; `null` leaves it out."),
    ] = None
    json: Annotated[Any, doc("A value to send as a JSON body.")] = None
    body: Annotated[str | None, doc("Text to send as the body.")] = None
    form: Annotated[
        dict[str, Scalar | list[Scalar] | None] | None, doc("Fields to send as an HTML form.")
    ] = None
    files: Annotated[
        dict[str, str | Part] | None,
        doc("Files to send as a multipart body, by field: a path, or a mapping."),
    ] = None
    follow_redirects: Annotated[bool, doc("Whether redirects are followed, at most ten of them.")] = True
    verify: Annotated[bool | str, doc("Whether TLS certificates are checked, or a file of authorities.")] = (
        True
    )
    response: Annotated[
        Literal["auto", "json", "text", "bytes", "ref"],
        doc("How the body is read: by its content type, as one of these, or stored by reference."),
    ] = "auto"


class Timeouts(Input):
    """How long each part of a request may take."""

    connect: Annotated[float | None, doc("Seconds to reach the host, TLS included.")] = None
    read: Annotated[float | None, doc("Seconds between two pieces of the answer.")] = None
    total: Annotated[float | None, doc("Seconds for the whole request.")] = None


class Knobs(Input):
    """What stands under the task's `spec`."""

    timeout: Annotated[
        float | Timeouts | None, doc("Seconds for one attempt, or `{connect, read, total}`.")
    ] = None
    idempotency: Annotated[bool, doc("Send an idempotency key with the request.")] = False
    idempotency_header: Annotated[str | None, doc("The header for the key; naming one turns it on.")] = None


TOOL = define(
    "http",
    __doc__,
    Request,
    knobs=Knobs,
    returns="the body: parsed when it is JSON, else text; bytes as base64",
    helper="http",
    example=EXAMPLE,
)

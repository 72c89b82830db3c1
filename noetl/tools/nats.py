"""Publishes and requests over NATS, and reads and writes its key-value buckets.

`auth` names the secret with `servers` (or `value`, a `nats://` address) and, where needed, `user` and
`password`, `token`, or `credentials` (a file). A value that is text is sent as it is, everything else as
JSON; a reply that is JSON is parsed. `publish` waits for the stream's receipt when `stream: true`. `kv_put`
answers with a reference in `output.ref`. A key that is not there is error kind `not_found`; a request
nobody answers is `no_responders`, retryable.

Needs the extra `nats`.
"""

from typing import Annotated, Any, Literal

from noetl.ports.tool import Input, define, doc

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: nats, path: tools/nats}
keychain:
  - {name: bus, kind: env, env: NATS_URL}
workflow:
  - step: start
    tool:
      - name: tell
        kind: nats
        auth: bus
        input: {action: publish, subject: sales.new, value: {item: tea}}
      - name: keep
        kind: nats
        auth: bus
        input: {action: kv_put, bucket: prices, key: tea, value: 3.5}
"""

Action = Literal["publish", "request", "kv_get", "kv_put", "kv_create", "kv_delete", "kv_keys"]


class Message(Input):
    """What is done on which subject or key."""

    action: Annotated[Action, doc("What to do.")]
    subject: Annotated[str | None, doc("The subject of `publish` and `request`.")] = None
    bucket: Annotated[str | None, doc("The bucket of the `kv_` actions.")] = None
    key: Annotated[str | None, doc("The key of the `kv_` actions; for `kv_keys` a filter such as `a.>`.")] = (
        None
    )
    value: Annotated[Any, doc("What is sent or kept.")] = None
    headers: Annotated[dict[str, str] | None, doc("Headers of the message.")] = None
    stream: Annotated[bool, doc("Whether `publish` waits until a stream has kept the message.")] = False
    reply_timeout: Annotated[float, doc("Seconds to wait for a reply or a receipt.")] = 5.0


TOOL = define(
    "nats",
    __doc__,
    Message,
    returns="the reply or value; for a publish to a stream `{stream, seq}`; for `kv_put` `{revision}`",
    example=EXAMPLE,
)

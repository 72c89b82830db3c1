"""Gets, puts, lists and deletes objects in S3, Google Cloud Storage, Azure, NATS or a local folder.

`store` is an address: `s3://bucket/prefix`, `gs://bucket`, `az://container`, `nats://bucket` or a folder
inside the allowed folders. `auth` names the secret with the store's settings, such as `access_key_id`,
`secret_access_key`, `region` and `endpoint`. Formats are as for `file`. A put answers with a reference in
`output.ref`; an object that is not there is error kind `not_found`.

Remote stores need the extra `server`; NATS needs the extra `nats`.
"""

from typing import Annotated, Any, Literal

from noetl.ports.tool import Input, define, doc

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: object, path: tools/object}
workflow:
  - step: start
    tool:
      - name: save
        kind: object
        input: {action: put, store: ./bucket, key: reports/today.json, content: {total: 12}}
      - name: load
        kind: object
        input: {action: get, store: ./bucket, key: reports/today.json}
"""


class Objects(Input):
    """What is done to which object."""

    action: Annotated[Literal["get", "put", "list", "delete"], doc("What to do.")]
    store: Annotated[str, doc("The address of the bucket, or a folder.")]
    key: Annotated[str | None, doc("The object; for `list` the prefix.")] = None
    format: Annotated[
        Literal["json", "jsonl", "csv", "parquet", "text", "bytes"] | None,
        doc("How the content is written; by default from the key."),
    ] = None
    content: Annotated[Any, doc("What to put. With `bytes`, base64 text.")] = None
    mode: Annotated[Literal["replace", "create"], doc("What a put does to an object that is there.")] = (
        "replace"
    )
    limit: Annotated[int, doc("At most this many entries of a list.")] = 1000


TOOL = define(
    "object",
    __doc__,
    Objects,
    returns="the content; for a put `{key, bytes, etag}`; for a list `[{key, bytes, modified, etag}]`",
    example=EXAMPLE,
)

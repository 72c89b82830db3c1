"""Gets, puts, lists and deletes objects in S3, Google Cloud Storage, Azure, NATS or a local folder.

`store` is an address: `s3://bucket/prefix`, `gs://bucket`, `az://container`, `nats://bucket` or a folder
inside the allowed folders. `auth` names the secret with the store's settings, such as `access_key_id`,
`secret_access_key`, `region` and `endpoint`. Formats are as for `file`. A put answers with a reference in
`output.ref`; an object that is not there is error kind `not_found`. An object over
`spec.limits.max_hydrate_bytes` (16 MiB) goes into the result store while it arrives, and `output.ref` says
where; so does every one with `response: ref`. An `endpoint` of one's own is reached under the same rules as
the addresses of `http` tasks.

Remote stores need the extra `server`; NATS needs the extra `nats`.
"""

import hashlib
from typing import Annotated, Literal

from noetl.core.values.output import is_reference
from noetl.json_value import Json
from noetl.ports.envelope import Failed, reference
from noetl.ports.tool import Input, Size, doc
from noetl.tools.parts.bucket import Bucket, ObjectKnobs, Opened, open_limited
from noetl.tools.parts.content import MEDIA, Format, decode, encode, format_of
from noetl.tools.parts.function import tool
from noetl.tools.parts.sql import hold_bytes
from noetl.tools.parts.tool_context import Answer, ToolContext

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

    action: Annotated[Literal["get", "put", "list", "head", "delete"], doc("What to do.")]
    store: Annotated[str, doc("The address of the bucket, or a folder.")]
    key: Annotated[str | None, doc("The object; for `list` the prefix.")] = None
    format: Annotated[Format | None, doc("How the content is written; by default from the key.")] = None
    content: Annotated[Json, doc("What to put, or a reference to it. With `bytes`, base64 text.")] = None
    response: Annotated[
        Literal["auto", "ref"], doc("Whether a get gives the content, or stores it and gives a reference.")
    ] = "auto"
    mode: Annotated[Literal["replace", "create"], doc("What a put does to an object that is there.")] = (
        "replace"
    )
    limit: Annotated[Size, doc("At most this many entries of a list.")] = 1000


@tool(
    name="object",
    page=__doc__,
    returns="the content; for a put `{key, bytes, etag}`; for a head `{key, bytes, modified, etag}`, "
    "for a list a list of them",
    example=EXAMPLE,
)
async def use_object(objects: Objects, knobs: ObjectKnobs, context: ToolContext) -> object:
    """Do it to the object, or to all below a prefix."""
    from noetl.tools.parts.object_stores import bucket

    key = objects.key
    if not key and objects.action != "list":
        raise Failed("input", f"object needs input 'key' to {objects.action}")
    place = await bucket(objects.store, context.call)
    if not key or objects.action == "list":
        return await place.list(key, objects.limit)
    if objects.action == "put":
        return await _put(objects, key, place, context)
    if objects.action == "delete":
        await place.delete(key)
        return {"key": key, "deleted": True}
    if objects.action == "head":
        return await place.head(key)
    stream = await open_limited(place, key, knobs.max_bytes)
    return await _content(stream, objects, key, context)


async def _content(stream: Opened, objects: Objects, key: str, context: ToolContext) -> object:
    """The content; what is too large to hold goes into the result store while it arrives."""
    form = format_of(key, objects.format)
    if objects.response == "ref" or stream.size > hold_bytes(context.call):
        return Answer(ref=await context.store(stream.chunks, MEDIA[form]))
    return decode(await stream.read(), form)


async def _put(objects: Objects, key: str, place: Bucket, context: ToolContext) -> Answer:
    form, content = format_of(key, objects.format), objects.content
    raw = encode(await context.load(content) if is_reference(content) else content, form)
    tag = await place.put(key, raw, objects.mode)
    digest = hashlib.sha256(raw).hexdigest()
    meta = {"content_type": MEDIA[form], "bytes": len(raw), "format": form, "sha256": digest}
    locator = {"store": objects.store, "key": key, "tool": "object"}
    ref = reference("object_store", locator, auth=context.call.auth_name, meta=meta)
    return Answer({"key": key, "bytes": len(raw), "etag": tag}, ref)

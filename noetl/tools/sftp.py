"""Gets, puts, lists and deletes files on another machine over SFTP.

`auth` and the key of the host are as for [`ssh`](ssh.md). A put takes a value, a reference or a file of the
allowed folders; it is written beside its target and then put in place at once, so that a reader sees the old
file or the new one. Formats are as for `file`. A file over `spec.limits.max_hydrate_bytes` (16 MiB) goes into
the result store while it arrives, and `output.ref` says where; so does every one with `response: ref`. What
is not there is error kind `not_found`; anything else that the host refuses is error kind `sftp`.

Needs the extra `ssh`.
"""

import datetime
import hashlib
import posixpath
from collections.abc import AsyncIterator
from contextlib import suppress
from stat import S_ISDIR
from typing import TYPE_CHECKING, Annotated, Any, Literal

from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.tool import Size, doc
from noetl.tools.parts.content import MEDIA, Format, decode, format_of
from noetl.tools.parts.function import tool
from noetl.tools.parts.raw_content import RawContent, raw_bytes
from noetl.tools.parts.sql import hold_bytes
from noetl.tools.parts.ssh_link import Host, SshKnobs, connected, driver
from noetl.tools.parts.tool_context import Answer, ToolContext

if TYPE_CHECKING:
    from asyncssh import SFTPAttrs, SFTPClient

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: sftp, path: tools/sftp}
keychain:
  - {name: build_host, kind: credential, credential: build_host}
workload: {host: files.example.com, port: 22, folder: /srv/inbox}
workflow:
  - step: start
    tool:
      - name: save
        kind: sftp
        auth: build_host
        input:
          host: "{{ workload.host }}"
          port: "{{ workload.port }}"
          action: put
          path: "{{ workload.folder }}/people.csv"
          content: [{name: Ada, born: 1815}]
      - name: load
        kind: sftp
        auth: build_host
        input:
          host: "{{ workload.host }}"
          port: "{{ workload.port }}"
          action: get
          path: "{{ workload.folder }}/people.csv"
"""
PIECE = 256 * 1024


class RemoteFile(Host, kw_only=True):
    """What is done to which file."""

    action: Annotated[Literal["get", "put", "list", "delete"], doc("What to do.")]
    path: Annotated[str, doc("The file there, or for `list` the folder.")]
    content: Annotated[
        Json, doc("What to put: a value, text, or a reference. With `bytes`, base64 text.")
    ] = None
    file: Annotated[str | None, doc("A file in the allowed folders to put instead.")] = None
    format: Annotated[Format | None, doc("How the content is written; by default from the name.")] = None
    mode: Annotated[Literal["replace", "create"], doc("What a put does to a file that is there.")] = "replace"
    response: Annotated[
        Literal["auto", "ref"], doc("Whether a get gives the content, or stores it and gives a reference.")
    ] = "auto"
    limit: Annotated[Size, doc("At most this many entries of a list.")] = 1000
    missing_ok: Annotated[bool, doc("Whether `delete` accepts that the file is not there.")] = False


class Knobs(SshKnobs):
    """How much is moved."""

    max_bytes: Annotated[Size, doc("The largest file that is read or put.")] = 1024**3


@tool(
    page=__doc__,
    returns="the content; for a put `{path, bytes, sha256}`, "
    "for a list `[{name, path, type, bytes, modified}]`, "
    "for a delete `{path, deleted}`",
    example=EXAMPLE,
)
async def sftp(remote: RemoteFile, knobs: Knobs, context: ToolContext) -> object:
    """Log in and do it."""
    if not remote.path or "\0" in remote.path:
        raise Failed("input", f"{remote.path[:200]!r} is not a path")
    raw = await _raw(remote, knobs, context) if remote.action == "put" else b""
    library = driver()
    async with connected(remote, knobs, context) as connection:
        try:
            async with connection.start_sftp_client() as client:
                return await _done(client, remote, raw, knobs, context)
        except (library.SFTPNoSuchFile, library.SFTPNoSuchPath):
            raise Failed("not_found", _missing(remote), answered=True) from None
        except library.SFTPError as problem:
            message = f"{remote.path!r}: {problem.reason or type(problem).__name__}"
            lost = isinstance(problem, library.SFTPConnectionLost | library.SFTPNoConnection)
            code = None if lost else type(problem).__name__.removeprefix("SFTP")
            kind = "connect" if lost else "sftp"
            raise Failed(kind, message, code=code, retryable=lost, answered=not lost) from None


def _missing(remote: RemoteFile) -> str:
    """What is not there: of a put it is the folder."""
    if remote.action == "put":
        folder = posixpath.dirname(remote.path) or "."
        return f"there is no folder {folder!r} to put {posixpath.basename(remote.path)!r} into"
    return f"there is no {'folder' if remote.action == 'list' else 'file'} {remote.path!r}"


async def _raw(remote: RemoteFile, knobs: Knobs, context: ToolContext) -> bytes:
    given = RawContent(content=remote.content, path=remote.file, format=remote.format)
    name = posixpath.basename(remote.path)
    raw = await raw_bytes(given, name, knobs.max_bytes, context, file="file")
    if len(raw) > knobs.max_bytes:
        raise Failed("too_large", f"it has {len(raw)} bytes; raise spec.max_bytes above {knobs.max_bytes}")
    return raw


async def _done(
    client: "SFTPClient", remote: RemoteFile, raw: bytes, knobs: Knobs, context: ToolContext
) -> object:
    if remote.action == "put":
        return await _put(client, remote, raw, context)
    if remote.action == "list":
        return await _listed(client, remote)
    if remote.action == "delete":
        return await _deleted(client, remote)
    return await _got(client, remote, knobs, context)


async def _put(client: "SFTPClient", remote: RemoteFile, raw: bytes, context: ToolContext) -> dict[str, Json]:
    """Written beside the target under a name that a repeat uses too, then put in place."""
    folder, name = posixpath.split(remote.path)
    own = hashlib.sha256(f"{context.idempotency_key} {name}".encode()).hexdigest()[:16]
    part = posixpath.join(folder, f".noetl-{own}.part")
    placed = False
    try:
        async with client.open(part, "wb") as file:
            await file.write(raw)
        if remote.mode == "replace":
            await client.posix_rename(part, remote.path)
        elif await client.lexists(remote.path):
            raise Failed("exists", f"the file {remote.path!r} is there already", answered=True)
        else:
            await client.rename(part, remote.path)  # which fails when a file is there
        placed = True
    finally:
        if not placed:
            with suppress(driver().Error, OSError):
                await client.remove(part)
    return {"path": remote.path, "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}


async def _got(client: "SFTPClient", remote: RemoteFile, knobs: Knobs, context: ToolContext) -> object:
    form = format_of(remote.path, remote.format)
    async with client.open(remote.path, "rb") as file:
        size = (await file.stat()).size or 0
        if size > knobs.max_bytes:
            message = f"the file has {size} bytes; raise spec.max_bytes above {knobs.max_bytes}"
            raise Failed("too_large", message)
        if remote.response == "ref" or size > hold_bytes(context.call):
            return Answer(ref=await context.store(_chunks(file, knobs.max_bytes), MEDIA[form]))
        return decode(b"".join([chunk async for chunk in _chunks(file, knobs.max_bytes)]), form)


async def _chunks(file: Any, max_bytes: int) -> AsyncIterator[bytes]:
    """The file piece by piece; one that grows meanwhile is not read for ever."""
    read = 0
    while chunk := await file.read(PIECE):
        read += len(chunk)
        if read > max_bytes:
            raise Failed("too_large", f"the file has more than {max_bytes} bytes; raise spec.max_bytes")
        yield chunk


async def _listed(client: "SFTPClient", remote: RemoteFile) -> list[dict[str, Json]]:
    entries: list[dict[str, Json]] = []
    async for each in client.scandir(remote.path):
        name = str(each.filename)
        if name not in (".", ".."):
            entries.append(_entry(name, posixpath.join(remote.path, name), each.attrs))
        if len(entries) > remote.limit:
            message = f"the folder has more than {remote.limit} entries; raise the input 'limit'"
            raise Failed("limit", message, answered=True)
    return sorted(entries, key=lambda entry: str(entry["name"]))


def _entry(name: str, path: str, attributes: "SFTPAttrs") -> dict[str, Json]:
    modified = None
    if attributes.mtime is not None:
        modified = datetime.datetime.fromtimestamp(attributes.mtime, datetime.UTC).isoformat()
    kind = "folder" if S_ISDIR(attributes.permissions or 0) else "file"
    return {"name": name, "path": path, "type": kind, "bytes": attributes.size, "modified": modified}


async def _deleted(client: "SFTPClient", remote: RemoteFile) -> dict[str, Any]:
    try:
        await client.remove(remote.path)
    except driver().SFTPNoSuchFile:
        if not remote.missing_ok:
            raise
        return {"path": remote.path, "deleted": False}
    return {"path": remote.path, "deleted": True}

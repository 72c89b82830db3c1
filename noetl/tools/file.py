"""Reads, writes, lists and deletes files inside the allowed folders.

The format follows from the name (`.json`, `.jsonl`, `.csv`, `.parquet`, everything else text) unless
`format` says it. CSV and Parquet are lists of rows as mappings; CSV cells are text. A write makes missing
folders, happens at once or not at all, and answers with a reference in `output.ref`. A path that leaves the
allowed folders, also over a link, is error kind `path`; a file that is not there is error kind `not_found`.
An append is refused with error kind `too_large`, before anything is added, when the file would outgrow
`spec.max_bytes`; `bytes` is then the size of the whole file, which is not read and so has no `sha256`.

Parquet needs the extra `parquet`.
"""

import csv
import datetime
import glob
import hashlib
import os
from typing import Annotated, Literal

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, ok, reference
from noetl.ports.tool import Input, Size, define, doc, read_knobs
from noetl.tools.parts.content import MEDIA, Format, csv_text, decode, encode, format_of, rows_of
from noetl.tools.parts.paths import beside, errno_name, inside, is_inside, read_limited, relative_path

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: file, path: tools/file}
workflow:
  - step: start
    tool:
      - name: save
        kind: file
        input: {action: write, path: out/people.csv, content: [{name: Ada, born: 1815}]}
      - name: load
        kind: file
        input: {action: read, path: out/people.csv}
"""

LISTED_MAX = 10_000


class Files(Input):
    """What is done to which file."""

    action: Annotated[Literal["read", "write", "list", "delete"], doc("What to do.")]
    path: Annotated[str, doc("The file, or for `list` the folder; relative to the work folder.")]
    format: Annotated[Format | None, doc("How the content is written; by default from the name.")] = None
    content: Annotated[Json, doc("What to write. With `bytes`, base64 text.")] = None
    mode: Annotated[
        Literal["replace", "append", "create"], doc("What a write does to a file that is there.")
    ] = "replace"
    pattern: Annotated[str, doc("Which files `list` shows; `**/*.csv` looks into subfolders.")] = "*"
    missing_ok: Annotated[bool, doc("Whether `delete` accepts that the file is not there.")] = False


class Knobs(Input):
    max_bytes: Annotated[Size, doc("The largest file that is read or appended to.")] = 256 * 1024**2


async def run(files: Files, call: Call) -> Envelope:
    """Do it in a thread: a disk may be slow."""
    import asyncio

    knobs: Knobs = read_knobs(Knobs, call)
    path = inside(call, files.path)
    actions = {"read": _read, "write": _write, "list": _list, "delete": _delete}
    try:
        return await asyncio.to_thread(actions[files.action], path, files, knobs, call)
    except FileNotFoundError:
        raise Failed("not_found", f"there is no file {files.path!r}") from None
    except OSError as problem:
        message = f"{files.path!r} cannot be {_DONE[files.action]}: {problem.strerror}"
        raise Failed("file", message, code=errno_name(problem)) from None


_DONE = {"read": "read", "write": "written", "list": "listed", "delete": "deleted"}


def _read(path: str, files: Files, knobs: Knobs, call: Call) -> Envelope:
    return ok(decode(read_limited(path, knobs.max_bytes), format_of(path, files.format)))


def _write(path: str, files: Files, knobs: Knobs, call: Call) -> Envelope:
    form = format_of(path, files.format)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    result: dict[str, Json]
    if files.mode == "append":
        result = {"bytes": _append(path, _addition(path, files.content, form), knobs.max_bytes)}
    else:
        raw = encode(files.content, form)
        _put(path, raw, replace=files.mode == "replace")
        result = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    meta = {"content_type": MEDIA[form], "format": form, **result}
    ref = reference("blob", {"store": "file", "key": path, "tool": "file"}, meta=meta)
    return ok({"path": relative_path(call, path), **result}, ref=ref)


def _put(path: str, raw: bytes, *, replace: bool) -> None:
    """Write beside the target, then put in place at once; readers see the old file or the new one."""
    part = beside(path)
    try:
        with open(part, "xb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(part, path)
        else:
            os.link(part, path)  # unlike renaming, this fails when a file is there
    except FileExistsError:
        raise Failed("exists", f"the file {path!r} is there already") from None
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _addition(path: str, content: Json, form: Format) -> bytes:
    """What an append adds; a CSV file keeps the columns it began with."""
    if form in ("json", "parquet"):
        raise Failed("format", f"{form} cannot be appended to; use jsonl or csv")
    if form != "csv" or not os.path.exists(path) or os.path.getsize(path) == 0:
        return encode(content, form)

    with open(path, encoding="utf-8-sig", newline="") as file:
        columns = next(csv.reader(file))
    rows = rows_of(content, "csv")
    unknown = sorted({key for row in rows for key in row} - set(columns))
    if unknown:
        raise Failed("format", f"the file has no column {unknown[0]!r}; it has {', '.join(columns)}")
    return csv_text(rows, columns, header=False)


def _append(path: str, raw: bytes, max_bytes: int) -> int:
    """Add to the end; how large the file is then. What would be too large is not begun."""
    size = len(raw) + (os.path.getsize(path) if os.path.exists(path) else 0)
    if size > max_bytes:
        raise Failed("too_large", f"the file would have {size} bytes; raise spec.max_bytes above {max_bytes}")
    with open(path, "ab") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def _list(path: str, files: Files, knobs: Knobs, call: Call) -> Envelope:

    if not os.path.isdir(path):
        raise FileNotFoundError(path)
    names = glob.iglob(files.pattern, root_dir=path, recursive=True, include_hidden=False)
    entries = []
    for name in sorted(names):
        full = os.path.join(path, name)
        if os.path.isfile(full) and is_inside(call, full):
            entries.append(_entry(full, call))
        if len(entries) > LISTED_MAX:
            raise Failed("limit", f"the folder has more than {LISTED_MAX} such files; narrow the pattern")
    return ok(entries)


def _entry(path: str, call: Call) -> dict[str, Json]:

    status = os.stat(path)
    modified = datetime.datetime.fromtimestamp(status.st_mtime, datetime.UTC)
    return {"path": relative_path(call, path), "bytes": status.st_size, "modified": modified.isoformat()}


def _delete(path: str, files: Files, knobs: Knobs, call: Call) -> Envelope:
    try:
        os.unlink(path)
    except FileNotFoundError:
        if not files.missing_ok:
            raise
        return ok({"path": relative_path(call, path), "deleted": False})
    return ok({"path": relative_path(call, path), "deleted": True})


TOOL = define(
    "file",
    __doc__,
    Files,
    run,
    knobs=Knobs,
    returns=(
        "the content; for a write `{path, bytes, sha256}`, for an append `{path, bytes}`; "
        "for a list `[{path, bytes, modified}]`"
    ),
    example=EXAMPLE,
)

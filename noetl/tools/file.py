"""Reads, writes, lists and deletes files inside the allowed folders.

The format follows from the name (`.json`, `.jsonl`, `.csv`, `.parquet`, everything else text) unless
`format` says it. CSV and Parquet are lists of rows as mappings; CSV cells are text. A write makes missing
folders, happens at once or not at all, and answers with a reference in `output.ref`. A path that leaves the
allowed folders, also over a link, is error kind `path`; a file that is not there is error kind `not_found`.

Parquet needs the extra `parquet`.
"""

from typing import Annotated, Any, Literal

from noetl.ports.tool import Input, define, doc

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

Format = Literal["json", "jsonl", "csv", "parquet", "text", "bytes"]


class Files(Input):
    """What is done to which file."""

    action: Annotated[Literal["read", "write", "list", "delete"], doc("What to do.")]
    path: Annotated[str, doc("The file, or for `list` the folder; relative to the work folder.")]
    format: Annotated[Format | None, doc("How the content is written; by default from the name.")] = None
    content: Annotated[Any, doc("What to write. With `bytes`, base64 text.")] = None
    mode: Annotated[
        Literal["replace", "append", "create"], doc("What a write does to a file that is there.")
    ] = "replace"
    pattern: Annotated[str, doc("Which files `list` shows; `**/*.csv` looks into subfolders.")] = "*"
    missing_ok: Annotated[bool, doc("Whether `delete` accepts that the file is not there.")] = False


TOOL = define(
    "file",
    __doc__,
    Files,
    returns="the content; for a write `{path, bytes, sha256}`; for a list `[{path, bytes, modified}]`",
    example=EXAMPLE,
)

"""A playbook that the user names by its file: whether it is one, its text, and where it lies."""

import os

from noetl.cli.playbooks.sources import STDIN, SUFFIXES, Source
from noetl.errors import PlaybookError


def is_file(name: str) -> bool:
    """Whether a playbook is named by its file."""
    return name == STDIN or name.endswith(SUFFIXES) or (os.path.exists(name) and not os.path.isdir(name))


def text_of(source: Source) -> str:
    """The text of a playbook; raises PlaybookError when its bytes are no text."""
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        from noetl.cli.playbooks.validation import check

        raise PlaybookError(check(source).diagnostics) from None


def file_of(source: Source) -> str | None:
    """Where a playbook's file is; None when its text has no file."""
    return os.path.abspath(source.name) if os.path.exists(source.name) else None

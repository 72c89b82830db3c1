"""Playbooks on pages that a reader can run: whole ones that call no other, below `docs/` of the catalog."""

import re
from collections.abc import Sequence

WHOLE = re.compile(r"^apiVersion:", re.MULTILINE)
OWN_PATH = re.compile(r"^(metadata:(?: *\{[^\n}]*?\b|\n(?: +[^\n]*\n)*? +)path: *)(?=[\w./-])", re.MULTILINE)
CALLS_ANOTHER = re.compile(r"\bkind: playbook\b")
NOT_TO_RUN = frozenset({"wrong", "invalid"})
CATALOG = "docs/"


def runnable(language: str, words: Sequence[str], text: str) -> str | None:
    """The text of a block as a server is asked to run it; None of what cannot be run alone."""
    if language != "yaml" or not WHOLE.search(text) or NOT_TO_RUN & {*words} or CALLS_ANOTHER.search(text):
        return None
    moved, times = OWN_PATH.subn(rf"\g<1>{CATALOG}", text, count=1)
    return moved if times else None

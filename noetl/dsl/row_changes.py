"""Whether SQL changes rows, as far as its words tell: nothing here understands SQL."""

import re

_CHANGE = re.compile(r"\b(?:insert\s+into|delete\s+from|merge\s+into|update\b[^;]*?\bset)\b", re.IGNORECASE)


def changes_rows(sql: str) -> bool:
    """Whether a statement, or a part of one, changes rows."""
    return _CHANGE.search(sql) is not None

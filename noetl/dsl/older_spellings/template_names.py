"""Whether a tree has templates that read older names (`outcome`, `result`, `args`, older event names)."""

import re

from noetl.dsl.older_spellings.respell import rename_root, respell_event, respell_output
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.yaml.tree import Value

# Only a text with one of these words is worth taking apart.
OLDER_NAME = re.compile(r"outcome|\bresult(?:_ref)?\b|\bargs\b|call\.(?:done|error)|step\.exit")
_ROOTS = ("result", "result_ref", "args")


def reads_older_names(value: Value) -> bool:
    """Whether some template under a value may read an older name."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            if OLDER_NAME.search(node) and _is_older(node):
                return True
        elif isinstance(node, dict):
            stack += node.values()
        elif isinstance(node, list):
            stack += node
    return False


def _is_older(text: str) -> bool:
    if not is_template(text):
        return False
    if respell_event(respell_output(text)) != text:
        return True
    return any(rename_root(text, name, "output") != text for name in _ROOTS)

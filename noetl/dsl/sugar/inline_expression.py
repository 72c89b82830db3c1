"""A value of a playbook as the text of one Jinja expression, so that expanding sugar can build on it.

`{{ x }}` becomes `(x)`, `a-{{ x }}` becomes `'a-' ~ (x)`, 5 becomes `5`. Nothing is rendered here.
"""

from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.syntax import is_template, tokens

_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"})


def inline(value: object) -> str | None:
    """The expression that gives the value; None for a template with statements or one that does not parse."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case list():
            items = [inline(item) for item in value]
            return None if None in items else f"[{', '.join(map(str, items))}]"
        case dict():
            values = {_quoted(key): inline(item) for key, item in value.items()}
            pairs = ", ".join(f"{key}: {item}" for key, item in values.items())
            return None if None in values.values() else f"{{{pairs}}}"
        case _:
            return None


def _text(text: str) -> str | None:
    if not is_template(text):
        return _quoted(text)
    try:
        parts = _parts(text.removesuffix("\n"))
    except TemplateError:
        return None
    return " ~ ".join(parts) if parts else None


def _parts(text: str) -> list[str]:
    """The texts and expressions of a template, each as an expression; none when it has statements."""
    parts: list[str] = []
    begins = 0
    for token in tokens(text):
        if token.kind == "data":
            parts.append(_quoted(token.text))
        elif token.kind == "variable_begin":
            begins = token.start + len(token.text)
        elif token.kind == "variable_end":
            parts.append(f"({text[begins : token.start].strip()})")
        elif token.kind in ("block_begin", "comment_begin"):
            return []
    return parts


def _quoted(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"

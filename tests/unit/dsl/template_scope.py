"""One scope for the tests of templates, and rendering in both ways at once."""

from collections.abc import Mapping
from typing import Any

import pytest

from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.template import compile_template
from noetl.dsl.templates.values import Envelope

SCOPE: dict[str, Any] = {
    "ctx": {
        "page": 3,
        "total": 7,
        "text": "a,b",
        "day": "20240101",
        "nothing": None,
        "yes": True,
        "ratio": 1.0,
        "rows": [{"id": 1, "name": "b"}, {"id": 2, "name": "a"}],
        "items": [1, 2],
        "empty": {},
    },
    "workload": {"items": ["x"], "url": "http://h", "keys": "k", "get": "g", "pop": 1, "values": [0]},
    "iter": {"key": "page", "headers": {"retry-after": "7"}},
    "output": Envelope(status="ok", data={"count": 5, "status": "shipped"}, http={"status": 200}),
    "failed": Envelope(status="error", data=None, error={"kind": "timeout"}),
    "result": {"x": 9},
}


def render(text: str, scope: Mapping[str, Any] = SCOPE) -> Any:
    """By the closures and by Jinja, which must agree."""
    template = compile_template(text)
    compiled = template.render_compiled(scope)
    value = template.render(scope)
    assert value == compiled
    assert type(value) is type(compiled)
    return value


def error(text: str, scope: Mapping[str, Any] = SCOPE) -> TemplateError:
    with pytest.raises(TemplateError) as compiled:
        compile_template(text).render_compiled(scope)
    with pytest.raises(TemplateError) as caught:
        compile_template(text).render(scope)
    assert caught.value.message == compiled.value.message
    return caught.value

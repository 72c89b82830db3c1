"""The page about the REST API has every route with its scope, and no other."""

import re
from pathlib import Path

from fastapi.routing import APIRoute

from noetl.server.problem import PROBLEMS
from noetl.server.route_spec import SCOPE
from noetl.server.routes import ROUTERS

ROW = re.compile(r"(?m)^\| `([A-Z]+) (/[^`]+)` \| (\w+) \|")


def text(root: Path) -> str:
    return (root / "docs" / "reference" / "rest.md").read_text()


def test_every_route_is_on_the_page_with_its_scope(root: Path) -> None:
    routes = {
        (method, route.path.replace(":path}", "}"), (route.openapi_extra or {})[SCOPE])
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and "aliases" not in route.tags
        for method in route.methods or ()
    }
    assert set(ROW.findall(text(root))) == routes


def test_every_alias_is_on_the_page(root: Path) -> None:
    found = text(root).partition("### Older spellings")[2].partition("##")[0]
    for router in ROUTERS:
        for route in router.routes:
            if isinstance(route, APIRoute) and "aliases" in route.tags:
                assert f"`{next(iter(route.methods or ()))} {route.path}`" in found


def test_every_status_is_on_the_page_with_its_code(root: Path) -> None:
    told = dict(re.findall(r"(?m)^\| (\d{3}) \| `([a-z-]+)` \|", text(root)))
    assert told == {str(status): code for status, (code, _) in PROBLEMS.items() if status != 500}

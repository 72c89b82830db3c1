"""What is answered below /docs. The documentation is the product's, so it asks nobody who they are."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from noetl import documentation

DOCS = "/docs"
KEPT = {"Cache-Control": "no-cache"}


async def markdown(request: Request) -> Response:
    """A page as it was written, for programs."""
    text = documentation.read(request.path_params["name"])
    return Response(text, 200, KEPT, "text/markdown")


ROUTES = [Route(f"{DOCS}/{{name:path}}.md", markdown, include_in_schema=False)]

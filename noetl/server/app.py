"""The app: every route over a front, behind one gate, with one shape for everything that goes wrong."""

from functools import partial

from fastapi import FastAPI, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from noetl.errors import NotFound, UnknownPlaybook
from noetl.ports.front import ServedFront
from noetl.server import problem
from noetl.server.access import as_seen
from noetl.server.assets import Assets
from noetl.server.closing import Closing, OutOfTime
from noetl.server.concurrency_limit import held_connections
from noetl.server.gate import ABOVE_PAGES, ASSETS, PAGES, Gate
from noetl.server.head_method import Head
from noetl.server.hot_route import HotRoute
from noetl.server.manual.routes import Manual
from noetl.server.metrics import Meter
from noetl.server.options import Options
from noetl.server.reply import reply
from noetl.server.request_log import Record
from noetl.server.route_spec import openapi
from noetl.server.routes import ROUTERS, executions, mcp


def create_app(front: ServedFront, options: Options) -> FastAPI:
    app = FastAPI(
        title="NoETL",
        version=options.version or "0",
        description="Durable workflows written as YAML playbooks.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.front, app.state.options = front, options
    app.state.mcp_calls, app.state.held = mcp.Calls(), held_connections()
    app.state.closing = Closing()  # set when the server stops: streams end then
    problem.install(app)
    app.add_exception_handler(UnknownPlaybook, _unknown_playbook)
    for router in ROUTERS:
        app.include_router(router)
    app.router.routes.append(Route("/api/openapi.json", _document, include_in_schema=False))
    app.router.routes.extend(Manual(options.version).routes())
    _serve_pages(app, options)
    app.openapi = partial(openapi, app)  # type: ignore[method-assign]
    answering = HotRoute(app.build_middleware_stack(), executions.START)
    gate = Gate(OutOfTime(Head(answering)), options)  # outside of all: what answers a bug is dressed too
    app.state.gate, app.state.doorkeeper, app.state.meter = gate, gate.doorkeeper, Meter(options)
    app.middleware_stack = Record(gate, app.state.meter)
    return app


async def _unknown_playbook(request: Request, error: Exception) -> Response:
    assert isinstance(error, UnknownPlaybook)
    return problem.of_error(as_seen(request, error))


async def _document(request: Request) -> Response:
    return reply(request.app.openapi())


def _serve_pages(app: FastAPI, options: Options) -> None:
    """The web UI: one page and its assets, which need no rights to be seen."""

    async def page(request: Request) -> Response:
        if not (options.static / "index.html").is_file():
            raise NotFound("this server was installed without its web page", hint="the API is at /api/v1")
        own = options.static / "execution.html"  # the same page; it names what an execution's needs besides
        wants_page = request.url.path.startswith("/executions/") and own.is_file()
        file = own if wants_page else options.static / "index.html"
        return FileResponse(file, headers={"Cache-Control": "no-cache"})

    for place in (*PAGES, *(f"{above}{{rest:path}}" for above in ABOVE_PAGES)):
        app.router.routes.append(Route(place, page, include_in_schema=False))
    assets = Assets(options.static / "assets")
    app.router.routes.append(Route(f"{ASSETS}{{name}}", assets.answer, include_in_schema=False))

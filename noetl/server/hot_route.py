"""The shortest way to the route that is asked for most, the start of an execution: no layer of the framework.

Who may call it and what it answers is the route's own, and the same errors become the same problems.
"""

from fastapi import Request
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from noetl.errors import NoetlError
from noetl.server.access import as_seen
from noetl.server.problem import Problem, of_bug, of_error, of_problem
from noetl.server.route_spec import Guarded


class HotRoute:
    """Answers one route itself, known by method and path letter for letter; passes all else on."""

    def __init__(self, app: ASGIApp, route: Guarded) -> None:
        self.app, self._route, self._handler = app, route, route.get_route_handler()
        self._asked_for = {(method, route.path) for method in route.methods or ()}
        self._guarded = ServerErrorMiddleware(self._answer, handler=of_bug)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if (
            scope["type"] == "http"
            and (scope["method"], scope["path"]) in self._asked_for
            and not scope.get("root_path")
        ):
            await self._guarded(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"], scope["endpoint"], scope["path_params"] = self._route, self._route.endpoint, {}
        request = Request(scope, receive, send)
        try:
            response = await self._handler(request)
        except Problem as refused:
            response = of_problem(refused)
        except NoetlError as error:
            response = of_error(as_seen(request, error))
        await response(scope, receive, send)

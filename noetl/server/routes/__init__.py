"""The routes, one module for each resource. A new module is one line in ROUTERS."""

from fastapi import APIRouter

from noetl.server.routes import (
    aliases,
    backfills,
    catalog,
    credentials,
    executions,
    explained,
    health,
    login,
    logs,
    lookups,
    mcp,
    notifications,
    overview,
    results,
    schedules,
    steering,
    streams,
    tokens,
    views,
)

ROUTERS: tuple[APIRouter, ...] = (  # the busiest first: they are tried in order
    executions.router,
    steering.router,
    health.router,
    catalog.router,
    streams.router,
    logs.router,
    explained.router,
    results.router,
    credentials.router,
    lookups.router,
    aliases.router,
    views.router,
    overview.router,
    tokens.router,
    login.router,
    schedules.router,
    notifications.router,
    backfills.router,
    mcp.router,
)

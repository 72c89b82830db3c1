"""The process of a dlt pipeline: reads an order, runs the pipeline, answers once. It alone imports dlt.

The order comes by standard input, the answer leaves by standard output, which nothing else can write to;
what dlt and the source print goes to the error output.
"""

import importlib.util
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from noetl.core.values.lines import LEVEL_END, LEVEL_MARK

STATE = "noetl"  # our place in the pipeline's state
CALLS_KEPT = 50
FRAMES = 10
MESSAGE_CHARS = 2_000
CONNECTION = ("OperationalError", "IOException")
AGAIN = (429, 500, 502, 503, 504)
WRAPPERS = ("PipelineStepFailed", "ResourceExtractionError", "NormalizeJobFailed")


class Levels(logging.Formatter):
    """Says the level of a line as the worker reads it."""

    def format(self, record: logging.LogRecord) -> str:
        mark = f"{LEVEL_MARK}{record.levelno}{LEVEL_END}"
        return mark + super().format(record).replace("\n", f"\n{mark}")


def main() -> None:
    """Take the order from standard input; the answer is a line on what was standard output."""
    answers = os.dup(1)
    os.dup2(2, 1)
    order = json.load(sys.stdin)
    try:
        answer = {"ok": run(order)}
    except Exception as problem:
        answer = {"failed": failure(problem, order["script"])}
    with os.fdopen(answers, "w") as out:
        json.dump(answer, out, default=str)


def run(order: dict[str, Any]) -> dict[str, Any]:
    """Bring back the state, and load, unless this call has done so before."""
    import dlt

    from noetl.tools.parts.dlt_progress import Told

    _configure(order["secrets"])
    pipeline: Any = dlt.pipeline(
        order["pipeline"],
        pipelines_dir=os.path.join(order["folder"], "pipelines"),
        destination=_destination(order),
        progress=Told(),
        **({"dataset_name": order["dataset"]} if order["dataset"] else {}),
    )
    pipeline.sync_destination()
    before = _calls(pipeline.state).get(order["key"])
    if before is not None:
        return {**before, "rows": None, "repeated": True}
    data = order["rows"] if order["script"] is None else _source(order)
    calls = _calls(pipeline.state)
    answer = {
        "pipeline": pipeline.pipeline_name,
        "destination": order["destination"],
        "dataset": pipeline.dataset_name,
    }
    kept = {**dict([*calls.items()][1 - CALLS_KEPT :]), order["key"]: answer}
    with pipeline.managed_state() as state:  # it is stored with the load that follows, or not at all
        state[STATE] = kept
    how = {name: value for name, value in order["how"].items() if value is not None}
    done = pipeline.run(data, **how)
    return {**answer, **_told(pipeline, done), "repeated": False}


def _calls(state: Any) -> dict[str, Any]:
    found: dict[str, Any] = state.get(STATE) or {}
    return found


def _configure(secrets: dict[str, Any]) -> None:
    """Let dlt find the secrets before everything else it looks at; let its lines say their level."""
    from dlt.common.configuration.container import Container
    from dlt.common.configuration.providers.dictionary import DictionaryProvider
    from dlt.common.configuration.specs.pluggable_run_context import PluggableRunContext

    provider = DictionaryProvider()
    for section, fields in secrets.items():
        provider.set_value(section, fields, None)
    Container()[PluggableRunContext].providers.providers.insert(0, provider)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Levels("%(message)s"))
    logging.basicConfig(handlers=[handler], force=True)
    dlt_logger = logging.getLogger("dlt")
    dlt_logger.handlers[:] = [handler]
    dlt_logger.setLevel(logging.INFO)


def _destination(order: dict[str, Any]) -> Any:
    import dlt

    if order["database"] is not None:
        return dlt.destinations.duckdb(order["database"])
    return order["destination"]


def _source(order: dict[str, Any]) -> Any:
    """What the function of the script gives."""
    path = order["script"]
    name = os.path.basename(path).removesuffix(".py")
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise FileNotFoundError(f"there is no Python file {os.path.basename(path)!r}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] | None = getattr(module, order["source"], None)
    if not callable(function):
        raise AttributeError(f"{os.path.basename(path)} has no function {order['source']!r}")
    return function(**order["args"])


def _told(pipeline: Any, done: Any) -> dict[str, Any]:
    """What came of it: rows by table, what is new in the schema, where incremental loads stand."""
    normalized = pipeline.last_trace.last_normalize_info
    rows = normalized.row_counts if normalized else {}
    new: dict[str, list[str]] = {}
    for package in done.load_packages:
        for table, update in package.schema_update.items():
            if not table.startswith("_dlt"):
                own = (column for column in update["columns"] if not column.startswith("_dlt"))
                new.setdefault(table, []).extend(own)
    schema = pipeline.default_schema
    return {
        "rows": {table: count for table, count in rows.items() if not table.startswith("_dlt")},
        "load_ids": list(done.loads_ids),
        "schema": {"name": schema.name, "version": schema.version, "new": new},
        "cursors": dict(_cursors(pipeline.state)),
    }


def _cursors(state: Any) -> Iterator[tuple[str, Any]]:
    for source in state.get("sources", {}).values():
        for resource, kept in source.get("resources", {}).items():
            if cursors := kept.get("incremental"):
                yield resource, {path: cursor.get("last_value") for path, cursor in cursors.items()}


def failure(problem: BaseException, script: str | None) -> dict[str, Any]:
    """An exception as the failure of a call: by the first in its chain that is not a wrapper."""
    chain = list(_chain(problem))
    cause = next((each for each in chain if type(each).__name__ not in WRAPPERS), problem)
    own = [each for each in chain if _frames(each, script)] if script else []
    details = {"step": getattr(problem, "step", None)}
    if own:
        details["traceback"] = "".join(traceback.format_list(_frames(own[-1], script)[-FRAMES:]))
        cause = own[-1]
    return {
        "kind": _kind(cause),
        "message": f"{type(cause).__name__}: {cause}".strip()[:MESSAGE_CHARS],
        "code": type(cause).__name__,
        "retryable": any(_may_pass(each) for each in chain),
        "details": {name: value for name, value in details.items() if value is not None},
    }


def _kind(cause: BaseException) -> str:
    if _is(cause, "MissingDependencyException"):
        return "missing_extra"
    return "connect" if _is(cause, "DestinationConnectionError", *CONNECTION) else "dlt"


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that it came of, the outermost first."""
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        yield problem
        inner = getattr(problem, "exception", None)
        problem = inner if isinstance(inner, BaseException) else problem.__cause__ or problem.__context__


def _frames(problem: BaseException, script: str | None) -> list[traceback.FrameSummary]:
    folder = os.path.dirname(script or "")
    return [
        frame
        for frame in traceback.extract_tb(problem.__traceback__)
        if frame.filename.startswith(folder + os.sep) and "site-packages" not in frame.filename
    ]


def _may_pass(problem: BaseException) -> bool:
    """Whether the same may go well later: transient to dlt, a connection, an answer that says so."""
    if _is(problem, "TransientException") or isinstance(problem, ConnectionError | TimeoutError):
        return True
    if _is(problem, *CONNECTION):  # of psycopg2 without a word of the server, of DuckDB in use
        return "FATAL:" not in str(problem)
    answered = getattr(getattr(problem, "response", None), "status_code", None)
    return answered in AGAIN or (answered is None and _is(problem, "RequestException"))


def _is(problem: BaseException, *names: str) -> bool:
    return any(each.__name__ in names for each in type(problem).__mro__)


if __name__ == "__main__":
    main()

"""How an execution stands, as Python values: its output as rows, JSON lines, Arrow, pandas or polars.

Nothing here asks a server: a Result is what was answered once.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import msgspec

from noetl.errors import MissingExtra, NoetlError, RequestError
from noetl.json_value import Json, JsonObject
from noetl.ports.answers import ExecutionAnswer, Failure, StepStanding

if TYPE_CHECKING:
    import arro3.core
    import pandas
    import polars

ROW_LISTS = ("rows", "data", "items", "results")


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """One execution: `fields` is what the REST API answers of it, `output` its output, fetched if stored.

    `graph` is there of what ran in this process, and of what a notebook shows.
    """

    fields: ExecutionAnswer
    output: Json
    graph: JsonObject | None = None

    @property
    def execution_id(self) -> str:
        return self.fields["execution_id"]

    @property
    def path(self) -> str:
        """The playbook's path."""
        return self.fields["playbook"]["path"]

    @property
    def status(self) -> str:
        """pending, running, waiting, paused, completed, failed, cancelled or stuck."""
        return self.fields["status"]

    @property
    def ok(self) -> bool:
        """Whether it completed."""
        return self.status == "completed"

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("completed", "failed", "cancelled")

    @property
    def error(self) -> JsonObject | None:
        return self.fields["error"]

    @property
    def failures(self) -> list[Failure]:
        """Failures of steps, also those that the playbook answered."""
        return self.fields["failures"]

    @property
    def ctx(self) -> JsonObject:
        return self.fields["ctx"]

    @property
    def steps(self) -> dict[str, StepStanding]:
        """How often each step ran, and how its latest run stands."""
        return self.fields["steps"]

    @property
    def counts(self) -> dict[str, int]:
        return self.fields["counts"]

    @property
    def duration(self) -> timedelta:
        return timedelta(milliseconds=self.fields["duration_ms"])

    def __repr__(self) -> str:
        """A line, however large the output is."""
        return f"<{type(self).__name__} {self.execution_id} {self.path} {self.status}>"

    def check(self) -> "Result":
        """The result itself; raises ExecutionFailed when the execution failed, was cancelled or is stuck."""
        if self.status in ("failed", "cancelled", "stuck"):
            raise ExecutionFailed(self)
        return self

    # The output as a table

    def rows(self) -> list[dict[str, Json]]:
        """The output as rows: a list of mappings, by itself or under `rows`, `data`, `items` or `results`."""
        return rows_of(self.output)

    def json_lines(self) -> str:
        """The rows as JSON, a line each."""
        return "".join(f"{msgspec.json.encode(row).decode()}\n" for row in self.rows())

    def arrow(self) -> "arro3.core.Table":
        """The rows as an Arrow table, which pyarrow, polars, DuckDB and others take without a copy."""
        return arrow_of(self.rows())

    def pandas(self) -> "pandas.DataFrame":
        """The rows as a pandas frame."""
        return cast("pandas.DataFrame", _library("pandas").DataFrame(self.rows()))

    def polars(self) -> "polars.DataFrame":
        """The rows as a polars frame."""
        frame = _library("polars").DataFrame
        rows = self.rows()
        try:
            return cast("polars.DataFrame", frame(rows, infer_schema_length=None))
        except Exception as error:  # of a library whose own errors have no common class
            raise _unfit("a polars frame", error) from error

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        from noetl.client.display import result_bundle

        return result_bundle(self)


class ExecutionFailed(NoetlError):
    """The execution did not complete; `result` says how it stands."""

    code = "execution-failed"

    def __init__(self, result: Result) -> None:
        self.result = result
        said = str((result.error or {}).get("message") or "").strip()
        what = f"execution {result.execution_id} of {result.path}"
        message = (
            f"{what} is {result.status}" if result.status == "stuck" else f"{what} {_ENDS[result.status]}"
        )
        hint = f"noetl execution why {result.execution_id}"
        super().__init__(f"{message}: {said}" if said else message, hint=hint)


_ENDS = {"failed": "failed", "cancelled": "was cancelled"}


def rows_of(value: Json) -> list[dict[str, Json]]:
    """The rows in a value; raises RequestError when it is no table."""
    if isinstance(value, dict):
        inner = next((value[name] for name in ROW_LISTS if isinstance(value.get(name), list)), None)
        value = [value] if inner is None else inner
    if not isinstance(value, list):
        message = f"the output is no table but {type(value).__name__}"
        raise RequestError(message, hint="a table is a list of mappings; .output has the value itself")
    odd = next((item for item in value if not isinstance(item, dict)), None)
    if odd is not None:
        message = f"the output is a list of {type(odd).__name__}, not of mappings, so it has no columns"
        raise RequestError(message, hint=".output has the value itself")
    return cast("list[dict[str, Json]]", value)


def arrow_of(rows: list[dict[str, Json]]) -> "arro3.core.Table":
    """Rows as an Arrow table, with every column that any of them has; null where a row lacks it."""
    if not rows:
        raise RequestError("there are no rows, so an Arrow table would have no columns")
    arrow = _library("arro3.io", "parquet")
    lines = msgspec.json.Encoder().encode_lines(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    try:
        batches = arrow.read_json(io.BytesIO(lines), arrow.infer_json_schema(io.BytesIO(lines)))
        table = cast("arro3.core.Table", batches.read_all().select(columns))
    except Exception as error:  # of a library whose own errors have no common class
        raise _unfit("an Arrow table", error) from error
    floats = _library("arro3.core", "parquet").DataType.is_floating
    for name in columns:
        if floats(table.schema.field(name).type):
            _check_exact(name, rows)
    return table


def _check_exact(name: str, rows: list[dict[str, Json]]) -> None:
    """Integers beyond those of 64 bits are read as floats, which round them."""
    for row in rows:
        value = row.get(name)
        if isinstance(value, int) and int(float(value)) != value:
            raise _unfit("an Arrow table", f"'{name}' has {value}, which a column of floats would round")


def _unfit(what: str, problem: object) -> RequestError:
    hint = "a column has values of one type; .rows() has them as they are"
    return RequestError(f"the rows do not fit into {what}: {problem}", hint=hint)


def _library(name: str, extra: str | None = None) -> Any:
    try:
        return import_module(name)
    except ImportError:
        if extra is not None:
            raise MissingExtra(name, extra) from None
        raise RequestError(f"{name} is not installed", hint=f"pip install {name}") from None

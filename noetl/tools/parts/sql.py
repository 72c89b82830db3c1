"""What the SQL kinds have in common: the inputs, the shape of an answer, and the reference to stored rows."""

from typing import Annotated, Any

from noetl.ports.tool import Input, doc

QUERY = "One SQL statement, or several separated by semicolons. Bind values with `params`."
PARAMS = "Values to bind: a list for `?` or `$1`, a mapping for `:name`."
STORE = "Where these statements put their rows; the answer then carries a reference to them."
SHAPE = (
    "`{rows: [{...}], row_count, columns}` of the last statement that returned rows; "
    "`statements` beside it when there were several"
)

Params = list[Any] | dict[str, Any]


class Range(Input):
    """A stretch of a table: the rows whose column lies between two values, both included."""

    column: Annotated[str, doc("The column that is compared.")]
    start: Annotated[Any, doc("The lowest value; left out, from the beginning.")] = None
    end: Annotated[Any, doc("The highest value; left out, to the end.")] = None


class Store(Input):
    """Where rows were put."""

    table: Annotated[str, doc("The table, with its schema where it has one.")]
    range: Annotated[Range | None, doc("Which of its rows; left out, all of them.")] = None

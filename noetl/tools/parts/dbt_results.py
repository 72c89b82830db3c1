"""What dbt wrote of the nodes that it ran, as an answer, and as the failure that it means."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.tools.parts.paths import read_limited

RESULTS_BYTES = 256 << 20
NODES_KEPT = 1_000
MESSAGE_CHARS = 2_000
FAILED = ("error", "fail", "runtime error", "partial success")
COUNTED = {"runtime error": "error", "partial success": "error"} | {
    status: status for status in ("error", "fail", "skipped", "warn")
}
COUNTS = ("success", "error", "fail", "skipped", "warn")
OUT_OF_REACH = re.compile(
    r"connection refused|could not translate host name|connection timed out|timeout expired|no route to host"
    r"|network is unreachable|server closed the connection|could not set lock on file|the database system is",
    re.IGNORECASE,
)


class _Node(msgspec.Struct):
    unique_id: str
    status: str
    execution_time: float = 0.0
    message: str | None = None
    failures: int | None = None
    relation_name: str | None = None
    adapter_response: dict[str, object] = {}


class _Written(msgspec.Struct):
    results: list[_Node]
    elapsed_time: float = 0.0


@dataclass(frozen=True, slots=True)
class Results:
    """The answer, and the nodes that failed in the order in which they did."""

    data: Json
    failed: Sequence[_Node]


def read_results(folder: str) -> Results | None:
    """What is there of the nodes; None when dbt got to none."""
    try:
        written = msgspec.json.decode(
            read_limited(os.path.join(folder, "run_results.json"), RESULTS_BYTES), type=_Written
        )
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as problem:
        raise Failed("dbt", f"the results that dbt wrote cannot be read: {problem}") from None
    failed = [node for node in written.results if node.status in FAILED]
    nodes = written.results
    if len(nodes) > NODES_KEPT:
        nodes = sorted(nodes, key=lambda node: node.status not in FAILED)[:NODES_KEPT]
    counted = Counter(COUNTED.get(node.status, "success") for node in written.results)
    data: Json = {
        "nodes": [_told(node) for node in nodes],
        "counts": {name: counted[name] for name in COUNTS},
        "seconds": round(written.elapsed_time, 3),
    }
    return Results(data, failed)


def _told(node: _Node) -> dict[str, Json]:
    rows = node.adapter_response.get("rows_affected")
    return {
        "name": _name(node.unique_id),
        "resource": node.unique_id.partition(".")[0],
        "status": node.status,
        "seconds": round(node.execution_time, 3),
        "rows": rows if isinstance(rows, int) and rows >= 0 else None,
        "failures": node.failures,
        "message": None if node.message is None else node.message[:MESSAGE_CHARS],
        "relation": node.relation_name,
    }


def _name(unique_id: str) -> str:
    """The name of a node without its resource, its package, and the hash behind the name of a data test."""
    name = ".".join(unique_id.split(".")[2:])
    return re.sub(r"\.[0-9a-f]{10}$", "", name) or unique_id


def failure_of(results: Results | None, exit_code: int, errors: Sequence[str], said: str) -> Failed:
    """Why dbt failed: by the first node that did, or by what it said."""
    if results is not None and results.failed:
        first = results.failed[0]
        message = (first.message or "").strip()[:MESSAGE_CHARS]
        return Failed(
            "dbt",
            f"{first.unique_id.partition('.')[0]} {_name(first.unique_id)}: {message or first.status}",
            code=first.status,
            answered=True,
            retryable=any(OUT_OF_REACH.search(node.message or "") for node in results.failed),
            details={"node": first.unique_id, "failed": len(results.failed)},
            data=results.data,
        )
    reason = errors[0] if errors else said.strip().rpartition("\n")[2][:MESSAGE_CHARS]
    reason = reason.removeprefix("Encountered an error:").strip()
    ended = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
    return Failed(
        "dbt",
        f"dbt {ended}: {reason}" if reason else f"dbt {ended} and wrote no results",
        code=str(exit_code),
        answered=exit_code > 0,
        retryable=OUT_OF_REACH.search("\n".join(errors) or said) is not None,
        data=None if results is None else results.data,
    )

"""What a process is told to run a dlt pipeline, and what its answer means. dlt is not imported here."""

import importlib.util
import sys
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.errors import MissingExtra
from noetl.json_value import Json
from noetl.ports.call import Call, Secret
from noetl.ports.envelope import Failed
from noetl.tools.parts.auth import POSTGRES_FIELDS, address_of
from noetl.tools.parts.process import Place, Program, clean_environment, start
from noetl.tools.parts.tool_context import ToolContext

if TYPE_CHECKING:
    from noetl.tools.dlt import Pipeline

PROGRAM = "noetl.tools.parts.dlt_program"
ANSWER_BYTES = 8 << 20
NAMES = {**POSTGRES_FIELDS, "user": "username", "username": "username"}
LINE_CHARS = 500
SETTINGS = {"RUNTIME__DLTHUB_TELEMETRY": "false", "PYTHONDONTWRITEBYTECODE": "1"}


def order_of(pipeline: "Pipeline", rows: Json, source_secret: Secret, context: ToolContext) -> dict[str, Any]:
    """Everything that the process needs to know, as JSON."""
    return {
        "pipeline": pipeline.pipeline,
        "destination": pipeline.destination,
        "dataset": pipeline.dataset,
        "database": None if pipeline.database is None else context.path(pipeline.database),
        "script": None if pipeline.script is None else context.path(pipeline.script),
        "source": pipeline.source,
        "args": pipeline.args or {},
        "rows": rows,
        "how": {
            "table_name": pipeline.table,
            "write_disposition": pipeline.write_disposition,
            "primary_key": pipeline.primary_key,
            "schema_contract": pipeline.schema_contract,
            "refresh": pipeline.refresh,
        },
        "secrets": {
            "sources": dict(source_secret),
            "destination": {pipeline.destination: destination_secret(context.auth or {})},
        },
        "key": context.idempotency_key,
    }


def destination_secret(secret: Mapping[str, Json]) -> dict[str, Json]:
    """A credential as dlt looks for it: the fields of a connection under its names, and each as it is."""
    if (url := address_of(secret)) is not None:
        scheme, _, rest = url.partition("://")
        return {"credentials": f"postgresql://{rest}" if scheme == "postgres" else url}
    return {**secret, "credentials": {NAMES.get(name, name): value for name, value in secret.items()}}


async def run_order(order: Mapping[str, Any], grace: float, call: Call) -> Json:
    """Run it in a process that ends with the call; what it says besides its answer is the task's log."""
    if importlib.util.find_spec("dlt") is None:
        raise MissingExtra("dlt", "dlt")

    def log(data: bytes, stream: int) -> None:
        if stream == 2:
            call.output.write(data, stream)

    with tempfile.TemporaryDirectory(prefix="noetl-dlt-", ignore_cleanup_errors=True) as folder:
        own = {**SETTINGS, "HOME": folder, "DLT_DATA_DIR": folder, "TMPDIR": folder}
        place = Place(call.work_dir, {**clean_environment(call), **own})
        argv = [sys.executable, "-P", "-m", PROGRAM]
        program = await start(argv, place, Program(ANSWER_BYTES, log))
        program.feed(msgspec.json.encode({**order, "folder": folder}), end=True)
        await program.ended(grace)
    exit_code = program.transport.get_returncode()
    return _answer(program.printed[1].text, exit_code, program.printed[2].text)


def _answer(text: str, exit_code: int | None, said: str) -> Json:
    try:
        answer = msgspec.json.decode(text)
    except msgspec.DecodeError:
        last = said.strip().rpartition("\n")[2][:LINE_CHARS]
        ended = f"the process of the pipeline ended with exit code {exit_code}: {last}".rstrip(": ")
        raise Failed("crashed", ended, code=str(exit_code)) from None
    if "ok" in answer:
        done: Json = answer["ok"]
        return done
    failed = answer["failed"]
    raise Failed(
        failed["kind"],
        failed["message"],
        code=failed["code"],
        retryable=failed["retryable"],
        details=failed["details"],
    )

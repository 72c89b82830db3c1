"""The types of the web UI: made from the server's OpenAPI document, which tells what is really answered."""

import hashlib
import re
import runpy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.core.reading.views import LoopAnswer, ProgressAnswer, TimelineAnswer
from noetl.ports.answers import DiffAnswer, ExecutionAnswer, LinesPage, StateAnswer, WhyAnswer
from noetl.server import shapes, view_shapes
from tests.ui.conftest import Server

UI = Path(__file__).parents[2] / "ui"
KEPT = UI / "src" / "api" / "openapi.json"
WORDS = {"description", "summary", "title"}
RENEW = "renew it with: cd ui && npm run types"


def missing(kept: Any, told: Any, place: str = "") -> list[str]:
    """What a document has that another has not, or has otherwise; words do not count, nor what is new."""
    if isinstance(kept, dict) and isinstance(told, dict):
        return [
            found
            for key, value in kept.items()
            if key not in WORDS
            for found in (
                missing(value, told[key], f"{place}/{key}") if key in told else [f"{place}/{key} is gone"]
            )
        ]
    if isinstance(kept, list) and isinstance(told, list):
        lost = [one for one in kept if all(missing(one, other) for other in told)]
        return [f"{place} has no {one} any more" for one in lost]
    return [] if kept == told else [f"{place} is {told}, not {kept}"]


def test_the_document_that_the_types_are_made_from_is_the_servers() -> None:
    made = runpy.run_path(str(UI / "types" / "document.py"))["document"]()
    kept, told = msgspec.json.decode(KEPT.read_bytes()), msgspec.json.decode(made)
    assert missing(kept, told) == [], RENEW


def test_the_types_are_made_from_that_document() -> None:
    named = re.search(r"sha256 (\w+)", (UI / "src" / "api" / "openapi.ts").read_text())
    assert named is not None
    assert named.group(1) == hashlib.sha256(KEPT.read_bytes()).hexdigest(), RENEW


def test_a_document_that_lost_or_changed_something_is_noticed() -> None:
    kept = {"a": {"type": "integer"}, "list": [{"name": "x"}], "description": "old"}
    assert missing(kept, {**kept, "more": 1, "description": "new"}) == []
    assert missing(kept, {"list": [{"name": "x", "new": 1}], "a": {"type": "string"}}) != []
    assert missing(kept, {"a": {"type": "integer"}, "list": [{"name": "y"}]}) != []
    assert missing(kept, {"a": {"type": "integer"}}) != []


def fits(answer: Any, shape: Any) -> None:
    """Whether a shape says all of an answer: what it reads and writes back is the same."""
    assert msgspec.json.decode(msgspec.json.encode(msgspec.convert(answer, shape, str_keys=True))) == answer


SHAPES: dict[str, Any] = {
    "": ExecutionAnswer,
    "/page": view_shapes.PageAnswer,
    "/progress": ProgressAnswer,
    "/progress?at=5": ProgressAnswer,
    "/graph": view_shapes.GraphAnswer,
    "/data": view_shapes.DataAnswer,
    "/timeline": TimelineAnswer,
    "/loops": view_shapes.LoopRuns,
    "/logs": LinesPage,
    "/found": view_shapes.FoundAnswer,
    "/events": shapes.EventPage,
    "/why": WhyAnswer,
    "/state": StateAnswer,
}


WAITING = {"ask", "signal", "hostile"}


@pytest.mark.parametrize("book", ["flow", "broken", "ask", "signal", "loop", "large", "hostile"])
def test_what_is_answered_about_an_execution_is_what_its_shape_says(server: Server, book: str) -> None:
    execution_id = server.start(book, **({"n": 40} if book == "loop" else {}))
    server.until(execution_id, "task.parked" if book in WAITING else "playbook.processed")
    for place, shape in SHAPES.items():
        fits(server.get(f"/executions/{execution_id}{place}"), shape)
    for run in server.get(f"/executions/{execution_id}/loops")["items"]:
        fits(server.get(f"/executions/{execution_id}/loops/{run}"), LoopAnswer)


def test_what_is_answered_about_everything_is_what_its_shape_says(server: Server) -> None:
    one, other = server.ran("flow"), server.ran("broken")
    fits(server.get(f"/executions/{one}/diff/{other}"), DiffAnswer)
    fits(server.get("/executions?limit=20"), shapes.ExecutionPage)
    fits(server.get("/overview"), view_shapes.OverviewAnswer)
    fits(server.get("/about"), view_shapes.AboutAnswer)
    fits(server.get("/uses"), view_shapes.Uses)
    fits(server.get("/workers"), shapes.WorkerList)
    fits(server.get("/catalog"), shapes.CatalogPage)
    fits(server.get("/session"), shapes.SessionAnswer)
    text = server.get("/catalog/ui/flow")["text"]
    fits(server.call("POST", "/graph", {"playbook": text}), view_shapes.SketchAnswer)
    fits(server.call("POST", "/graph", {"playbook": "a: ["}), view_shapes.SketchAnswer)

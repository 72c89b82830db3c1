"""Payloads that were put aside, back in their place where the step's own templates read them."""

from typing import Any

from noetl.core.draft import Draft
from noetl.core.judge import Unjudged
from noetl.core.mention import Mentions
from noetl.core.output import is_reference


def hydrated(draft: Draft, mentions: Mentions, output: dict[str, Any]) -> dict[str, Any]:
    """The output with its payload in place when it was put aside and these templates read it."""
    ref: Any = output.get("ref")
    if output.get("data") is not None or not is_reference(ref) or not mentions.reads("output", "data"):
        return output
    if ref["locator"].get("store") != "results":
        return output
    if ref["meta"]["bytes"] > draft.limit("max_hydrate_bytes"):
        size = ref["meta"]["bytes"]
        raise Unjudged(
            "limit", f"output.data has {size} bytes, more than limits.max_hydrate_bytes; use kind: resolve"
        )
    return {**output, "data": draft.hydrated[ref["locator"]["key"]]}

"""The grammar of a loop over work that is claimed batch by batch: tables, and how it is told from others."""

from typing import TypeGuard

from noetl.dsl.grammar.types import Choice, Key, Number, Record, Special
from noetl.dsl.yaml.tree import Map
from noetl.json_value import Json

CLAIM_BOUNDS = Record(
    "a claim",
    {
        "batch": Key(Number(integer=True, least=1), "Rows that one claim asks for; 100 by default."),
        "prefetch": Key(
            Number(integer=True, least=1),
            "The next claim is made when fewer iterations than this are left; max_in_flight by default.",
        ),
        "max_batches": Key(Number(integer=True, least=1), "Claims at most; no bound by default."),
    },
)

CLAIM_IN = Record(
    "a claiming loop's in",
    {
        "claim": Key(Special("claim"), "The task that claims a batch of rows.", required=True),
        "until": Key(
            Choice(("empty",)), "When the loop ends: a claim came back without rows.", required=True
        ),
    },
)

# What a task has and a claim has not: it has no name of its own, and nothing is written before an iteration.
NOT_OF_A_CLAIM = ("name", "set", "desc")


def is_claim(value: Json) -> TypeGuard[Map]:
    """Whether a loop's `in` claims its items; any other mapping is a collection of pairs."""
    claim = value.get("claim") if isinstance(value, Map) else None
    return isinstance(value, Map) and isinstance(claim, Map) and ("until" in value or "kind" in claim)

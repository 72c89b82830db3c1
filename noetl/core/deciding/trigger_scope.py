"""What templates read as `trigger`: what started the execution, and for which tick or message."""

from typing import cast

from noetl.core.message import WorkOrder
from noetl.core.shapes import ScopeValues
from noetl.core.state import State
from noetl.dsl.template_scope import TRIGGER
from noetl.json_value import JsonObject

_UNSAID: JsonObject = {
    "kind": "manual",
    "name": None,
    "tick": None,
    "previous_tick": None,
    "payload": None,
    "by": None,
}


def trigger_of(state: State) -> JsonObject:
    """Every field, also those that were not said; an execution of before it was recorded has them too."""
    if state.trigger is not None:
        return {**_UNSAID, **cast("JsonObject", state.trigger)}
    if state.parent is not None:
        return {**_UNSAID, "kind": "playbook", "name": state.parent.get("path"), "by": state.by}
    return {**_UNSAID, "by": state.by}


def last_of(order: WorkOrder) -> ScopeValues:
    """The same as the templates of an order read it."""
    return {} if order.trigger is None else {TRIGGER: order.trigger}

"""Which arrivals a trigger takes: its filter, a template that holds or not. Bounded as every template is."""

from noetl.dsl.template_scope import TRIGGER, TRIGGER_FIELDS
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.templates.template import compile_template
from noetl.errors import RequestError
from noetl.json_value import Json
from noetl.ports.schedule import Trigger

NAMES = (TRIGGER, "workload")
EXAMPLE = "\"{{ trigger.payload.status == 'paid' }}\""


def check_filter(text: str) -> None:
    """Refuse what is no template, or reads what a filter cannot know; raises RequestError."""
    if not is_template(text):
        raise RequestError(f"the filter '{text[:80]}' is no template", hint=f"write it as {EXAMPLE}")
    try:
        template = compile_template(text)
    except TemplateError as error:
        raise RequestError(f"the filter cannot be used: {error.message}", hint=error.hint) from None
    unknown = sorted(template.names - set(NAMES))
    if unknown:
        message = f"the filter reads '{unknown[0]}', which it cannot know"
        raise RequestError(message, hint=f"it reads trigger and workload, as in {EXAMPLE}")
    for path in template.paths:
        if path[0] == TRIGGER and len(path) > 1 and path[1] not in TRIGGER_FIELDS:
            fields = ", ".join(sorted(TRIGGER_FIELDS))
            raise RequestError(f"the filter reads 'trigger.{path[1]}'", hint=f"trigger has {fields}")


def passes(trigger: Trigger, payload: Json) -> bool:
    """Whether what arrived may start something; raises RequestError when the filter cannot tell."""
    if trigger.filter is None:
        return True
    facts = {"kind": trigger.kind, "name": trigger.name, "payload": payload}
    told = {**dict.fromkeys(TRIGGER_FIELDS), **facts, "by": f"trigger {trigger.name}"}
    workload = {**trigger.workload, trigger.payload_key: payload}
    try:
        return compile_template(trigger.filter).truth({TRIGGER: told, "workload": workload})
    except TemplateError as error:
        message = f"the filter of the trigger '{trigger.name}' cannot tell: {error.message}"
        raise RequestError(message, hint="say with default() what a missing value counts as") from None

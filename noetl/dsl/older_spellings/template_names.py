"""Older names inside templates (`outcome`, `result`, `result_ref`, older event names), replaced by today's.

`args` is only noted.
"""

import re

from noetl.dsl.older_spellings.findings import ARGS, OUTCOME, Surface
from noetl.dsl.older_spellings.respell import rename_root, respell_event, respell_output
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.templates.template import compile_template
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.tree import Map, Mark, Seq, Value
from noetl.dsl.yaml.tree_edit import copy_map, copy_seq

# Only a text with one of these words is worth taking apart.
_OLDER = re.compile(r"outcome|\bresult(?:_ref)?\b|\bargs\b|call\.(?:done|error)|step\.exit")
_RESULTS = {"result_ref": "output.ref", "result": "output.data"}


def respell(surface: Surface, value: Value, mark: Mark) -> Value:
    """The same value with today's names in every template; the node itself when nothing changes."""
    if isinstance(value, str):
        return _respell_text(surface, value, mark) if _OLDER.search(value) else value
    if isinstance(value, Map):
        return _respell_map(surface, value)
    if isinstance(value, Seq):
        return _respell_seq(surface, value)
    return value


def _respell_map(surface: Surface, node: Map, verbatim: tuple[str, ...] = ()) -> Map:
    fresh = None
    own = _verbatim(node, surface.kinds)
    for key, item in node.items():
        if key in verbatim or key in own or (isinstance(item, str) and not _OLDER.search(item)):
            continue
        if own and key in ("input", "args") and isinstance(item, Map):
            new: Value = _respell_map(surface, item, own)
        else:
            new = respell(surface, item, node.at(key))
        if new is not item:
            fresh = fresh or copy_map(node)
            fresh[key] = new
    return fresh or node


def _respell_seq(surface: Surface, node: Seq) -> Seq:
    fresh = None
    for index, item in enumerate(node):
        new = respell(surface, item, node.at(index))
        if new is not item:
            fresh = fresh or copy_seq(node)
            fresh[index] = new
    return fresh or node


def _verbatim(node: Map, kinds: Kinds) -> tuple[str, ...]:
    """Inputs of a task that are never templates, wherever the task spells them."""
    kind = kinds.get(node["kind"]) if isinstance(node.get("kind"), str) else None
    return kind.untemplated if kind else ()


def _respell_text(surface: Surface, text: str, mark: Mark) -> str:
    if not is_template(text):
        return text
    if "outcome" in text:
        text = _respell_outcome(surface, text, mark)
    if "result" in text:
        text = _respell_result(surface, text, mark)
    if "event" in text:
        text = respell_event(text)
    if "args" in text and _reads_args(text):
        message = "the template reads 'args', an older spelling of 'input'"
        write = "the value with `set` on the arc, and `input` on the step that reads it"
        surface.deprecated(ARGS, mark, message, write)
    return text


def _respell_outcome(surface: Surface, text: str, mark: Mark) -> str:
    new = respell_output(text)
    if new != text:
        message = "the template reads 'outcome', an older spelling of 'output'"
        surface.deprecated(OUTCOME, mark, message, new.strip())
    return new


def _respell_result(surface: Surface, text: str, mark: Mark) -> str:
    """The result of a task under its older names, unless the document means something else by them."""
    for old, today in _RESULTS.items():
        new = rename_root(text, old, today) if not surface.defines(old) else text
        if new != text:
            message = f"the template reads '{old}', an older spelling of '{today}'"
            surface.deprecated(OUTCOME, mark, message, new.strip())
            text = new
    return text


def _reads_args(text: str) -> bool:
    try:
        return "args" in compile_template(text).names
    except TemplateError:
        return False

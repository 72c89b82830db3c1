"""Every spelling of `set` (flat, nested, bare, set_ctx, set_iter, set_vars) -> one flat map."""

import re

from noetl.dsl.grammar.playbook import READ_ONLY, SCOPES
from noetl.dsl.older_spellings.findings import BARE_TARGET, LEGACY_SET, SET_SCOPE, TARGET_TWICE, Surface
from noetl.dsl.yaml.one_line import flow
from noetl.dsl.yaml.tree import Map

OLDER = {"set_ctx": "ctx", "set_iter": "iter"}
LEGACY = {"set_vars": "step", "set_shared": "ctx"}
FAMILY = ("set", *OLDER, *LEGACY, "set_prev")
_FAMILY = frozenset(FAMILY)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def read_set(surface: Surface, holder: Map, *, bare: bool = True, quiet: bool = False) -> None:
    """Replace the whole `set` family by one flat `set`; `quiet` where what holds it is refused already."""
    if _FAMILY.isdisjoint(holder):
        return
    if "set" in holder and not isinstance(holder["set"], Map):
        return
    flat = Map(mark=holder.at("set"))
    place = next(key for key in FAMILY if key in holder)
    key_mark, value_mark = holder.at_key(place), holder.at(place)
    if "set" in holder:
        _flatten(surface, holder["set"], flat, bare=bare)
    for key in (*OLDER, *LEGACY):
        if key in holder:
            _older(surface, holder, key, flat, quiet=quiet)
    if "set_prev" in holder:
        _previous(surface, holder, quiet=quiet)
    if flat or "set" in holder:
        flat.mark = value_mark
        holder.put("set", flat, key_mark=key_mark, value_mark=value_mark)


def _flatten(surface: Surface, node: Map, flat: Map, *, bare: bool) -> None:
    for key, value in node.items():
        if key in SCOPES and isinstance(value, Map):
            for name in value:
                _add(surface, flat, f"{key}.{name}", value, name)
        elif bare and _NAME.fullmatch(key) and key not in (*SCOPES, *READ_ONLY):
            target = f"step.{key}"
            message = f"set target '{key}' names no scope and is read as '{target}'"
            surface.deprecated(BARE_TARGET, node.at_key(key), message, target)
            _add(surface, flat, target, node, key)
        else:
            _add(surface, flat, key, node, key)


def _older(surface: Surface, holder: Map, key: str, flat: Map, *, quiet: bool) -> None:
    node = holder[key]
    if not isinstance(node, Map):
        return
    mark = holder.at_key(key)
    scope = OLDER.get(key) or LEGACY[key]
    targets = {f"{scope}.{name}": item for name, item in node.items()}
    if not quiet:
        message = f"'{key}' is an older spelling of 'set'"
        note = surface.deprecated if key in OLDER else surface.legacy
        note(SET_SCOPE if key in OLDER else LEGACY_SET, mark, message, f"set: {flow(targets)}")
    for name in node:
        _add(surface, flat, f"{scope}.{name}", node, name)
    del holder[key]


def _previous(surface: Surface, holder: Map, *, quiet: bool) -> None:
    if not quiet:
        message = "'set_prev' is not part of the language"
        write = f"a task after this one: {{kind: noop, output: {flow(holder['set_prev'])}}}"
        surface.legacy(LEGACY_SET, holder.at_key("set_prev"), message, write)
    del holder["set_prev"]


def _add(surface: Surface, flat: Map, target: str, source: Map, key: str) -> None:
    if target in flat:
        message = f"'{target}' is set twice in one set; first at line {flat.at_key(target).line}"
        surface.findings.append(TARGET_TWICE.at(source.at_key(key), message, "keep one of them"))
        return
    flat.put(target, source[key], key_mark=source.at_key(key), value_mark=source.at(key))

"""Requests as the original spelt them: what was sent stood under `payload` or `data`."""

from noetl.dsl.migrate.original.code import holders
from noetl.dsl.migrate.original.remarks import remark
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.yaml.editable_tree import Collection, Entry, entries

WITHOUT_BODY = ("GET", "HEAD", "DELETE", "OPTIONS")
FORM = "x-www-form-urlencoded"
SENT = ("json", "form", "body", "files")
PARTS = {"query": "params", "params": "params", "body": "json", "json": "json", "headers": "headers"}


def rewrite_request(rw: Rewriting, task: Collection) -> None:
    """Bring what a request sends to `json`, `form`, `body` or `params`."""
    for holder in holders(task):
        for key in ("payload", "data"):
            entry = holder.entry(key)
            if entry is not None:
                _send(rw, task, holder, entry)
        body = holder.entry("body")
        if body is not None and isinstance(body.value, Collection) and "json" not in holder:
            body.rename("form" if _is_form(task) and body.as_map is not None else "json")
            rw.changed(body.mark, f"'body' that is not a text is now '{body.key}'")


def _send(rw: Rewriting, task: Collection, holder: Collection, entry: Entry) -> None:
    old, parts = str(entry.key), entry.as_map
    if parts is not None and parts.entries and PARTS.keys() >= {*parts.names} and old == "data":
        _open(rw, holder, entry, parts)
        return
    new = _place(task, entry)
    keys = {*holder.names, *task.names, *task.keys_at("input")}
    if new in keys or (new != "params" and not keys.isdisjoint(SENT)):
        remark(rw, holder, entry, f"'{old}' stands beside another body", "send one of them")
        return
    entry.rename(new)
    if new == "json" and "{{" in (entry.text or ""):
        remark(rw, holder, entry, f"'{old}' is sent as JSON; write 'form' or 'body' for another form")
    else:
        rw.changed(entry.mark, f"'{old}' is now '{new}'")


def _open(rw: Rewriting, holder: Collection, entry: Entry, parts: Collection) -> None:
    """`data: {query: …, body: …}`: each part stands for itself."""
    place = holder.place(entry)
    holder.pull(entry)
    if parts.entries:
        parts.entries[0].lead_with(entry.comments)
    for part in reversed(list(parts.entries)):
        new = PARTS[str(part.key)]
        if new in holder:
            remark(rw, parts, part, f"'{part.key}' of 'data' stands beside '{new}'", "keep one of them")
            continue
        part.rename(new)
        holder.insert(place, part)
    rw.changed(entry.mark, "the parts of 'data' are now 'params' and 'json'")


def _place(task: Collection, entry: Entry) -> str:
    """Where the value of `payload` or `data` belongs, by the method, the content type and its shape."""
    method = task.word("method") or task.word("input", "method")
    if entry.key == "data" and (method or "GET").upper() in WITHOUT_BODY and entry.as_map is not None:
        return "params"
    if entry.as_map is not None and _is_form(task):
        return "form"
    return "json" if entry.text is None or "{{" in entry.text else "body"


def _is_form(task: Collection) -> bool:
    headers = [header for holder in holders(task) for header in entries(holder.map_at("headers"))]
    types = [header.text for header in headers if str(header.key).lower() == "content-type"]
    return FORM in next((text for text in types if text is not None), "")


def result_of(name: str, words: frozenset[str]) -> str:
    """What a request's result was: a mapping around the parsed body; of it what the reader spells out."""
    fields = {
        "status_code": f"{name}.http.status | default(0)",
        "headers": f"{name}.http.headers | default({{}})",
        "url": f"{name}.http.url | default('')",
        "data": f"{name}.data | default(none)",
        "body": f"{name}.data | default(none)",
    }
    keys = fields.keys() & words or fields.keys()
    inside = ", ".join(f"'{key}': {value}" for key, value in fields.items() if key in keys)
    return "{" + inside + "}"

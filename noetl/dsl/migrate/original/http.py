"""Requests as the original spelt them: what was sent stood under `payload` or `data`."""

from noetl.dsl.migrate.original.remarks import remark
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.yaml.editable_tree import Collection, Entry, Scalar, as_map, keys, mapping

WITHOUT_BODY = ("GET", "HEAD", "DELETE", "OPTIONS")
FORM = "x-www-form-urlencoded"
SENT = ("json", "form", "body", "files")
PARTS = {"query": "params", "params": "params", "body": "json", "json": "json", "headers": "headers"}


def rewrite_request(rw: Rewriting, task: Collection) -> None:
    """Bring what a request sends to `json`, `form`, `body` or `params`."""
    inside = task.map_at("input")
    for holder in [task, *([inside] if inside is not None else [])]:
        for key in ("payload", "data"):
            entry = holder.entry(key)
            if entry is not None:
                _send(rw, task, holder, entry)
        body = holder.entry("body")
        if body is not None and isinstance(body.value, Collection) and "json" not in holder:
            body.rename("form" if _is_form(task) and as_map(body.value) is not None else "json")
            rw.changed(body.mark, f"'body' that is not a text is now '{body.key}'")


def _send(rw: Rewriting, task: Collection, holder: Collection, entry: Entry) -> None:
    old, parts = str(entry.key), as_map(entry.value)
    if parts is not None and parts.entries and PARTS.keys() >= {*parts.names} and old == "data":
        _open(rw, holder, entry, parts)
        return
    new = _place(task, entry)
    given = {*holder.names, *task.names, *keys(task.get("input"))}
    if new in given or (new != "params" and not given.isdisjoint(SENT)):
        remark(rw, holder, entry, f"'{old}' stands beside another body", "send one of them")
        return
    entry.rename(new)
    if isinstance(entry.value, Scalar) and new == "json" and "{{" in entry.value.value:
        remark(rw, holder, entry, f"'{old}' is sent as JSON; write 'form' or 'body' for another form")
    else:
        rw.changed(entry.mark, f"'{old}' is now '{new}'")


def _open(rw: Rewriting, holder: Collection, entry: Entry, given: Collection) -> None:
    """`data: {query: …, body: …}`: each part stands for itself."""
    place = holder.place(entry)
    holder.pull(entry)
    if given.entries:
        given.entries[0].lead_with(entry.comments)
    for part in reversed(list(given.entries)):
        new = PARTS[str(part.key)]
        if new in holder:
            remark(rw, given, part, f"'{part.key}' of 'data' stands beside '{new}'", "keep one of them")
            continue
        part.rename(new)
        holder.insert(place, part)
    rw.changed(entry.mark, "the parts of 'data' are now 'params' and 'json'")


def _place(task: Collection, entry: Entry) -> str:
    """Where the value of `payload` or `data` belongs, by the method, the content type and its shape."""
    method = _word(task, "method")
    if entry.key == "data" and (method or "GET").upper() in WITHOUT_BODY and as_map(entry.value) is not None:
        return "params"
    if as_map(entry.value) is not None and _is_form(task):
        return "form"
    is_text = isinstance(entry.value, Scalar) and "{{" not in entry.value.value
    return "body" if is_text else "json"


def _word(task: Collection, key: str) -> str | None:
    inside = task.map_at("input") or mapping()
    return task.word(key) or inside.word(key)


def _is_form(task: Collection) -> bool:
    inside = task.map_at("input") or mapping()
    for headers in (task.map_at("headers"), inside.map_at("headers")):
        for header in headers.entries if headers is not None else []:
            if str(header.key).lower() == "content-type" and isinstance(header.value, Scalar):
                return FORM in header.value.value
    return False


def result_of(name: str, words: frozenset[str]) -> str:
    """What a request's result was: a mapping around the parsed body; of it what the reader spells out."""
    fields = {
        "status_code": f"{name}.http.status | default(0)",
        "headers": f"{name}.http.headers | default({{}})",
        "url": f"{name}.http.url | default('')",
        "data": f"{name}.data | default(none)",
        "body": f"{name}.data | default(none)",
    }
    wanted = fields.keys() & words or fields.keys()
    inside = ", ".join(f"'{key}': {value}" for key, value in fields.items() if key in wanted)
    return "{" + inside + "}"

"""Messages, keys and values over NATS, as the original had them: their actions, and where an answer is."""

from collections.abc import Mapping

from noetl.dsl.migrate.original.code import holders
from noetl.dsl.migrate.original.remarks import remark
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry

ACTIONS = {"kv_set": "kv_put", "kv_list": "kv_keys", "pub": "publish", "js_publish": "publish"}
# Which part of an answer is the whole of it today.
WHOLE: Mapping[str, str] = {"kv_get": "value", "kv_keys": "keys"}
NOT_THERE = "a key that is not there is an error of kind 'not_found', which fails the step, and was no error"
GO_ON = "write: rules: [{when: \"{{ output.error.kind == 'not_found' }}\", then: {do: continue}}]"
ANY_STREAM = "the stream is the one that keeps the subject, whatever its name"
NOT_OFFERED: Mapping[str, str] = {
    "kv_purge": "write: action: kv_delete, or purge the history with the nats program under kind shell",
    "js_get_msg": "write: action: fetch, subject, start: SEQ, limit: 1; it answers {messages, next}",
    "js_stream_info": "ask the nats program under kind shell",
    **dict.fromkeys(
        ("object_put", "object_get", "object_delete", "object_list", "object_info"),
        "write: kind: object, input: {action: …, store: nats://BUCKET, key: …}",
    ),
}


def rewrite_message(rw: Rewriting, task: Collection) -> None:
    """Bring the action of a task and what it needs to today's words."""
    for holder in holders(task):
        entry, old = holder.entry("action"), holder.word("action")
        if entry is None or old is None:
            continue
        if old in NOT_OFFERED:
            remark(rw, holder, entry, f"the action '{old}' is not offered", NOT_OFFERED[old])
        if old == "kv_get" and "spec" not in task:
            remark(rw, holder, entry, NOT_THERE, GO_ON)
        if old == "js_publish":
            _wait_for_stream(rw, holder, entry)
        if old in ACTIONS:
            entry.value = tree.plain(ACTIONS[old])
            rw.changed(entry.mark, f"the action '{old}' is now '{ACTIONS[old]}'")


def _wait_for_stream(rw: Rewriting, holder: Collection, action: Entry) -> None:
    stream = holder.entry("stream")
    if stream is None:
        holder.insert(holder.place(action) + 1, tree.pair("stream", tree.plain("true")))
    elif not tree.says(stream.value, "true", "false"):
        remark(rw, holder, stream, ANY_STREAM)
        stream.value = tree.plain("true")


def answer_of(name: str, part: str) -> str:
    """What an action answered with, put together again from what it answers with today."""
    status = f"'success' if {name}.status == 'ok' else 'not_found'"
    return "{" + f"'status': {status}, '{part}': {name}.data | default(none)" + "}"

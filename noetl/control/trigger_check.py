"""Which triggers make sense: what each kind waits for, and what it has no use for. Nothing is kept here."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from noetl.control.schedules import check_name
from noetl.control.storable import require_plain, storable_json
from noetl.control.trigger_filter import check_filter
from noetl.errors import RequestError
from noetl.ports.schedule import (
    AFTER_MOST,
    BATCH_MOST,
    ENDS,
    KEY_PATTERN,
    LOOK_EVERY,
    MATCHES,
    SECRET_LEAST,
    SOURCE_LENGTH,
    SPAN_PATTERN,
    SUBJECT_LENGTH,
    WAIT_MOST_S,
    TriggerAsk,
    span_ms,
)

SCHEMES = ("", "file", "s3", "s3a", "gs", "gcs", "az", "azure", "abfs")
OWN_SUBJECTS = ("noetl", "$", "_")  # beginnings of what servers, workers and NATS itself speak under


def check_trigger(ask: TriggerAsk) -> None:
    """Refuse a trigger that makes no sense; raises RequestError."""
    check_name(ask.name, "trigger")
    for name, text in [("path", ask.path), ("source", ask.source), *(("after", path) for path in ask.after)]:
        require_plain(text, name)
    storable_json({"workload": ask.workload, "filter": ask.filter}, "trigger")
    if not re.fullmatch(KEY_PATTERN, ask.payload_key):
        message = f"'{ask.payload_key[:80]}' is no key of a workload"
        raise RequestError(message, hint="use letters, digits and _, as in --as order")
    check = _KINDS.get(ask.kind)
    if check is None:
        hint = f"one of {', '.join(_KINDS)}"
        raise RequestError(f"'{ask.kind[:80]}' is no kind of trigger", hint=hint)
    check(ask)
    if ask.filter is not None:
        check_filter(ask.filter)
    if ask.kind != "object" and (ask.source or ask.auth or ask.existing or ask.every != LOOK_EVERY):
        message = f"a trigger of the kind {ask.kind} looks at no objects"
        raise RequestError(message, hint="source, auth, every and existing are of the kind object")
    _check_waits(ask)
    if ask.kind != "playbook" and (ask.after or ask.match != "any" or ask.children):
        message = f"a trigger of the kind {ask.kind} waits for no playbooks"
        raise RequestError(message, hint="after, match and children are of the kind playbook")


def _check_source(ask: TriggerAsk) -> None:
    if ask.subject is not None or ask.queue is not None or ask.secret is not None:
        message = "a trigger on objects has no subject, no queue and no secret"
        raise RequestError(message, hint="those are of the kinds webhook and nats")
    if not ask.source or len(ask.source) > SOURCE_LENGTH or not _has_scheme(ask.source):
        message = f"'{(ask.source or '')[:80]}' is no place where objects arrive"
        raise RequestError(message, hint="s3://BUCKET/PREFIX, gs://, az:// or a folder of the servers")


def _has_scheme(source: str) -> bool:
    try:
        return urlsplit(source).scheme.lower() in SCHEMES
    except ValueError:
        return False


def _check_waits(ask: TriggerAsk) -> None:
    """Refuse waits that are none, too long, or of no use to a trigger that waits for each of several."""
    within = None if ask.batch is None else ask.batch.within
    spans = {"every": ask.every, "debounce": ask.debounce, "batch.within": within}
    for name, span in spans.items():
        if span is None:
            continue
        if not re.fullmatch(SPAN_PATTERN, span) or span_ms(span) > WAIT_MOST_S * 1000:
            raise RequestError(f"{name} is '{span[:80]}'", hint="write 1s to 1d, as in 30s or 5m")
    if ask.batch is not None and not 1 <= ask.batch.max <= BATCH_MOST:
        raise RequestError(f"batch.max is {ask.batch.max}", hint=f"write 1 to {BATCH_MOST}")
    if ask.match == "all" and (ask.debounce is not None or ask.batch is not None):
        message = "a trigger that waits for all of several playbooks has no debounce and no batch"
        raise RequestError(message, hint="it starts one execution for the newest end of each already")


def _check_ends(ask: TriggerAsk) -> None:
    if ask.subject is not None or ask.queue is not None or ask.secret is not None:
        message = "a trigger on the end of playbooks has no subject, no queue and no secret"
        raise RequestError(message, hint="those are of the kinds webhook and nats")
    if not ask.after or len(ask.after) > AFTER_MOST:
        message = f"{len(ask.after)} playbooks are named whose end is waited for"
        raise RequestError(message, hint=f"1 to {AFTER_MOST} paths or patterns, as in --after etl/load")
    wrong = [one for one in ask.on if one not in ENDS]
    if wrong or not ask.on:
        message = f"'{wrong[0][:80]}' is no end of an execution" if wrong else "no end is named"
        raise RequestError(message, hint=f"any of {', '.join(ENDS)}")
    if ask.match not in MATCHES:
        raise RequestError(f"match is '{ask.match[:80]}'", hint=f"one of {', '.join(MATCHES)}")


def _check_webhook(ask: TriggerAsk) -> None:
    if ask.subject is not None or ask.queue is not None:
        raise RequestError("a webhook has no subject and no queue", hint="those are of the kind nats")
    if ask.secret is not None and len(ask.secret) < SECRET_LEAST:
        message = f"the secret has {len(ask.secret)} characters, which can be guessed"
        raise RequestError(message, hint=f"at least {SECRET_LEAST}; without one a good one is made")


def _check_subject(ask: TriggerAsk) -> None:
    """Refuse subjects that NATS does not know, or under which others than senders of messages speak."""
    if ask.secret is not None:
        raise RequestError("a trigger on a subject has no secret", hint="NATS lets in who may publish there")
    words = (ask.subject or "").split(".")
    odd = [word for word in words if not word or re.search(r"\s", word) or not word.isprintable()]
    wild = [word for word in words if ("*" in word and word != "*") or (">" in word and word != ">")]
    if odd or wild or ">" in words[:-1] or len(ask.subject or "") > SUBJECT_LENGTH:
        message = f"'{(ask.subject or '')[:80]}' is no subject of NATS"
        raise RequestError(message, hint="words with dots between them, as in orders.new or orders.*")
    if words[0] in ("*", ">") or words[0].startswith(OWN_SUBJECTS[1:]) or words[0] == OWN_SUBJECTS[0]:
        message = f"the subject '{ask.subject}' reaches what NATS and noetl themselves say"
        raise RequestError(message, hint="let it begin with a word of your own, as in orders.>")
    if ask.queue is not None and not re.fullmatch(r"[!-~]{1,100}", ask.queue):
        raise RequestError(f"'{ask.queue[:80]}' is no queue group", hint="letters, digits, - and _")


_KINDS: dict[str, Callable[[TriggerAsk], None]] = {
    "webhook": _check_webhook,
    "nats": _check_subject,
    "playbook": _check_ends,
    "object": _check_source,
}

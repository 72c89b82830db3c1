"""`retry:` of a task, a mapping in the original: rules of its policy today."""

from noetl.dsl.error_kinds import ELSEWHERE, TOOLS
from noetl.dsl.migrate.original.remarks import gone, remark
from noetl.dsl.older_spellings.policies import put_policy
from noetl.dsl.older_spellings.respell import edit_paths
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.templates.reads import Path
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry, Node, Scalar

ATTEMPTS = ("max_attempts", "attempts", "max_retries", "count", "times")
DELAYS = ("delay", "initial_delay", "backoff_seconds", "delay_seconds", "interval", "backoff_delay")
LONGEST = ("max_delay", "max_backoff", "max_delay_seconds")
GROWTH = {
    "exponential": "exponential",
    "linear": "linear",
    "fixed": "none",
    "none": "none",
    "constant": "none",
}
CONDITIONS = ("when", "retry_when", "retry_on", "on", "retry_on_status", "retry_on_kinds", "status_codes")
FAILED = "output.status == 'error'"
# What a condition of the original read, and where it is read today.
READ = {
    ("error",): "output.error",
    ("status_code",): "output.http.status",
    ("response", "status_code"): "output.http.status",
    ("response",): "output.data",
    ("result",): "output.data",
    ("data",): "output.data",
    ("attempt",): "_attempt",
}


def rewrite_retry(rw: Rewriting, task: Collection) -> None:
    """Make the `retry` of a task a rule of its policy."""
    entry = task.entry("retry")
    if entry is None:
        return
    if tree.is_nothing(entry.value) or _says_no(entry.value):
        gone(rw, task, entry, "a task without a rule that retries is not retried")
        return
    if task.get("spec", "policy") is not None or "eval" in task:
        hint = "make it a rule: then: {do: retry, attempts: …}"
        remark(rw, task, entry, "'retry' stands beside a policy", hint)
        return
    options = entry.as_map
    rule = _rule(rw, options, entry) if options is not None else _plain(entry.value)
    policy = tree.mapping_of({"on_unmatched": "by_status", "rules": [*_stop(options), rule]})
    spec = task.map_at("spec")
    if spec is not None:
        spec.flow = spec.flow and task.flow
    put_policy(task, entry, policy)
    rw.changed(entry.mark, "'retry' is now a rule of spec.policy")


def _says_no(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value.lower() in ("false", "no", "off", "0")


def _plain(node: Node) -> Collection:
    """`retry: 3` and `retry: true`."""
    options = [tree.pair("do", tree.plain("retry"))]
    if isinstance(node, Scalar) and node.value.isdigit():
        options.append(tree.pair("attempts", tree.plain(node.value)))
    return _guarded(FAILED, options)


def _guarded(condition: str, options: list[Entry]) -> Collection:
    guard = tree.pair("when", tree.quoted("{{ " + condition + " }}"))
    return tree.mapping([guard, tree.pair("then", tree.mapping(options, flow=True))])


def _rule(rw: Rewriting, retry: Collection, entry: Entry) -> Collection:
    options = [tree.pair("do", tree.plain("retry"))]
    for name, keys in (("attempts", ATTEMPTS), ("delay", DELAYS), ("max_delay", LONGEST)):
        value = next((retry.get(key) for key in keys if key in retry), None)
        if isinstance(value, Scalar) and not value.empty:
            options.append(tree.pair(name, Scalar(value.text, value.value, value.style)))
    options += _growth(retry, {str(option.key) for option in options})
    jitter = retry.word("jitter")
    if jitter in ("true", "false"):
        options.append(tree.pair("jitter", tree.plain(jitter)))
    _warn_unread(rw, retry, entry)
    return _guarded(_condition(rw, retry, entry), options)


def _growth(retry: Collection, named: set[str]) -> list[Entry]:
    """`backoff` was the way the delay grows, or the delay itself; a multiplier above 1 makes it grow."""
    backoff, multiplier = retry.word("backoff"), retry.word("backoff_multiplier")
    if backoff is not None and backoff in GROWTH:
        return [tree.pair("backoff", tree.plain(GROWTH[backoff]))] if GROWTH[backoff] != "none" else []
    options = []
    if backoff is not None and "delay" not in named:
        options.append(tree.pair("delay", tree.plain(backoff)))
    if multiplier is not None and multiplier not in ("1", "1.0"):
        options.append(tree.pair("backoff", tree.plain("exponential")))
    return options


def _warn_unread(rw: Rewriting, retry: Collection, entry: Entry) -> None:
    others = ("backoff", "backoff_multiplier", "jitter", "stop_when")
    for key in retry.names:
        if key not in (*ATTEMPTS, *DELAYS, *LONGEST, *CONDITIONS, *others):
            rw.review(entry.mark, f"'{key}' of 'retry' is gone: a rule that retries has no such option")


# ---- when -------------------------------------------------------------------------------------------------


def _condition(rw: Rewriting, retry: Collection, entry: Entry) -> str:
    conditions = [node for key in CONDITIONS if not tree.is_nothing(node := retry.get(key))]
    parts = [part for node in conditions for part in _alternatives(rw, node, entry)]
    if not parts:
        return FAILED
    joined = " or ".join(dict.fromkeys(parts))
    return joined if _is_expression(retry) else f"{FAILED} and ({joined})"


def _is_expression(retry: Collection) -> bool:
    """Whether the author wrote the condition, which may hold for an answer that is no error."""
    return any(_expression(retry.get(key)) is not None for key in CONDITIONS)


def _expression(node: Node | None) -> str | None:
    """The expression that an author wrote, as it is read today."""
    text = node.value.strip() if isinstance(node, Scalar) else ""
    if not (text.startswith("{{") and text.endswith("}}")):
        return None
    return edit_paths("{{ " + text[2:-2].strip() + " }}", _today)[2:-2].strip()


def _alternatives(rw: Rewriting, node: Node | None, entry: Entry) -> list[str]:
    inside = _expression(node)
    if inside is not None:
        return [f"({inside})"]
    items = tree.as_list(node)
    nodes = [node] if items is None else items.values()
    words = [each.value for each in nodes if isinstance(each, Scalar)]
    codes = [word for word in words if word.isdigit()]
    kinds = [word for word in words if not word.isdigit()]
    conditions = [f"output.http.status in [{', '.join(codes)}]"] if codes else []
    return conditions + [part for word in kinds for part in _kind(rw, word, entry)]


def _kind(rw: Rewriting, word: str, entry: Entry) -> list[str]:
    word = word.lower()
    if word in ("error", "any", "all", "failure", "exception"):
        return [FAILED]
    if word in ELSEWHERE:
        return [ELSEWHERE[word]]
    if word in TOOLS or word in ("timeout", "child"):
        return [f"output.error.kind == '{word}'"]
    rw.review(entry.mark, f"'{word}' of 'retry' is no kind of error; errors that may pass are retried")
    return ["output.error.retryable"]


def _today(path: Path) -> tuple[int, str] | None:
    for length in (2, 1):
        if path[:length] in READ:
            return length, READ[path[:length]]
    return None


def _stop(retry: Collection | None) -> list[Collection]:
    """`stop_when`: the answer is taken as it is."""
    condition = _expression(retry.get("stop_when")) if retry is not None else None
    return [_guarded(condition, [tree.pair("do", tree.plain("continue"))])] if condition is not None else []

"""The codes of older spellings.

A deprecated spelling runs and is a warning (an error under strict); a legacy one is refused with what
replaces it. Both are translated, so that one cause gives one finding.
"""

from noetl.dsl.diagnostic import Code

OUTCOME = Code("deprecated-outcome", "warning", "A template reads outcome or result")
ARGS = Code("deprecated-args", "warning", "args is the older spelling of input")
SET_SCOPE = Code("deprecated-set-scope", "warning", "set_ctx and set_iter are the older spelling of set")
LABEL_MAP = Code("deprecated-label-map", "warning", "A task is labelled by a key instead of name")
INPUT_BESIDE_KIND = Code("deprecated-input-beside-kind", "warning", "Tool inputs stand beside kind")
BACKOFF_FIXED = Code("deprecated-backoff-fixed", "warning", "backoff fixed is the older spelling of none")
EXECUTOR_KIND = Code("deprecated-executor-kind", "warning", "executor.kind is the older spelling of profile")
WORKBOOK_TASKS = Code(
    "deprecated-workbook-tasks", "warning", "workbook.tasks is the older spelling of workbook"
)
BARE_TARGET = Code("bare-set-target", "warning", "A set target without a scope")

LEGACY_VARS = Code("legacy-vars", "error", "vars is not part of the language")
LEGACY_WHEN = Code("legacy-step-when", "error", "A step has no when")
LEGACY_NEXT_MODE = Code("legacy-next-mode", "error", "spec.next_mode is not part of the language")
LEGACY_EVAL = Code("legacy-eval", "error", "eval is not part of the language")
LEGACY_EXPR = Code("legacy-expr", "error", "expr is not part of the language")
LEGACY_SET = Code("legacy-set", "error", "set_vars, set_shared and set_prev are not part of the language")
LEGACY_PIPE = Code("legacy-pipe", "error", "pipe is not part of the language")
LEGACY_CASE = Code("legacy-case", "error", "case is not part of the language")

# What strict refuses: every spelling that `noetl migrate` rewrites without changing what the playbook does.
_CODES = [code for code in [*globals().values()] if isinstance(code, Code)]
DEPRECATIONS = frozenset(code.name for code in _CODES if code.severity == "warning")

# Legacy forms whose translation is a guess, or none: what the rules say about it would not help.
UNREAD = frozenset({LEGACY_CASE.name, LEGACY_EVAL.name, LEGACY_WHEN.name})

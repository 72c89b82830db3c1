"""Rules about secrets: where they may be read, and that what is used is declared."""

from collections.abc import Iterator

from noetl.dsl.diagnostic import Code, Diagnostic
from noetl.dsl.nearest import nearest
from noetl.dsl.rules.rule_context import RuleContext, repeated
from noetl.dsl.templates.syntax import is_template

KEYCHAIN_NOT_HERE = Code("keychain-not-here", "error", "A secret is read where it would be recorded")
UNKNOWN_KEYCHAIN_ENTRY = Code("unknown-keychain-entry", "error", "A keychain name is not declared")
UNDECLARED_AUTH = Code("undeclared-auth", "warning", "auth names an entry that keychain does not declare")
STATIC_SECRET = Code("static-secret", "warning", "A secret is written in the playbook")
DUPLICATE_KEYCHAIN_ENTRY = Code("duplicate-keychain-entry", "error", "Two keychain entries have one name")


def keychain_use(context: RuleContext) -> Iterator[Diagnostic]:
    """`keychain` is read in task input and auth alone, by declared names."""
    declared = {secret.name for secret in context.playbook.keychain}
    for site, read in context.reads:
        if read.path[0] != "keychain":
            continue
        if not site.boundary.reads("keychain"):
            message = f"'{read.dotted}' cannot be read in {site.description}: the value would be recorded"
            hint = "read it in the input or auth of the task that needs it"
            yield KEYCHAIN_NOT_HERE.at(site.mark, message, hint)
        elif len(read.path) > 1 and read.path[1] not in declared:
            message = f"keychain has no entry '{read.path[1]}'"
            yield UNKNOWN_KEYCHAIN_ENTRY.at(site.mark, message, _declare(read.path[1], declared))


def undeclared_auth(context: RuleContext) -> Iterator[Diagnostic]:
    """A name under `auth` is declared, so that it is checked before the workflow starts."""
    declared = {secret.name for secret in context.playbook.keychain}
    for _, task in context.tasks:
        name = task.auth
        if isinstance(name, str) and not is_template(name) and name not in declared:
            message = f"auth '{name}' of task '{task.label}' is not declared in keychain"
            yield UNDECLARED_AUTH.at(task.node.at("auth"), message, _declare(name, declared))


def _declare(name: str, declared: set[str]) -> str:
    close = nearest(name, declared)
    add = f"add it: keychain: [{{name: {name}, kind: credential, credential: {name}}}]"
    return f"did you mean '{close}'? Else {add}" if close else add


def static_secret(context: RuleContext) -> Iterator[Diagnostic]:
    """Secrets are not written in playbooks."""
    for secret in context.playbook.keychain:
        if secret.kind == "static":
            message = f"keychain entry '{secret.name}' is static: its value stands in the playbook"
            hint = "use kind: env, file or credential; static is for tests"
            yield STATIC_SECRET.at(secret.node.at("kind"), message, hint)


def duplicate_keychain_entry(context: RuleContext) -> Iterator[Diagnostic]:
    """Keychain names are unique."""
    names = ((secret.name, secret.node.at("name")) for secret in context.playbook.keychain)
    for name, mark, line in repeated(names):
        message = f"keychain entry '{name}' is a duplicate of line {line}"
        yield DUPLICATE_KEYCHAIN_ENTRY.at(mark, message, "rename one of the two")


RULES = (keychain_use, undeclared_auth, static_secret, duplicate_keychain_entry)

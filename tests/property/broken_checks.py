"""What holds for every text, however broken: the fuzzer's rules. Each complaint is a sentence; none means all hold.

Loading and migrating never raise, but for a text that is not YAML, which migrating refuses. Migrating twice is
migrating once. A migration that leaves nothing to look at leaves no older spelling, except inside what the
validator cannot read: a mapping with another error in it. Editor schema and validator agree in both directions:

* what the validator accepts, with no error and no older spelling, the schema accepts;
* what the schema accepts, the validator refuses only by `BEYOND_SCHEMA`, which a JSON Schema cannot say.
"""

import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs

from noetl.dsl.diagnostic import Diagnostic, has_errors
from noetl.dsl.grammar.editor_schema import playbook_schema
from noetl.dsl.load import Loaded, load
from noetl.dsl.migrate import Migrated, migrate
from noetl.dsl.older_spellings.findings import DEPRECATIONS
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import plain
from noetl.tools import kinds

KINDS = kinds()
SCHEMA = jsonschema_rs.Draft202012Validator(playbook_schema(KINDS))
PROMISE = "`noetl migrate"  # the hint of a finding that migrating does away with

# Names that must be known or must differ, templates and code that must compile, what only the whole tells.
TWO_TEMPLATES = "or one template {{ … }}"  # where one ends is the template language's
TWO_ELSES = "'choose' has another 'else'"  # each of them is well-formed
DOTTED = re.compile(
    r"'\w+(\.\w+)+' cannot name a task"
)  # it can in a document that `noetl compile` has printed
NAMES = """
    duplicate-step duplicate-label duplicate-keychain-entry duplicate-set-target bad-set-target read-only-target
    unknown-step unknown-label unknown-block unknown-entry-step unknown-final-step unknown-keychain-entry
    bad-template template-not-allowed unquoted-template bad-json-schema json-schema-too-large
    keychain-not-here reference-name not-a-reference synthesize-in-loop continue-at-join
    claim-not-here claim-decision do-outside-rules
"""
BEYOND_SCHEMA = frozenset(NAMES.split())


class Examination:
    """One text and everything that is wrong with how it was read, migrated and judged."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.complaints: list[tuple[str, str]] = []
        parsed = parse(text)
        self.is_yaml = not has_errors(parsed.diagnostics)
        loaded = self.attempt("load", lambda: load(text, kinds=KINDS))
        if loaded is not None and self.is_yaml:
            self.agreement(plain(parsed.tree), loaded)
        if self.is_yaml:
            self.migration(loaded)

    def attempt(self, name: str, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename.rpartition('noetl/')[2]}:{place.lineno}"
            self.complain(f"{name} raises {type(error).__name__} in {where}", str(error))
            return None

    def complain(self, rule: str, detail: str) -> None:
        self.complaints.append((rule, detail))

    def agreement(self, data: Any, loaded: Loaded) -> None:
        refused = errors(loaded)
        if not refused:
            if not SCHEMA.is_valid(data) and not any(map(is_older, loaded.diagnostics)):
                wrong = (
                    f"{error.instance_path}: {error.message[:200]}" for error in SCHEMA.iter_errors(data)
                )
                self.complain("the schema refuses what the validator accepts", "\n".join(wrong))
        elif SCHEMA.is_valid(data):
            for finding in refused:
                told_by_the_whole = any(part in finding.message for part in (TWO_TEMPLATES, TWO_ELSES))
                told_by_the_whole |= DOTTED.search(finding.message) is not None
                if finding.code not in BEYOND_SCHEMA and not told_by_the_whole:
                    self.complain(f"the schema accepts what {finding.code} refuses", str(finding))

    def migration(self, loaded: Loaded | None) -> None:
        migrated: Migrated | None = self.attempt("migrate", lambda: migrate(self.text, kinds=KINDS))
        if migrated is None:
            return
        if migrated.changed:
            again = self.attempt("migrate twice", lambda: migrate(migrated.text, kinds=KINDS))
            if again is not None and again.text != migrated.text:
                self.complain("migrating twice is not migrating once", f"{migrated.text}\n\n{again.text}")
            loaded = self.attempt("load what was migrated", lambda: load(migrated.text, kinds=KINDS))
        if loaded is not None and not any(note.look for note in migrated.notes):
            for finding in left(loaded):
                self.complain(f"migrate leaves {finding.code}", f"{finding}\n{migrated.text}")


def errors(loaded: Loaded) -> list[Diagnostic]:
    return [finding for finding in loaded.diagnostics if finding.severity == "error"]


def is_older(finding: Diagnostic) -> bool:
    return finding.code in DEPRECATIONS or PROMISE in (finding.hint or "")


def left(loaded: Loaded) -> Iterator[Diagnostic]:
    """Older spellings, but for those inside what could not be read."""
    unread = [finding.path.rpartition("/")[0] for finding in errors(loaded) if not is_older(finding)]
    for finding in loaded.diagnostics:
        if is_older(finding) and not any(_inside(finding.path, path) for path in unread):
            yield finding


def _inside(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/")

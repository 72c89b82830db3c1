"""What a playbook may use that not every release knows: the language its text needs, the format of its rows.

A text is kept with the oldest language that says the same, and an execution is logged in the oldest format of
rows: a release that does not know them leaves both to others. What is added to the language gets its line
here; none is ever taken out.
"""

from collections.abc import Callable
from typing import NamedTuple

from noetl.core.formats import OLDEST_ROW_FORMAT
from noetl.dsl.model import Playbook
from noetl.dsl.template_scope import TRIGGER
from noetl.dsl.templates.reads import PathSet
from noetl.errors import NewerFormat

LANGUAGE = 2  # the newest that this release knows
OLDEST_LANGUAGE = 1


class Feature(NamedTuple):
    """A part of the language, since when there is one, and whether a playbook uses it."""

    language: int
    row_format: int
    used_by: Callable[[Playbook, PathSet], bool]  # by what its templates read, too


def _continues(playbook: Playbook, reads: PathSet) -> bool:
    return any(step.continues is not None for step in playbook.steps)


def _claims(playbook: Playbook, reads: PathSet) -> bool:
    return any(step.loop is not None and step.loop.claim is not None for step in playbook.steps)


def _reads_trigger(playbook: Playbook, reads: PathSet) -> bool:
    own = {*playbook.workload, *(step.name for step in playbook.steps)}
    return reads.mentions(TRIGGER) and TRIGGER not in own


def _emits(playbook: Playbook, reads: PathSet) -> bool:
    return any(step.emit is not None for step in playbook.steps)


def _is_expected(playbook: Playbook, reads: PathSet) -> bool:
    return playbook.executor.expected_s is not None


FEATURES: dict[str, Feature] = {
    "claims": Feature(2, 3, _claims),
    "continue": Feature(2, 3, _continues),
    "trigger": Feature(2, 3, _reads_trigger),
    "emit": Feature(2, 3, _emits),
    "sla": Feature(2, 3, _is_expected),
}


def language_of(playbook: Playbook, reads: PathSet) -> int:
    """The oldest language that a playbook can be read in."""
    used = (feature.language for feature in FEATURES.values() if feature.used_by(playbook, reads))
    return max(used, default=OLDEST_LANGUAGE)


def row_format_of(playbook: Playbook, reads: PathSet) -> int:
    """The oldest format of rows that a release must read to go on with an execution of a playbook."""
    used = (feature.row_format for feature in FEATURES.values() if feature.used_by(playbook, reads))
    return max(used, default=OLDEST_ROW_FORMAT)


def check_language(path: str, version: int, language: int) -> None:
    """Raises NewerFormat for a playbook that this release cannot read."""
    if language > LANGUAGE:
        message = (
            f"version {version} of the playbook '{path}' is written in language {language}; "
            f"this noetl knows up to {LANGUAGE}"
        )
        raise NewerFormat(message)

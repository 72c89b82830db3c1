"""Texts before and after migration, and short looks at what it says."""

from noetl.dsl.migrate import Migrated, migrate
from noetl.tools import kinds
from tests.unit.dsl.documents import doc


def rewritten(text: str) -> Migrated:
    """The migrated text, checked to be canonical: migrating it again changes nothing."""
    result = migrate(text, kinds=kinds())
    again = migrate(result.text, kinds=kinds())
    assert (again.text, again.changed) == (result.text, False)
    return result


def step(before: str, after: str) -> tuple[str, str]:
    """A workflow before and after."""
    return doc(before), doc(after)


def looks(result: Migrated) -> list[str]:
    """What the author is asked to look at."""
    return [note.message for note in result.notes if note.look]

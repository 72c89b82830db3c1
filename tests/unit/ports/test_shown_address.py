"""No address that is shown says what only its owner may know."""

import pytest

from noetl.ports.shown_address import without_password


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("postgresql://me:s3cret@h:5/d?password=x", "postgresql://me@h:5/d"),
        ("postgres://h/d", "postgres://h/d"),
        ("postgresql://me:p%40ss@h/d", "postgresql://me@h/d"),
    ],
)
def test_a_password_is_never_shown(dsn: str, shown: str) -> None:
    assert without_password(dsn) == shown

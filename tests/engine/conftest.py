"""Assertions of the table rows tell what they compared."""

import pytest

pytest.register_assert_rewrite("tests.engine.cases")

"""Twenty thousand broken playbooks, the same every time: broken.py makes them, broken_checks.py says what holds."""

import pytest

from tests.property.broken import cases
from tests.property.broken_checks import KINDS, Examination

CHUNKS, CASES = 20, 1000


@pytest.mark.timeout(600)  # some seconds of computing, on a machine that may have other things to do
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_however_a_playbook_is_broken_it_is_read_migrated_and_judged_by_the_rules(chunk: int) -> None:
    texts = list(cases(KINDS, f"chunk {chunk}", CASES, slice(chunk, None, CHUNKS)))
    found = {text: complaints for text in texts if (complaints := Examination(text).complaints)}
    assert len(texts) == CASES
    assert found == {}

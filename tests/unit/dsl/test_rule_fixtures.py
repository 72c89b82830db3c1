"""Every code has a fixture file: documents that draw it at an exact place, and one that does not."""

import pytest

from noetl.dsl.finding_codes import catalogue
from tests.playbook_text import FIXTURES, GENERATED, Case, fixture_cases, loaded

WRITTEN = sorted(code for code in catalogue() if code not in GENERATED)
CASES = [case for code in WRITTEN if (FIXTURES / f"{code}.yaml").exists() for case in fixture_cases(code)]


def test_every_code_has_a_fixture_and_every_fixture_a_code():
    assert {path.stem for path in FIXTURES.glob("*.yaml")} == set(WRITTEN)
    assert GENERATED.keys() <= catalogue().keys()


@pytest.mark.parametrize("code", WRITTEN)
def test_a_fixture_has_three_bad_documents_and_a_clean_one(code):
    places = [case.place for case in CASES if case.code == code]
    assert len([place for place in places if place]) >= 3
    assert None in places


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_finding_stands_exactly_there_and_nowhere_else(case: Case):
    found = [finding for finding in loaded(case.text).diagnostics if finding.code == case.code]
    assert [(finding.line, finding.column) for finding in found] == ([case.place] if case.place else [])
    assert {finding.severity for finding in found} <= {catalogue()[case.code].severity}


@pytest.mark.parametrize("code", GENERATED)
def test_a_document_no_file_can_hold_is_refused_at_its_place(code):
    bad, clean = GENERATED[code]
    for make, place in bad:
        found = [finding for finding in make().diagnostics if finding.code == code]
        assert [(finding.line, finding.column) for finding in found] == [place]
    assert code not in {finding.code for finding in clean().diagnostics}


@pytest.mark.parametrize("case", [case for case in CASES if case.place], ids=str)
def test_every_finding_says_what_and_where_in_one_sentence(case: Case):
    for finding in loaded(case.text).diagnostics:
        assert finding.message
        assert "\n" not in finding.message
        assert not finding.message.endswith(".")
        assert finding.path == "" or finding.path.startswith("/")

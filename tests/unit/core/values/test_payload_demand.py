"""Why a payload cannot be read, in words that name the ways on."""

from noetl.core.values.output import externalise
from noetl.core.values.payload_demand import Payloads, in_envelope, too_large, too_many
from tests.unit.core.build import ID, ok_of


def test_a_size_that_is_not_known_to_its_end_is_told_as_such():
    assert "was stored with at least 7 bytes" in too_large("load", 7, 5, at_least=True)
    assert "was stored with 7 bytes" in too_large("load", 7, 5)


def test_results_that_are_too_large_together_are_told_as_such():
    told = "the result of load and the others that are read with it have more than 4 times limits.max_hydrate_bytes (5)"
    assert too_many("load", 5).startswith(told)


def test_a_payload_over_the_limit_is_not_put_in_its_place_though_it_is_at_hand():
    ref, payload = externalise(ID, [1, 2, 3])
    at_hand: Payloads = {payload.key: [1, 2, 3]}
    envelope = ok_of(None, ref=ref)
    assert in_envelope(envelope, at_hand, 7)["data"] == [1, 2, 3]
    assert in_envelope(envelope, at_hand, 6) is envelope

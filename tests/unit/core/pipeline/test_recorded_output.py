"""Outputs as the log keeps them."""

from typing import Any

import pytest

from noetl.core.pipeline.recorded_output import recorded, trace_value, with_ref
from tests.unit.core.build import Pipe, compiled, error_of, ok_of

PLAIN = "- {step: start, tool: {kind: noop}}"
READS = "- {step: start, tool: {kind: noop, set: {ctx.x_ref: '{{ output.ref }}'}}}"
REF: dict[str, Any] = {"type": "relational", "locator": {}, "auth_reference": None, "meta": {}}


@pytest.mark.parametrize("data", [None, True, 5, 1.5, "small"])
def test_a_small_payload_stays(data):
    frame = Pipe(compiled(PLAIN), limits={"max_payload_bytes": 10}).frame
    assert recorded(frame, ok_of(data)) == ok_of(data)


def test_a_large_one_is_put_aside_unless_it_rests_somewhere_already():
    frame = Pipe(compiled(PLAIN), limits={"max_payload_bytes": 10}).frame
    assert recorded(frame, ok_of("x" * 20))["ref"]["locator"]["key"] == frame.around.payloads[0].key
    assert recorded(frame, ok_of("x" * 20, ref=REF)) == ok_of(None, ref=REF)
    assert len(frame.around.payloads) == 1


def test_a_written_value_is_shown_or_its_size():
    assert trace_value("x") == "x"
    assert trace_value("x" * 3000) == {"bytes": 3002}


def test_a_reference_is_made_only_for_those_that_read_it():
    assert "ref" not in with_ref(Pipe(compiled(PLAIN)).frame, ok_of(1))
    frame = Pipe(compiled(READS)).frame
    assert "ref" in with_ref(frame, ok_of(1))
    assert "ref" not in with_ref(frame, error_of())
    assert with_ref(frame, ok_of(1, ref=REF))["ref"] == REF

"""The end of a workbook block: its own output and set, at its call boundary."""

import pytest

from noetl.core.pipeline.block_end import block_boundary
from noetl.core.pipeline.effects import Ended
from tests.unit.core.build import Pipe, compiled, ok_of


def ended(parts, data=None):
    program = compiled(
        "- {step: start, tool: {name: blk, kind: workbook}}",
        workbook=f"workbook: {{blk: {{tool: [{{name: one, kind: noop}}]{parts}}}}}",
    )
    block = program.blocks["blk"]
    pipe = Pipe(program, pipeline=block.pipeline)
    return block_boundary(block, pipe.frame, Ended(True, ok_of(data, meta=1))), pipe.frame


def test_a_block_without_output_or_set_ends_as_its_last_task():
    done, frame = ended("", 5)
    assert (done.well, done.output, frame.writes) == (True, ok_of(5, meta=1), [])


def test_its_output_replaces_the_data_before_its_set():
    done, frame = ended(", output: '{{ output.data + 1 }}', set: {ctx.n: '{{ output.data }}'}", 5)
    assert (done.output, frame.ctx) == (ok_of(6, meta=1), {"n": 6})


@pytest.mark.parametrize(
    "parts, kind",
    [
        (", output: '{{ output.data.none.x }}'", "template"),
        (", set: {ctx.n: '{{ output.data.none.x }}'}", "template"),
        (", set: {ctx.n_ref: '{{ output.data.x }}'}", "reference"),
    ],
)
def test_an_error_there_is_the_blocks(parts, kind):
    done, frame = ended(parts, {"x": 1})
    assert (done.well, done.error["kind"], frame.ctx) == (False, kind, {})
    assert "workbook block 'blk'" in done.error["message"]

"""The end of a workbook block: its own `set` and `output`, rendered at its call boundary."""

from noetl.core.pipeline.effects import Ended
from noetl.core.pipeline.frame import Frame
from noetl.core.program.evaluator import EvaluationError, TemplateEvaluator, binding
from noetl.core.program.program import BlockProgram
from noetl.core.values.output import failed, problem
from noetl.dsl.templates.limits import TemplateError


def block_boundary(block: BlockProgram, frame: Frame, ended: Ended) -> Ended:
    """Render a block's `output` and `set` when it ended well."""
    frame.output = ended.output
    try:
        if block.output is not None:
            data = block.output.render(binding(block.output, frame.scope("")))
            frame.output = {**ended.output, "data": data}
        if block.set:
            frame.write(TemplateEvaluator().writes(("task", block.name), block.set, frame.scope("")).pairs)
    except (TemplateError, EvaluationError) as error:
        kind = error.kind if isinstance(error, EvaluationError) else "template"
        wrong = problem(kind, f"workbook block {block.name!r}: {error.message}")
        return Ended(False, failed(wrong), wrong)
    return Ended(True, frame.output)

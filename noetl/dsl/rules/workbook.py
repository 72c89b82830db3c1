"""Rules about workbook blocks and the tasks that call them."""

from collections.abc import Iterator

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.nearest import did_you_mean
from noetl.dsl.net.digraph import Digraph
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.yaml.tree import Map

UNKNOWN_BLOCK = Code("unknown-block", "error", "A task calls a block that does not exist")
RECURSIVE_BLOCK = Code("recursive-block", "warning", "A block calls itself")
UNUSED_BLOCK = Code("unused-block", "info", "No task calls a block")


def unknown_block(context: RuleContext) -> Iterator[Diagnostic]:
    """A workbook task calls a block of the workbook."""
    blocks = context.playbook.workbook
    for name, callers in context.calls.items():
        for _, task in callers if name not in blocks else ():
            hint = did_you_mean(name, blocks, f"add it: workbook: {{{name}: {{tool: …}}}}")
            mark = task.node.at("block") if "block" in task.node else task.node.at("kind")
            yield UNKNOWN_BLOCK.at(mark, f"task '{task.label}' calls the unknown block '{name}'", hint)


def recursive_block(context: RuleContext) -> Iterator[Diagnostic]:
    """Calls between blocks come to an end."""
    blocks = context.playbook.workbook
    number = {name: place for place, name in enumerate(blocks)}
    called = [[task.block for task in block.tasks if task.block is not None] for block in blocks.values()]
    digraph = Digraph([number[name] for name in names if name in number] for names in called)
    names = list(blocks)
    for members in digraph.components:
        if digraph.is_cycle(members):
            path = " -> ".join(names[n] for n in digraph.path(members[0], members[0]))
            name = names[members[0]]
            message = f"block '{name}' may call itself for ever: {path}"
            hint = "end the recursion with a loop, or with a jump inside one block"
            yield RECURSIVE_BLOCK.at(_at_name(context, name), message, hint)


def unused_block(context: RuleContext) -> Iterator[Diagnostic]:
    """Every block is called by some task."""
    blocks = context.playbook.workbook
    if context.is_extended or any(name not in blocks for name in context.calls):
        return
    for name in blocks:
        if name not in context.calls:
            hint = f"call it: {{kind: workbook, block: {name}}}, or remove it"
            yield UNUSED_BLOCK.at(_at_name(context, name), f"no task calls block '{name}'", hint)


def _at_name(context: RuleContext, name: str) -> Mark:
    written = context.playbook.node.get("workbook")
    return written.at_key(name) if isinstance(written, Map) else context.playbook.workbook[name].node.mark


RULES = (unknown_block, recursive_block, unused_block)

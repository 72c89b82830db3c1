"""All rewrites of a text in their order: the original's, older spellings, what needs the whole."""

from noetl.dsl.migrate.original.document import rewrite_original
from noetl.dsl.migrate.original.results import rewrite_results
from noetl.dsl.older_spellings.documents import entry_step, rewrite_document
from noetl.dsl.older_spellings.labels import rewrite_labels
from noetl.dsl.older_spellings.payloads import rewrite_payloads
from noetl.dsl.older_spellings.respelling import defined_by, respell
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.yaml.editable_tree import Collection


def rewrite_text(rw: Rewriting, root: Collection) -> None:
    """Bring the tree of a text to today's spelling, in place."""
    rewrite_original(rw, root)
    steps, named_blocks = rewrite_document(rw, root)
    blocks = [block for _, block in named_blocks]
    rewrite_labels(rw, [*steps, *blocks])
    rewrite_results(rw, root, steps, blocks)
    rewrite_payloads(rw, steps, entry_step(root, steps))
    names = defined_by(root)
    for step in steps:
        respell(rw, names, step)
    for block in blocks:
        respell(rw, names, block, args=True)

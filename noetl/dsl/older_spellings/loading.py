"""The rewrites of `migrate` for `load`: an older document's tree in today's spelling, with its findings."""

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.older_spellings.documents import rewrite_document
from noetl.dsl.older_spellings.positioned import editable, positioned
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.editable_tree import Collection
from noetl.dsl.yaml.tree import Map


def rewrite_tree(tree: Map, kinds: Kinds) -> tuple[Map, tuple[Diagnostic, ...]]:
    """A tree in today's spelling, and what is to be said about the older ones in it."""
    root = editable(tree, tree.mark)
    assert isinstance(root, Collection)
    rewriting = Rewriting(root, kinds, loading=True)
    rewrite_document(rewriting, root)
    today = positioned(root, tree.mark)
    assert isinstance(today, Map)
    return today, tuple(rewriting.findings)

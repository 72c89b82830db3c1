"""What holds for every migration: it means what `load` reads, keeps comments, passes strict, leaves nothing to do."""

from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.dsl.diagnostic import has_errors
from noetl.dsl.load import load
from noetl.dsl.migrate import migrate
from noetl.dsl.older_spellings.findings import DEPRECATIONS
from noetl.dsl.yaml.read_editable import UnusualLayout, read
from noetl.dsl.yaml.source import dump, parse
from noetl.dsl.yaml.tree import plain
from noetl.dsl.yaml.write_editable import write
from noetl.errors import PlaybookError
from tests.property.aged import Aging, Author
from tests.property.playbooks import Tree, playbooks
from tests.unit.dsl.kinds import KINDS

# The examples of a profile are shared among the properties of this file.
PROPERTIES = 6
some_examples = settings(max_examples=max(25, settings().max_examples // PROPERTIES))
randoms = st.integers(0, 2**32).map(Random)  # a seed is quicker to draw than every choice


def with_outputs(value: Any) -> Any:
    """Some templates read the output, so that they can be made old."""
    if isinstance(value, dict):
        return {key: with_outputs(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_outputs(item) for item in value]
    return "{{ output.data.total }}" if value == "{{ ctx.total }}" else value


def pruned(value: Any) -> Any:
    """The same data without sections that say nothing."""
    if isinstance(value, list):
        return [pruned(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: pruned(item) for key, item in value.items()}
    return {
        key: item
        for key, item in found.items()
        if item != {} or key not in ("input", "set", "spec", "policy")
    }


def admitted(tree: Tree, random: Random) -> Tree:
    """Some steps are guarded by an admission that could have been a `when`."""
    for step in tree["workflow"]:
        if random.random() < 0.3:
            guard = {"when": "{{ ctx.flag }}", "then": {"allow": True}}
            policy = step.setdefault("spec", {}).setdefault("policy", {})
            policy["admit"] = {"rules": [guard, {"else": {"then": {"allow": False}}}]}
    return tree


@some_examples
@given(playbooks(), randoms)
def test_an_aged_playbook_comes_back_with_the_meaning_that_load_reads_and_its_comments(
    canonical: Tree, random: Random
) -> None:
    canonical = admitted(with_outputs(canonical), random)
    author = Author(random)
    text = author.write(Aging(random, KINDS).playbook(canonical))
    result = migrate(text, kinds=KINDS)
    loaded = load(result.text, kinds=KINDS, strict=True)
    assert pruned(plain(loaded.tree)) == pruned(plain(load(dump(canonical), kinds=KINDS).tree))
    assert not [finding for finding in loaded.diagnostics if finding.code in DEPRECATIONS]
    assert load(text, kinds=KINDS).playbook == loaded.playbook
    assert [comment for comment in author.comments if result.text.count(comment) != 1] == []
    again = migrate(result.text, kinds=KINDS)
    assert (again.text, again.changed) == (result.text, False)


@some_examples
@given(playbooks(), randoms)
def test_canonical_text_of_any_style_comes_back_byte_for_byte(canonical: Tree, random: Random) -> None:
    text = Author(random).write(canonical)
    assert migrate(text, kinds=KINDS).text == text


@some_examples
@given(playbooks(), randoms)
def test_reading_and_writing_gives_the_same_bytes(tree: Tree, random: Random) -> None:
    text = Author(random).write(tree)
    assert write(read(text)) == text
    assert plain(parse(text).tree) == tree


WORDS = """
    step tool next when expr eval else then do spec policy rules admit set set_iter set_ctx set_vars set_shared
    set_prev args input name kind noop python loop in iterator arcs mode next_mode vars pipe case workflow workbook
    tasks executor choose while until paginate request each retry jump continue break to backoff fixed url code
"""
words = st.sampled_from(WORDS.split())
leaves = (
    st.none()
    | st.booleans()
    | st.integers(0, 9)
    | words
    | st.sampled_from(("{{ outcome.result }}", "{{ args.x + vars.y }}", "{{ result", "*x", "{% if a %}"))
)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=30,
)


@some_examples
@given(
    st.dictionaries(words, anything, max_size=4),
    st.lists(st.dictionaries(words, anything, max_size=6)),
    randoms,
)
def test_no_document_makes_it_fail_or_change_its_mind(root: Tree, steps: list[Tree], random: Random) -> None:
    text = Author(random).write(
        {**root, "workflow": [{"step": f"s{i}", **step} for i, step in enumerate(steps)]}
    )
    result = migrate(text, kinds=KINDS)
    assert not has_errors(parse(result.text).diagnostics)
    assert migrate(result.text, kinds=KINDS).text == result.text


@some_examples
@given(st.text(alphabet="ab:-{}[],#&*'\"|>? \n\r", max_size=40))
def test_any_text_is_refused_or_kept_or_rewritten(text: str) -> None:
    if has_errors(parse(text).diagnostics):
        with pytest.raises(PlaybookError):
            migrate(text, kinds=KINDS)
    else:
        assert migrate(text, kinds=KINDS).text == text


@some_examples
@given(st.text(alphabet="ab:-{}[],#&*'\"|>? \n\r", max_size=40))
def test_any_layout_is_kept_or_told_apart(text: str) -> None:
    if not has_errors(parse(text).diagnostics):
        with suppress(UnusualLayout):
            assert write(read(text)) == text

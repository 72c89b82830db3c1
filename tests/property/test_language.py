"""What holds for every playbook: reading twice changes nothing, writing loses nothing, breaking is noticed in place."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.dsl.build import build
from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.grammar.playbook import COMPILED_LABEL
from noetl.dsl.load import Loaded, load, load_tree
from noetl.dsl.older_spellings.normalize import normalize
from noetl.dsl.yaml.source import dump, parse
from noetl.dsl.yaml.tree import plain
from noetl.dsl.yaml.tree_edit import adopt
from tests.property.playbooks import LETTERS, Tree, playbooks, sugared
from tests.unit.dsl.kinds import KINDS

# The examples of a profile are shared among the properties of this file.
PROPERTIES = 9
some_examples = settings(max_examples=max(25, settings().max_examples // PROPERTIES))

Path = tuple[str | int, ...]
Site = tuple[Path, tuple[str, ...]]

WORDS = """
    apiVersion kind metadata keychain executor workload workflow workbook step desc input spec loop tool output set
    next name auth policy rules before when then else do to attempts backoff delay arcs mode admit allow in iterator
    reduce while until choose paginate request each items max eval expr vars args set_ctx set_iter set_vars set_prev
    pipe case next_mode tasks timeout limits validate join synthesize from ctx.a iter.b ctx fetch noop
"""
CONSTANTS = """
    noetl.io/v2 Playbook noop http python workbook {{ {{ctx.a}} {{outcome.result}} {{event.name=='call.done'}} a
    sync retry jump continue parallel
"""


def data_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Any JSON-like data, its keys and texts often words of the language."""
    numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | st.sampled_from(CONSTANTS.split()) | text
    keys = st.sampled_from(WORDS.split()) | text
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
        max_leaves=40,
    )


json_like = data_of(st.text(max_size=3))
writable = data_of(st.text(LETTERS, max_size=3)).map(lambda tree: dump(adopt(tree)))


def errors(loaded: Loaded) -> list[Diagnostic]:
    return [finding for finding in loaded.diagnostics if finding.severity == "error"]


def pointer(path: Path) -> str:
    return "".join(f"/{part}" for part in path)


def at(tree: Any, path: Path) -> Any:
    for part in path:
        tree = tree[part]
    return tree


# ---- where a valid playbook can be broken ---------------------------------------------------------------


def sites(tree: Tree) -> Iterator[Site]:
    """Every mapping whose keys are the language's, with its required keys."""
    yield (), ("apiVersion", "kind", "metadata", "workflow")
    yield ("metadata",), ("name", "path")
    yield ("executor",), ()
    yield ("executor", "spec"), ()
    yield ("executor", "spec", "limits"), ()
    for index in range(len(tree["workflow"])):
        yield from _step_sites(("workflow", index), tree["workflow"][index])
    for name, block in tree["workbook"].items():
        yield ("workbook", name), ("tool",)
        yield from _pipeline_sites(("workbook", name), block)


def _step_sites(path: Path, step: Tree) -> Iterator[Site]:
    yield path, ("step",)
    for more in (
        "spec",
        "spec limits",
        "spec validate",
        "spec policy",
        "spec policy lifecycle",
        "spec policy failure",
    ):
        yield (*path, *more.split()), ()
    yield (*path, "spec", "policy", "admit"), ("rules",)
    yield (*path, "next"), ("arcs",)
    yield (*path, "next", "spec"), ()
    for index in range(len(step.get("next", {}).get("arcs", ()))):
        yield (*path, "next", "arcs", index), ("step",)
    yield from _pipeline_sites(path, step)


def _pipeline_sites(path: Path, body: Tree) -> Iterator[Site]:
    loop: Path = (*path, "loop")
    inner = body.get("loop")
    while inner is not None:
        yield loop, ("in", "iterator")
        yield (*loop, "spec"), ()
        yield (*loop, "spec", "policy"), ()
        inner, loop = inner.get("loop"), (*loop, "loop")
    for index, task in enumerate(body.get("tool", ())):
        here = (*path, "tool", index)
        yield here, ("kind",)
        yield (*here, "spec"), ()
        policy = task.get("spec", {}).get("policy")
        if policy is not None:
            yield from _policy_sites((*here, "spec", "policy"), policy)


def _policy_sites(path: Path, policy: Tree) -> Iterator[Site]:
    for name in ("before", "rules"):
        for index, rule in enumerate(policy.get(name, ())):
            here = (*path, name, index)
            yield here, ("then",) if "then" in rule else ("else",)
            body: Path = ("then",) if "then" in rule else ("else", "then")
            to = ("to",) if at(rule, body)["do"] == "jump" else ()
            yield (*here, *body), ("do", *to)


def present(tree: Tree) -> list[Site]:
    found = []
    for path, required in sites(tree):
        try:
            node = at(tree, path)
        except (KeyError, IndexError):
            continue
        if node:
            found.append((path, required))
    return found


def refused_inside(tree: Tree, path: Path) -> None:
    """The mutated playbook is refused, and every error stands inside the mutated node."""
    text = dump(adopt(tree))
    loaded = load(text, kinds=KINDS)
    found = errors(loaded)
    assert found
    assert [finding for finding in found if not finding.path.startswith(pointer(path))] == []


FREE = ("output", "message", "in", "start", "else")


@some_examples
@given(st.data(), playbooks())
def test_a_renamed_key_is_refused_in_its_place(data, tree):
    path, _ = data.draw(st.sampled_from(present(tree)))
    node = at(tree, path)
    key = data.draw(st.sampled_from(sorted(node)))
    mutated = deepcopy(tree)
    broken = {(f"{key}_x" if name == key else name): value for name, value in node.items()}
    at(mutated, path).clear()
    at(mutated, path).update(broken)
    refused_inside(mutated, path)


@some_examples
@given(st.data(), playbooks())
def test_a_dropped_field_is_refused_in_its_place(data, tree):
    path, required = data.draw(st.sampled_from([site for site in present(tree) if site[1]]))
    key = data.draw(st.sampled_from(required))
    mutated = deepcopy(tree)
    del at(mutated, path)[key]
    refused_inside(mutated, path)


@some_examples
@given(st.data(), playbooks())
def test_a_swapped_type_is_refused_in_its_place(data, tree):
    candidates = [
        (path, key) for path, _ in present(tree) for key in sorted(at(tree, path)) if key not in FREE
    ]
    path, key = data.draw(st.sampled_from(candidates))
    mutated = deepcopy(tree)
    at(mutated, path)[key] = [[1]]
    refused_inside(mutated, path)


# ---- what holds for valid playbooks ---------------------------------------------------------------------


@some_examples
@given(playbooks())
def test_a_valid_playbook_has_no_error(tree):
    assert errors(load_tree(tree, kinds=KINDS)) == []


@some_examples
@given(playbooks())
def test_a_playbook_written_and_read_is_the_same_playbook(tree):
    playbook = build(normalize(tree, KINDS).tree)
    assert build(parse(dump(playbook.node)).tree) == playbook
    assert load(dump(playbook.node), kinds=KINDS).playbook == playbook


@some_examples
@given(playbooks() | json_like)
def test_normalising_twice_is_normalising_once(tree):
    once = normalize(tree, KINDS).tree
    assert plain(normalize(once, KINDS).tree) == plain(once)


@some_examples
@given(sugared())
def test_an_expansion_is_itself_a_valid_playbook_and_the_same_one(tree):
    loaded = load_tree(tree, kinds=KINDS)
    assert errors(loaded) == []
    expanded = plain(loaded.expanded)
    expanded["metadata"]["labels"] = {COMPILED_LABEL: "true"}
    again = load(dump(adopt(expanded)), kinds=KINDS, strict=True)
    assert errors(again) == []
    assert again.playbook is not None
    assert loaded.playbook is not None
    assert (again.playbook.steps, again.playbook.workbook) == (
        loaded.playbook.steps,
        loaded.playbook.workbook,
    )


# ---- what holds for anything ----------------------------------------------------------------------------


@some_examples
@given(st.text() | st.binary() | writable)
def test_no_text_makes_loading_raise(text):
    loaded = load(text, kinds=KINDS, strict=True)
    assert all(finding.line >= 1 and finding.column >= 1 for finding in loaded.diagnostics)

"""Whatever text comes in, reading it ends with a tree or findings; whatever tree goes out comes back the same."""

from hypothesis import given
from hypothesis import strategies as st

from noetl.dsl.yaml.source import Limits, dump, parse
from noetl.dsl.yaml.tree import Map, Seq, plain

# Every character that JSON text may hold: no NUL, no surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
AWKWARD = st.text("ab {}[]:,-#\"'\\\n\t\r|>&*!%@`?~=<.01e+_é\u2028\x85\ufeff😀", max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
)
LEAVES = SCALARS | TEXTS | AWKWARD
KEYS = TEXTS | AWKWARD | st.from_regex(r"[a-z_]\w*", fullmatch=True)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)

PIECES = st.sampled_from(
    [
        "a", "b: ", "- ", "? ", ": ", "[", "]", "{", "}", "{{ x }}", ", ", "\n", "\n  ", "\n    ", " ", "\t", "#", "'", '"', "|", ">",
        "&x ", "*x", "!t ", "<<: ", "---\n", "...\n", "%TAG", "1", "0o7", ".inf", "1e400", "true", "null", "~", "\\", "é", "\r\n", "\0",
    ]
)  # fmt: skip
YAMLISH = st.lists(PIECES, max_size=40).map("".join)
SMALL = Limits(size=2_000, depth=6, nodes=40, aliased=10, findings=5)


@given(TREES)
def test_a_dumped_tree_parses_back_to_itself(tree) -> None:
    parsed = parse(dump(tree))
    assert parsed.tree == tree
    assert repr(plain(parsed.tree)) == repr(tree)
    assert all(finding.severity != "error" for finding in parsed.diagnostics)


@given(TREES)
def test_dumping_is_canonical(tree) -> None:
    once = dump(tree)
    assert dump(parse(once).tree) == once


@given(st.text(st.characters()) | st.binary() | YAMLISH)
def test_no_text_makes_parse_raise(text) -> None:
    for limits in (Limits(), SMALL):
        parsed = parse(text, limits=limits)
        assert len(parsed.diagnostics) <= limits.findings + 1


@given(YAMLISH)
def test_every_finding_stands_inside_the_text(text) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for finding in parse(text).diagnostics:
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1
        assert finding.message


@given(YAMLISH)
def test_what_was_read_can_be_written_and_read_again(text) -> None:
    tree = parse(text).tree
    assert parse(dump(tree)).tree == tree


@given(TREES.filter(lambda tree: isinstance(tree, dict | list) and tree))
def test_every_node_of_a_tree_has_a_pointer_that_leads_to_it(tree) -> None:
    root = parse(dump(tree)).tree
    pending = [root]
    while pending:
        node = pending.pop()
        items = enumerate(node) if isinstance(node, list) else node.items()
        for key, value in items:
            assert _follow(root, node.at(key).path) is value or _follow(root, node.at(key).path) == value
            if isinstance(value, Map | Seq):
                assert value.mark == node.at(key)
                pending.append(value)


def _follow(root, pointer: str):
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        root = root[int(key)] if isinstance(root, list) else root[key]
    return root

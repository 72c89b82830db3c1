"""Playbooks that somebody broke: valid ones of every age with keys, values and items dropped, doubled, swapped,
retyped, renamed, moved or grafted, and their lines cut or repeated. A seed gives the same text on every machine.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map, plain
from tests.property.aged import Aging, Author
from tests.property.playbooks import Tree, playbooks, sugared

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```yaml\n(.*?)^```", re.M | re.S)
PART = re.compile(r"^# ---.*$", re.M)
BREAKS = (1, 1, 1, 2, 3)  # most are broken in one place only: the rest still has to be read
LONGEST = 1200  # characters; longer ones only take longer
GENERATED = 15  # random playbooks of one seed; drawing one takes as long as examining ten
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: broken, path: property/broken}\n"

OTHERS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2.5, 10**30, "", "a", "a b", "1", "é", "x.y", "start", "ctx", "iter", "end",
    "{{", "{{ ctx.a }}", "{{ a b }}", "{{ outcome.result }}", "{{ result.data }}", "{% if a %}", "{{ a }} {{ b }}",
    "noop", "http", "python", "workbook", "playbook", "retry", "jump", "fail", "parallel", "fixed", "exclusive",
    [], [[]], [None], [1], ["a"], [{}], {}, {"": 1}, {"a": None}, {"a": 1}, {"ctx": {"a": 1}}, {"step": "a"},
)  # fmt: skip
WORDS = """
    apiVersion kind metadata keychain executor workload workflow workbook step desc input spec loop tool output set
    next name auth policy rules before when then else do to attempts backoff delay arcs mode admit allow in iterator
    reduce while until choose paginate request each items max eval expr vars args set_ctx set_iter set_vars set_prev
    set_shared pipe case next_mode tasks timeout limits validate join synthesize from ctx.a iter.b ctx outcome result
    max_in_flight profile on_unmatched block path code url query command message params each collect
"""


# ---- what is broken -------------------------------------------------------------------------------------


def cases(kinds: Kinds, seed_text: str, count: int, part: slice = slice(None)) -> Iterator[str]:
    """Broken playbooks: of a part of the repository's own ones, and as many of random ones.

    What becomes of one base depends on that base alone, so that editing a page changes no other case.
    """
    grafts = [entry for text in older() for entry in entries(plain(parse(text).tree))]
    words = sorted({*WORDS.split(), *(key for key, _ in grafts)})
    bases: list[str | Tree] = []
    for own, random_one in zip(cycle(texts()[part]), cycle(generated(seed_text, kinds)), strict=False):
        bases += [own, random_one]
        if len(bases) >= count:
            break
    turns: Counter[str] = Counter()
    for base in bases[:count]:
        name = str(base)
        turns[name] += 1
        yield broken(base, Random(f"{seed_text}/{turns[name]}/{name}"), words, grafts)


def broken(base: str | Tree, random: Random, words: Sequence[str], grafts: Sequence[tuple[str, Any]]) -> str:
    """One broken playbook."""
    if isinstance(base, str) and random.random() < 0.3:
        return broken_lines(base, random)
    tree = plain(parse(base).tree) if isinstance(base, str) else deepcopy(base)
    for _ in range(random.choice(BREAKS)):
        tree = Break(tree, random, words, grafts).once()
    return Author(random).write(tree)


def older() -> list[str]:
    """Playbooks in older spellings."""
    return [path.read_text() for path in sorted(ROOT.glob("tests/fixtures/seeds/*.yaml"))]


def texts() -> list[str]:
    """Every playbook that the repository holds: examples, the documentation's, the rules' and the older ones."""
    found = [path.read_text() for path in sorted(ROOT.glob("examples/*.yaml"))] + older()
    for path in sorted(ROOT.glob("tests/rules/*.yaml")):
        found += PART.split(path.read_text())
    for path in sorted(ROOT.glob("docs/**/*.md")):
        found += FENCE.findall(path.read_text())
    whole = [text if "apiVersion:" in text else HEAD + text for text in found if "workflow:" in text]
    return [text for text in whole if len(text) < LONGEST and isinstance(parse(text).tree, Map)]


def generated(seed_text: str, kinds: Kinds) -> list[Tree]:
    """Random valid playbooks, every second one in older spellings."""
    trees: list[Tree] = []
    random = Random(seed_text)

    @seed(random.getrandbits(32))
    @settings(
        max_examples=GENERATED,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(playbooks(), sugared()))
    def draw(tree: Tree) -> None:
        if len(str(tree)) < 2 * LONGEST:
            trees.append(tree)

    # Hypothesis also draws constants from the modules that happen to be loaded; a fixed case must not know them.
    with patch.object(providers.HypothesisProvider, "_local_constants", Constants()):
        providers.CONSTANTS_CACHE.cache.clear()
        draw()
        providers.CONSTANTS_CACHE.cache.clear()
    return [Aging(random, kinds).playbook(tree) if index % 2 else tree for index, tree in enumerate(trees)]


# ---- how it is broken -----------------------------------------------------------------------------------


def containers(node: Any) -> Iterator[Any]:
    """Every mapping and list, the whole first."""
    if isinstance(node, (dict, list)):
        yield node
        for item in node.values() if isinstance(node, dict) else node:
            yield from containers(item)


def entries(node: Any) -> Iterator[tuple[str, Any]]:
    """Every key with its value."""
    for part in containers(node):
        if isinstance(part, dict):
            yield from part.items()


def slots(node: Any) -> list[Any]:
    """The keys of a mapping or the places of a list."""
    return list(node) if isinstance(node, dict) else list(range(len(node)))


class Break:
    """One change somewhere in a tree, which is changed in place."""

    def __init__(
        self, tree: Tree, random: Random, words: Sequence[str], found: Sequence[tuple[str, Any]]
    ) -> None:
        self.tree = tree
        self.random = random
        self.words = words
        self.entries = found
        self.filled = [part for part in containers(tree) if part]
        self.ways: tuple[Callable[[Any, Any], None], ...] = (
            self.drop, self.double, self.swap, self.retype, self.wrap, self.rename, self.move, self.graft,
        )  # fmt: skip

    def once(self) -> Tree:
        if self.filled:
            holder = self.random.choice(self.filled)
            self.random.choice(self.ways)(holder, self.random.choice(slots(holder)))
        return self.tree

    def drop(self, holder: Any, slot: Any) -> None:
        del holder[slot]

    def double(self, holder: Any, slot: Any) -> None:
        self.put(holder, self.random.choice(self.words), deepcopy(holder[slot]))

    def swap(self, holder: Any, slot: Any) -> None:
        other = holder if self.random.random() < 0.5 else self.random.choice(self.filled)
        place = self.random.choice(slots(other))
        one, two = deepcopy(holder[slot]), deepcopy(other[place])
        holder[slot] = two
        if any(part is other for part in containers(self.tree)):  # it may have stood in what went away
            other[place] = one

    def retype(self, holder: Any, slot: Any) -> None:
        holder[slot] = deepcopy(self.random.choice(OTHERS))

    def wrap(self, holder: Any, slot: Any) -> None:
        value = holder[slot]
        inside = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
        if inside and self.random.random() < 0.5:
            holder[slot] = self.random.choice(inside)
        else:
            holder[slot] = self.random.choice(([value], {self.random.choice(self.words): value}, str(value)))

    def rename(self, holder: Any, slot: Any) -> None:
        if isinstance(holder, list):
            holder.reverse()
            return
        word = self.random.choice((*self.words, f"{slot}_x", f"{slot}.x", f"{{{{ {slot} }}}}", slot[:-1]))
        changed = {(word if key == slot else key): value for key, value in holder.items()}
        holder.clear()
        holder.update(changed)

    def move(self, holder: Any, slot: Any) -> None:
        value = holder.pop(slot)
        self.put(self.random.choice(list(containers(self.tree)) or [holder]), slot, value)

    def graft(self, holder: Any, slot: Any) -> None:
        key, value = self.random.choice(self.entries)
        self.put(holder, key, deepcopy(value))

    def put(self, holder: Any, key: Any, value: Any) -> None:
        if isinstance(holder, list):
            holder.insert(self.random.randint(0, len(holder)), value)
        else:
            holder[str(key)] = value


def broken_lines(text: str, random: Random) -> str:
    """The same text with a line cut, repeated, exchanged or pushed."""
    lines = text.splitlines()
    for _ in range(random.choice(BREAKS)):
        at, other = random.randrange(len(lines)), random.randrange(len(lines))
        way = random.randrange(5)
        if way == 0 and len(lines) > 1:
            del lines[at]
        elif way == 1:
            lines.insert(other, lines[at])
        elif way == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif way == 3:
            lines[at] = "  " + lines[at]
        else:
            lines[at] = lines[at].removeprefix("  ")
    return "\n".join(lines) + "\n"

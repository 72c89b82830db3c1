"""The drawing formats: each shows every step and arc, and nothing in a playbook can break its syntax."""

import json
import re
from dataclasses import replace
from types import ModuleType
from xml.etree import ElementTree

import pytest

from noetl.drawings import dot, mermaid, pnml, svg
from noetl.drawings import json as graph_json
from noetl.dsl.model import Arc, Playbook, Router, Step
from noetl.dsl.net.diagram import sketch
from tests.unit.cli.drawn import SHOP, exclusive, tasks

DRAWN = sketch(SHOP)
SVG = "{http://www.w3.org/2000/svg}"
PNML = "{http://www.pnml.org/version-2009/grammar/pnml}"


@pytest.mark.parametrize("form", [svg, mermaid, dot, graph_json, pnml], ids=lambda form: form.__name__)
def test_every_step_and_every_guard_is_in_the_drawing(form: ModuleType) -> None:
    text = form.render(DRAWN)
    for node in DRAWN.nodes:
        assert node.name in text
    for guard in ("step.failed", "workload.all", "output.data.again"):
        assert guard in text


# ---- svg ------------------------------------------------------------------------------------------------


def test_the_picture_is_xml_with_a_title_and_one_group_per_step() -> None:
    picture = ElementTree.fromstring(svg.render(DRAWN))
    title = picture.find(f"{SVG}title")
    assert title is not None
    assert title.text == "The playbook shop"
    steps = [group for group in picture.iter(f"{SVG}g") if "step" in group.get("class", "").split()]
    assert len(steps) == len(DRAWN.nodes)


def test_the_picture_has_colours_for_light_and_dark_pages_and_no_script() -> None:
    text = svg.render(DRAWN)
    assert "prefers-color-scheme: dark" in text
    assert "<script" not in text
    assert "var(" not in text


def test_marks_of_a_step_are_drawn_together() -> None:
    both = Playbook("p", "p", (replace(SHOP.steps[1], name="only", next=Router()),))
    text = svg.render(sketch(both))
    assert text.count('class="card"') == 3  # a loop is a stack
    assert 'class="ring"' in text  # an end has two borders
    assert 'class="token"' in text  # the entry has a token


def test_an_arc_about_a_failure_is_marked() -> None:
    picture = ElementTree.fromstring(svg.render(DRAWN))
    failing = [g for g in picture.iter(f"{SVG}g") if "failure" in g.get("class", "").split()]
    assert {title.text for g in failing if (title := g.find(f"{SVG}title")) is not None} == {
        "orders to cleanup when event.name == 'step.failed'"
    }


@pytest.mark.parametrize("guard", ["event.failed", "output.status == 'error'"])
def test_every_spelling_of_a_failure_is_marked(guard: str) -> None:
    steps = (Step("a", next=exclusive(Arc("b", when=f"{{{{ {guard} }}}}"))), Step("b"))
    assert 'class="edge failure"' in svg.render(sketch(Playbook("p", "p", steps)))


def test_steps_of_an_execution_have_the_colour_of_how_they_stand() -> None:
    picture = ElementTree.fromstring(
        svg.render(DRAWN, {"start": "done", "orders": "failed", "merge": "running"})
    )
    steps = [g for g in picture.iter(f"{SVG}g") if "step" in g.get("class", "").split()]
    looks = {
        (title.text or "").partition(":")[0]: g.get("class", "").split()[-1]
        for g in steps
        if (title := g.find(f"{SVG}title")) is not None
    }
    assert {name: look for name, look in looks.items() if look.startswith("is-")} == {
        "start (done)": "is-good",
        "orders (failed)": "is-bad",
        "merge (running)": "is-now",
    }


@pytest.mark.parametrize("count", [1, 300])
def test_small_and_large_playbooks_are_drawn(count: int) -> None:
    steps = tuple(
        Step(f"s{i}", next=exclusive(Arc(f"s{i + 1}")) if i + 1 < count else Router()) for i in range(count)
    )
    ElementTree.fromstring(svg.render(sketch(Playbook("p", "p", steps))))


# ---- text formats ---------------------------------------------------------------------------------------


def test_mermaid_gives_each_mark_its_shape() -> None:
    text = mermaid.render(DRAWN)
    assert 's0{"start"}' in text
    assert re.search(r's1\[\["orders<br/>http → noop ×2<br/>for each endpoint · 5 at once"]]', text)
    assert 's3{{"merge<br/>python"}}' in text
    assert 's5(["cleanup<br/>shell"])' in text
    assert "s1 -.->|\"event.name == 'step.failed'\"| s5" in text
    assert "class s0 entry" in text
    assert "class s4,s5 finish" in text


def test_mermaid_quotes_what_it_would_read_as_syntax() -> None:
    assert "output.data.again #lt; #quot;9#quot;" in mermaid.render(DRAWN)


def test_dot_combines_marks_and_quotes_text() -> None:
    text = dot.render(DRAWN)
    assert '"orders" [label="orders\\nhttp → noop ×2\\nfor each endpoint · 5 at once", shape="box3d"' in text
    assert '"cleanup" [label="cleanup\\nshell", shape="oval", peripheries="2"]' in text
    assert 'label="output.data.again < \\"9\\""' in text
    assert text.count("{") == text.count("}")


def test_json_tells_steps_and_arcs_with_their_places() -> None:
    graph = json.loads(graph_json.render(DRAWN))
    assert (graph["name"], graph["path"], graph["entry"]) == ("shop", "examples/shop", "start")
    assert graph["steps"][1] == {
        "step": "orders",
        "desc": None,
        "kinds": ["http", "noop", "noop"],
        "loop": "for each endpoint · 5 at once",
        "join": None,
        "admission": False,
        "entry": False,
        "end": False,
        "line": 1,
    }
    assert graph["arcs"][1] == {
        "from": "start",
        "to": "customers",
        "when": "{{ workload.all }}",
        "mode": "inclusive",
        "order": 1,
        "line": 1,
    }


# ---- the net --------------------------------------------------------------------------------------------


def fire(net: pnml.Net, marking: dict[str, int], transition: str) -> dict[str, int]:
    takes = [source for source, target in net.arcs if target == transition]
    gives = [target for source, target in net.arcs if source == transition]
    assert all(marking.get(place, 0) for place in takes), f"{transition} cannot fire"
    after = dict(marking)
    for place in takes:
        after[place] -= 1
    for place in gives:
        after[place] = after.get(place, 0) + 1
    return {place: count for place, count in after.items() if count}


def test_the_net_is_pnml_with_one_token_at_the_entry() -> None:
    document = ElementTree.fromstring(pnml.render(DRAWN).encode())
    assert document.tag == f"{PNML}pnml"
    marked = [
        place.get("id")
        for place in document.iter(f"{PNML}place")
        if place.find(f"{PNML}initialMarking") is not None
    ]
    assert marked == ["s0.in"]
    ids = [element.get("id") for element in document.iter() if element.get("id")]
    assert len(ids) == len(set(ids))


def test_a_join_of_all_needs_a_token_from_every_source() -> None:
    net = pnml.build(DRAWN)
    takes = {source for source, target in net.arcs if target == "s3"}
    assert takes == {"s3.in.s1", "s3.in.s2", "s3.in.s3"}


def test_a_run_of_the_net_ends_without_tokens() -> None:
    net = pnml.build(
        sketch(Playbook("p", "p", (Step("a", next=exclusive(Arc("b"))), Step("b", tasks=tasks("noop")))))
    )
    marking = dict.fromkeys(net.marked, 1)
    for transition in ("s0", "s0.arc0", "s1", "s1.out0.end"):
        marking = fire(net, marking, transition)
    assert marking == {}


def test_an_unguarded_arc_leaves_no_way_to_end_the_branch() -> None:
    net = pnml.build(DRAWN)
    assert "s2.out0.end" not in net.transitions  # customers always goes on to merge
    assert "s0.out0.end" not in net.transitions  # its first arc always holds
    assert "s0.out1.end" in net.transitions  # its second is guarded, and decided apart

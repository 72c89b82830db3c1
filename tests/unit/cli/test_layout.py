"""The layout: nothing overlaps, lines lead downward where they can, the same drawing every time."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from noetl.drawings.layout import Box, Line, Placed, Spot, place


def chain(*pairs: tuple[int, int], label: Box | None = None) -> list[Line]:
    return [Line(source, target, label) for source, target in pairs]


def overlaps(a: Spot, a_size: Box, b: Spot, b_size: Box) -> bool:
    near_x = abs(a.x - b.x) < (a_size.width + b_size.width) / 2 - 0.001
    near_y = abs(a.y - b.y) < (a_size.height + b_size.height) / 2 - 0.001
    return near_x and near_y


def test_a_chain_stands_in_one_column_from_top_to_bottom() -> None:
    placed = place([Box(80, 40)] * 3, chain((0, 1), (1, 2)))
    assert len({spot.x for spot in placed.boxes}) == 1
    assert [spot.y for spot in placed.boxes] == sorted(spot.y for spot in placed.boxes)


def test_a_parent_stands_over_the_middle_of_its_children() -> None:
    placed = place([Box(80, 40)] * 3, chain((0, 1), (0, 2)))
    assert abs(placed.boxes[0].x - (placed.boxes[1].x + placed.boxes[2].x) / 2) < 0.5


def test_a_step_stands_below_everything_that_leads_to_it() -> None:
    placed = place([Box(80, 40)] * 4, chain((0, 1), (1, 2), (0, 3), (2, 3)))
    assert placed.boxes[3].y > placed.boxes[2].y


def test_an_arc_back_leads_upward_and_does_not_change_the_order() -> None:
    placed = place([Box(80, 40)] * 3, chain((0, 1), (1, 2), (2, 0)))
    back = placed.lines[2]
    assert back[0].y > back[-1].y
    assert placed.boxes[0].y < placed.boxes[1].y < placed.boxes[2].y


def test_an_arc_to_itself_takes_no_part() -> None:
    placed = place([Box(80, 40)], chain((0, 0)))
    assert placed.lines == ((),)
    assert (placed.width, placed.height) == (80, 40)


def test_two_crossing_arcs_are_untangled() -> None:
    placed = place([Box(80, 40)] * 5, chain((0, 1), (0, 2), (1, 4), (2, 3)))
    first, second, below_second, below_first = (placed.boxes[i].x for i in (1, 2, 3, 4))
    assert (first < second) == (below_first < below_second)


SIZES = st.builds(Box, st.integers(20, 200).map(float), st.integers(20, 80).map(float))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[Line]]:
    boxes = draw(st.lists(SIZES, min_size=1, max_size=8))
    ends = st.integers(0, len(boxes) - 1)
    label = st.none() | st.builds(Box, st.integers(10, 150).map(float), st.just(20.0))
    return boxes, draw(st.lists(st.builds(Line, ends, ends, label), max_size=14))


def placed_things(boxes: list[Box], lines: list[Line], placed: Placed) -> list[tuple[Spot, Box]]:
    labels = zip(lines, placed.labels, strict=True)
    things = list(zip(placed.boxes, boxes, strict=True))
    return things + [
        (spot, line.label) for line, spot in labels if spot is not None and line.label is not None
    ]


@given(graphs())
def test_no_box_and_no_label_lies_on_another(graph: tuple[list[Box], list[Line]]) -> None:
    boxes, lines = graph
    things = placed_things(boxes, lines, place(boxes, lines))
    assert not [pair for pair in combinations(things, 2) if overlaps(*pair[0], *pair[1])]


@given(graphs())
def test_everything_lies_inside_the_drawing(graph: tuple[list[Box], list[Line]]) -> None:
    boxes, lines = graph
    placed = place(boxes, lines)
    for spot, size in placed_things(boxes, lines, placed):
        assert spot.x - size.width / 2 >= -0.001
        assert spot.x + size.width / 2 <= placed.width + 0.001
        assert spot.y - size.height / 2 + 0.001 >= 0
        assert spot.y + size.height / 2 <= placed.height + 0.001


@given(graphs())
def test_a_line_begins_and_ends_at_its_boxes(graph: tuple[list[Box], list[Line]]) -> None:
    boxes, lines = graph
    placed = place(boxes, lines)
    for line, way in zip(lines, placed.lines, strict=True):
        if line.source != line.target:
            assert (way[0], way[-1]) == (placed.boxes[line.source], placed.boxes[line.target])

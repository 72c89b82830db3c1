"""What a retry may still read of what it keeps, told from its steps."""

from typing import Any

import pytest

from noetl.core.reading.kept_payloads import payloads_read
from tests.unit.core.build import compiled

THREE = """
- step: load
  tool: {kind: noop}
  next: {arcs: [{step: middle}]}
- step: middle
  tool: {kind: noop, input: {v: "{{ load.data }}"}}
  next: {arcs: [{step: last, when: "{{ ctx.flag }}"}]}
- step: last
  tool: {kind: noop, output: "{{ OUTPUT }}"}
"""


def ref(number: int) -> dict[str, Any]:
    locator = {"key": f"{number:032x}/{'d' * 32}"}
    return {"type": "result", "locator": locator, "auth_reference": None, "meta": {"bytes": 1}}


def kept(step: str, **state: Any) -> Any:
    return {"tokens": [{"step": step, "args": {"a": ref(9)}}], "state": state}


STATE: dict[str, Any] = {
    "results": {"load": {"status": "ok", "ref": ref(1)}, "middle": {"status": "ok", "ref": ref(2)}},
    "ctx": {"flag": {"$stored": ref(3)}, "other": {"$stored": ref(4)}},
    "signals": [{"signal": "go", "payload": {"$stored": ref(5)}}],
    "output": {"ref": ref(6)},
}


@pytest.mark.parametrize(
    ("step", "output", "read"),
    [
        pytest.param("last", "1", [5, 9], id="tokens and signals always"),
        pytest.param("last", "middle.data", [2, 5, 9], id="a result that is named"),
        pytest.param("last", "ctx.other", [4, 5, 9], id="a key of ctx"),
        pytest.param("last", "ctx", [3, 4, 5, 9], id="all of ctx"),
        pytest.param("middle", "1", [1, 3, 5, 9], id="what the steps behind it name, and arcs"),
    ],
)
def test_what_steps_that_may_run_name_is_read(step: str, output: str, read: list[int]) -> None:
    program = compiled(THREE.replace("OUTPUT", output))
    assert payloads_read(kept(step, **STATE), program) == [ref(number)["locator"]["key"] for number in read]


def test_nothing_is_read_where_nothing_is_kept() -> None:
    program = compiled(THREE.replace("OUTPUT", "middle.data"))
    assert payloads_read({"tokens": [], "state": {}}, program) == []


def test_everything_may_be_read_where_steps_are_made_while_it_runs() -> None:
    program = compiled(THREE.replace("OUTPUT", "1"))
    assert len(payloads_read(kept("of.a.fragment", **STATE), program)) == 7

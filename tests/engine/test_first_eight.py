"""The eight things an implementation of the language must show first, one test each, by name."""

import json

import pytest

from noetl.errors import PlaybookError
from tests.engine.harness import playbook, run
from tests.engine.web import Web


async def test_policy_validation(tmp_path):
    """A policy that is not a mapping with rules is refused, and so is a rule without then.do."""
    for policy, code in (
        ("[{else: {then: {do: continue}}}]", "policy-without-rules"),
        ('{rules: [{when: "{{ true }}", then: {attempts: 3}}]}', "rule-without-do"),
    ):
        text = playbook(f"- {{step: start, tool: {{kind: noop, spec: {{policy: {policy}}}}}}}")
        with pytest.raises(PlaybookError) as refused:
            await run(tmp_path, text)
        assert code in {finding.code for finding in refused.value.diagnostics}


async def test_retry(tmp_path, web: Web):
    """A transient HTTP 500 is tried N times in total, then fails."""
    rule = '{when: "{{ output.http.status == 500 }}", then: {do: retry, attempts: 4, delay: 0.01}}'
    tool = f'{{kind: http, input: {{url: "{web.url}/status/500"}}, spec: {{policy: {{rules: [{rule}]}}}}}}'
    ran = await run(tmp_path, playbook(f"- step: start\n  tool: {tool}"))
    assert (ran.status, ran.error["attempt"]) == ("failed", 4)
    assert web.hits["/status/500"] == 4


@pytest.mark.parametrize(("code", "stored"), [(404, "store_404"), (200, "store_200")])
async def test_jump_routing(tmp_path, web: Web, code: int, stored: str):
    """404 goes to one storage task, 200 to another, and nothing falls through."""
    done = "{else: {then: {do: jump, to: end}}}"
    text = playbook(f"""
    - step: start
      tool:
        - name: fetch
          kind: http
          input: {{url: "{web.url}/status/{code}"}}
          spec:
            policy:
              rules:
                - {{when: "{{{{ output.http.status == 404 }}}}", then: {{do: jump, to: store_404}}}}
                - else: {{then: {{do: jump, to: store_200}}}}
        - {{name: store_200, kind: noop, set: {{ctx.stored: store_200}}, spec: {{policy: {{rules: [{done}]}}}}}}
        - {{name: store_404, kind: noop, set: {{ctx.stored: store_404}}, spec: {{policy: {{rules: [{done}]}}}}}}
        - {{name: end, kind: noop}}
    """)
    ran = await run(tmp_path, text)
    assert (ran.status, ran.ctx) == ("completed", {"stored": stored})


PAGES = """
        - {{name: begin, kind: noop, set: {{iter.page: 1, iter.rows: []}}}}
        - name: fetch_page
          kind: http
          input: {{url: "{url}/pages/{total}", params: {{page: "{{{{ iter.page }}}}", pageSize: 2}}}}
          set: {{iter.rows: "{{{{ iter.rows + output.data.data }}}}", iter.more: "{{{{ output.data.paging.hasMore }}}}"}}
        - name: paginate
          kind: noop
          output: "{{{{ iter.rows }}}}"
          spec:
            policy:
              rules:
                - {{when: "{{{{ iter.more }}}}", then: {{do: jump, to: fetch_page, set: {{iter.page: "{{{{ iter.page + 1 }}}}"}}}}}}
                - else: {{then: {{do: break}}}}
        - {{name: never, kind: noop, set: {{ctx.fell_through: true}}}}
"""


async def test_streaming_pagination(tmp_path, web: Web):
    """More pages jump back to the fetch; the last one breaks."""
    text = playbook(f"""
    - step: start
      loop: {{in: "{{{{ ['only'] }}}}", iterator: endpoint}}
      tool:
{PAGES.format(url=web.url, total=7)}
    """)
    ran = await run(tmp_path, text)
    assert (ran.output, ran.ctx) == ([[0, 1, 2, 3, 4, 5, 6]], {})
    assert web.hits["/pages/7"] == 4


async def test_parallel_loop(tmp_path):
    """At most max_in_flight iterations run at any moment, and each has its own iter."""
    text = playbook("""
    - step: start
      loop: {in: "{{ range(12) | list }}", iterator: x, spec: {mode: parallel, max_in_flight: 3}}
      tool:
        - {name: own, kind: noop, set: {iter.mine: "{{ iter.x * 2 }}"}}
        - {name: wait, kind: wait, input: {seconds: 0.02}}
        - {name: back, kind: python, input: {mine: "{{ iter.mine }}", code: "result = mine"}}
    """)
    ran = await run(tmp_path, text)
    assert ran.output == [2 * index for index in range(12)]
    running = most = 0
    for event in ran.events:
        running += (event["name"] == "loop.iteration.started") - (event["name"] == "loop.iteration.done")
        most = max(most, running)
    assert most == 3


async def test_nested_loops(tmp_path, web: Web):
    """The outer loop is parallel, the pages of each item are read in order, and iter.parent is the outer item."""
    text = playbook(f"""
    - step: start
      loop:
        in: "{{{{ ['a', 'b'] }}}}"
        iterator: city
        spec: {{mode: parallel, max_in_flight: 2}}
        loop: {{in: "{{{{ [iter.city ~ '1', iter.city ~ '2'] }}}}", iterator: hotel}}
      tool:
{PAGES.format(url=web.url, total=3).replace('"{{ iter.rows }}"', '"{{ [iter.parent.city, iter.hotel, iter.rows] }}"')}
    """)
    ran = await run(tmp_path, text)
    rows = [0, 1, 2]
    assert ran.output == [[["a", "a1", rows], ["a", "a2", rows]], [["b", "b1", rows], ["b", "b2", rows]]]


@pytest.mark.parametrize(("mode", "runs"), [("exclusive", (1, 0)), ("inclusive", (1, 1))])
async def test_next_routing(tmp_path, mode: str, runs: tuple[int, int]):
    """Exclusive takes the first arc that holds, inclusive every one."""
    text = playbook(f"""
    - step: start
      tool: {{kind: noop}}
      next: {{spec: {{mode: {mode}}}, arcs: [{{step: a, when: "{{{{ true }}}}"}}, {{step: b, when: "{{{{ 1 == 1 }}}}"}}]}}
    - {{step: a, tool: {{kind: noop}}}}
    - {{step: b, tool: {{kind: noop}}}}
    """)
    ran = await run(tmp_path, text)
    assert (ran.runs("a"), ran.runs("b")) == runs


async def test_result_references(tmp_path):
    """Events stay under the payload limit; large results are stored outside and read back whole."""
    text = playbook("""
    - step: make
      tool: {kind: python, input: {code: "result = ['x' * 100] * 5000"}}
      set: {ctx.rows_ref: "{{ output.ref }}"}
      next: {arcs: [{step: use}]}
    - step: use
      tool: [{name: get, kind: resolve, input: {ref: "{{ ctx.rows_ref }}"}}, {name: n, kind: python, input: {d: "{{ get.data }}", code: "result = len(d)"}}]
    """)
    ran = await run(tmp_path, text)
    assert ran.output == 5000
    assert ran.ctx["rows_ref"]["meta"]["bytes"] > 500_000
    assert max(len(json.dumps(event)) for event in ran.events) < 70_000

"""Playbooks that touch the world, and what the world must have seen afterwards."""

from collections import defaultdict

from tests.engine.web import Web

ITEMS = 40
# Pages one after another, then a loop that the pool shares, then a loop on one worker, then a chain.
WORK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: work, path: distributed/work}
workload: {url: "", items: 40}
workflow:
  - step: pages
    tool:
      - fetch:
          kind: http
          input: {url: "{{ workload.url }}/pages/12", params: {page: "{{ iter.page | default(1) }}"}}
          spec:
            idempotency: true
            policy:
              rules:
                - when: "{{ output.status == 'error' }}"
                  then: {do: retry, attempts: 5, delay: 0.1}
                - else: {then: {do: continue}}
      - more:
          kind: noop
          spec:
            policy:
              rules:
                - when: "{{ fetch.data.paging.hasMore }}"
                  then: {do: jump, to: fetch, set: {iter.page: "{{ (iter.page | default(1)) + 1 }}"}}
                - else: {then: {do: break}}
    next: {arcs: [{step: shared}]}
  - step: shared
    loop:
      in: "{{ range(workload.items) | list }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 8, chunk: 5, policy: {exec: distributed}}
    tool:
      kind: http
      input: {url: "{{ workload.url }}/echo/shared/{{ iter.n }}", method: POST}
      spec: {idempotency: true}
    set: {ctx.shared: "{{ output.data | length }}"}
    next: {arcs: [{step: alone}]}
  - step: alone
    loop:
      in: "{{ range(workload.items) | list }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 4}
    tool:
      kind: http
      input: {url: "{{ workload.url }}/echo/alone/{{ iter.n }}", method: POST}
      spec: {idempotency: true}
    set: {ctx.alone: "{{ output.data | length }}"}
    next: {arcs: [{step: one}]}
  - step: one
    tool: {kind: noop}
    next: {arcs: [{step: two}]}
  - step: two
    tool:
      kind: http
      input: {url: "{{ workload.url }}/echo/two", method: POST}
      spec: {idempotency: true}
"""


def check_effects(web: Web, items: int = ITEMS) -> None:
    """Everything was asked for, and what was asked for again had the same key."""
    keys: dict[str, set[str]] = defaultdict(set)
    for request in web.seen:
        name = request["path"] + (f"?{request['query']['page']}" if request["query"] else "")
        keys[name].add(request["headers"]["idempotency-key"])
    wanted = {f"/pages/12?{page}" for page in range(1, 7)} | {"/echo/two"}
    for step in ("shared", "alone"):
        wanted |= {f"/echo/{step}/{index}" for index in range(items)}
    assert set(keys) == wanted
    assert {name: found for name, found in keys.items() if len(found) > 1} == {}

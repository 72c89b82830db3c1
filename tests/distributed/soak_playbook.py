"""What the soak runs: a playbook with everything that can be cut off, and the table that it works through."""

CHILD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: soak/child}
workload: {n: 0}
workflow:
  - step: double
    tool: {kind: python, input: {n: "{{ workload.n }}", code: "result = n * 2"}}
"""
# Rows for each execution, claimed in batches and worked on once.
TABLES = """
create schema work;
create table work.job (tag text, id int, claimed_by text, primary key (tag, id));
create table work.effect (key text primary key, tag text, id int);
"""
ROWS = 30
CLAIM = """
select pg_advisory_xact_lock(hashtextextended(:key, 0));
with mine as (select id from work.job where claimed_by = :key),
fresh as (select id from work.job where tag = :tag and claimed_by is null and not exists (select from mine)
  order by id limit :batch for update skip locked)
update work.job set claimed_by = :key
where tag = :tag and id in (select id from mine union all select id from fresh) returning id
"""
# Branches that join: a loop over all workers, a table, children, a wait, retries, a payload too large for the log.
PARENT = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: soak, path: soak/all}
workload: {url: "", tag: ""}
keychain: [{name: table, kind: static, dsn: "$dsn"}]
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: shared}, {step: fill}, {step: family}, {step: patience}]}
  - step: shared
    loop:
      in: "{{ range(20) | list }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 6, chunk: 3, policy: {exec: distributed}}
    tool:
      kind: http
      input: {url: "{{ workload.url }}/echo/{{ workload.tag }}/{{ iter.n }}", method: POST}
      spec: {idempotency: true}
    next: {arcs: [{step: all}]}
  - step: fill
    tool:
      kind: postgres
      auth: table
      input:
        query: "insert into work.job select :tag, generate_series(1, $rows) on conflict do nothing"
        params: {tag: "{{ workload.tag }}"}
      spec: {policy: $patient}
    next: {arcs: [{step: queue}]}
  - step: queue
    loop:
      in:
        claim:
          kind: postgres
          auth: table
          input:
            query: "$claim"
            params: {key: "{{ claim.key }}", batch: "{{ claim.batch }}", tag: "{{ workload.tag }}"}
          spec: {policy: $patient}
          batch: 10
        until: empty
      iterator: row
      spec: {mode: parallel, max_in_flight: 6, policy: {exec: distributed, reduce: {ctx.rows: sum}}}
    tool:
      kind: postgres
      auth: table
      input:
        query: "insert into work.effect values (:idempotency_key, :tag, :id) on conflict do nothing"
        params: {tag: "{{ workload.tag }}", id: "{{ iter.row.id }}"}
      spec: {policy: $patient}
      set: {ctx.rows: 1}
    next: {arcs: [{step: all}]}
  - step: family
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel}}
    tool: {kind: playbook, path: soak/child, input: {n: "{{ iter.n }}"}}
    next: {arcs: [{step: all}]}
  - step: patience
    tool:
      - {name: rest, kind: wait, input: {seconds: 0.5}}
      - {name: large, kind: python, input: {code: "result = {'text': 'x' * 200_000, 'n': 7}"}}
      - {name: small, kind: noop, output: "{{ large.data.n }}"}
    next: {arcs: [{step: all}]}
  - step: all
    spec: {join: all}
    tool:
      kind: python
      input:
        echoed: "{{ shared.data | length }}"
        doubled: "{{ family.data }}"
        kept: "{{ patience.data }}"
        rows: "{{ ctx.rows }}"
        code: "result = [echoed, doubled, kept, rows]"
"""
PATIENT = """{rules: [
        {when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 200, delay: 0.3}},
        {else: {then: {do: continue}}}]}"""  # the database is away for seconds
WANTED = [20, [2, 4, 6], 7, ROWS]


def parent(dsn: str) -> str:
    """The playbook over the tables of a database."""
    words = {"$rows": str(ROWS), "$claim": " ".join(CLAIM.split()), "$patient": PATIENT, "$dsn": dsn}
    text = PARENT
    for word, meant in words.items():
        text = text.replace(word, meant)
    return text

"""The playbooks that the UI's tests run."""

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"

WIDE = (
    HEAD
    + """\
metadata: {name: wide, path: ui/wide, description: Too many branches for a phone}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: b0}, {step: b1}, {step: b2}, {step: b3}, {step: b4}, {step: b5}]}
"""
    + "".join(f"  - {{step: b{number}, tool: {{kind: noop}}}}\n" for number in range(6))
)

FLOW = (
    HEAD
    + """\
metadata: {name: flow, path: ui/flow, description: Every way an arc can go}
workload: {region: eu, count: 12, strict: true}
workflow:
  - step: start
    desc: Split the work
    next:
      spec: {mode: inclusive}
      arcs:
        - {step: left}
        - {step: right}
        - {step: never, when: "{{ workload.region == 'us' }}"}
        - {step: gated}
  - step: left
    tool:
      kind: python
      input:
        count: "{{ workload.count }}"
        code: |
          print("counted", count, "rows")
          result = [{"id": index, "name": f"row {index}", "score": index * 1.5} for index in range(count)]
    set: {ctx.rows: "{{ output.data | length }}"}
    next: {arcs: [{step: meet}]}
  - step: right
    loop: {in: "{{ range(5) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: {kind: noop, output: "{{ iter.n }}"}
    next: {arcs: [{step: meet}]}
  - step: gated
    spec: {policy: {admit: {rules: [{when: "{{ not workload.strict }}", then: {allow: true}}, {else: {then: {allow: false}}}]}}}
    tool: {kind: noop}
  - step: never
    tool: {kind: noop}
  - step: meet
    tool: {kind: noop}
    set: {ctx.total: "{{ ctx.rows }}", ctx.more: {deep: {list: [1, 2]}}}
    next:
      arcs:
        - {step: large, when: "{{ ctx.rows > 100 }}"}
        - {step: small, when: "{{ ctx.rows > 10 }}"}
        - {step: tiny}
  - {step: large, tool: {kind: noop}}
  - {step: small, tool: {kind: noop}}
  - {step: tiny, tool: {kind: noop}}
"""
)

BROKEN = (
    HEAD
    + """\
metadata: {name: broken, path: ui/broken}
workload: {word: hello}
workflow:
  - step: first
    tool: {kind: noop, output: "{{ workload.word }}"}
    set: {ctx.word: "{{ output.data }}"}
    next: {arcs: [{step: second}]}
  - step: second
    tool:
      name: publish
      kind: python
      input:
        code: |
          raise ValueError("the table is locked")
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' }}"
              then: {do: retry, attempts: 2, delay: 0.05}
            - else: {then: {do: continue}}
    next: {arcs: [{step: third, when: "{{ event.name == 'step.done' }}"}]}
  - {step: third, tool: {kind: noop}}
"""
)

ASK = (
    HEAD
    + """\
metadata: {name: ask, path: ui/ask}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: quick}, {step: ask}]}
  - {step: quick, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
  - step: ask
    tool: {kind: wait, input: {approval: "Publish the report?"}}
    next: {arcs: [{step: meet}]}
  - {step: meet, tool: {kind: noop}}
"""
)

SIGNAL = (
    HEAD
    + """\
metadata: {name: signal, path: ui/signal}
workflow:
  - step: start
    tool:
      name: order
      kind: wait
      input: {signal: order}
      spec:
        validate:
          output:
            type: object
            properties:
              size: {type: string, enum: [small, large]}
              count: {type: integer, description: how many}
            required: [size, count]
    set: {ctx.order: "{{ output.data }}"}
"""
)

LOOP = (
    HEAD
    + """\
metadata: {name: loop, path: ui/loop}
workload: {n: 10000, top: 100}
workflow:
  - step: each
    loop:
      in: "{{ range(workload.n) | list }}"
      iterator: i
      spec: {mode: parallel, max_in_flight: 64, policy: {exec: distributed}}
    spec: {policy: {failure: {mode: best_effort}}}
    tool: {kind: noop, output: "{{ (workload.top // (iter.i % 997)) if iter.i % 997 else (1 // 0) }}"}
"""
)

LARGE = (
    HEAD
    + """\
metadata: {name: large, path: ui/large}
workflow:
  - step: start
    tool:
      kind: python
      input:
        code: |
          result = [{"id": index, "text": "x" * 200} for index in range(2000)]
"""
)

SLOW = (
    HEAD
    + """\
metadata: {name: slow, path: ui/slow}
workflow:
  - {step: start, tool: {kind: wait, input: {seconds: 3600}}}
"""
)

EDIT = (
    HEAD
    + """\
metadata: {name: edit, path: ui/edit}
workload: {name: Ada}
workflow:
  - step: start
    tool:
      kind: python
      input:
        name: "{{ workload.name }}"
        code: |
          result = f"hello {name}"
"""
)

HUNDRED = (
    HEAD
    + "metadata: {name: hundred, path: ui/hundred}\nworkflow:\n"
    + "".join(
        f"  - {{step: s{place}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{place + 1}}}]}}}}\n"
        for place in range(99)
    )
    + "  - {step: s99, tool: {kind: noop}}\n"
)

# Strings that would do harm anywhere they were not shown as text.
HOSTILE = """<img src=x onerror="window.harm=1"><script>window.harm=1</script>"""

HOSTILE_BOOK = (
    HEAD
    + """\
metadata: {name: hostile, path: ui/hostile, description: "<img src=x onerror='window.harm=1'>"}
workload: {bad: "<b>nothing</b>"}
workflow:
  - step: start
    desc: "<img src=x onerror='window.harm=1'>"
    tool:
      kind: python
      input:
        bad: "{{ workload.bad }}"
        code: |
          print(bad)
          result = {bad: bad, "rows": [{bad: bad}, {bad: bad}]}
    set: {ctx.bad: "{{ output.data }}"}
    next: {arcs: [{step: other, when: "{{ workload.bad == '<script>window.harm=1</script>' }}"}, {step: ask}]}
  - {step: other, tool: {kind: noop}}
  - step: ask
    tool: {kind: wait, input: {approval: "{{ workload.bad }}"}}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: ["{{ workload.bad }}", "two"], iterator: item}
    spec: {policy: {failure: {mode: best_effort}}}
    tool:
      kind: python
      input: {bad: "{{ iter.item }}", code: "raise ValueError(bad)"}
    next: {arcs: [{step: fails}]}
  - step: fails
    tool:
      kind: python
      input: {bad: "{{ workload.bad }}", code: "raise ValueError(bad)"}
"""
)

# Names and values that are longer than any place for them.
LONG_PATH = "ui/" + "a_name_that_goes_on/" * 6 + "and_on"
LONG_STEP = "a_step_with_a_name_that_goes_on_and_on_until_nobody_reads_it"

LONG = (
    HEAD
    + f"metadata: {{name: long, path: {LONG_PATH}}}\n"
    + f'workload: {{word: {"w" * 900}, right_to_left: "مرحبا بالعالم"}}\n'
    + f"workflow:\n  - step: {LONG_STEP}\n"
    + """\
    tool:
      kind: python
      input: {word: "{{ workload.word }}", code: "print('\\x1b[31mred\\x1b[0m', word); result = word"}
    set: {ctx.words: "{{ workload.right_to_left }}"}
    next: {arcs: [{step: fails}]}
  - step: fails
    tool: {kind: python, input: {word: "{{ workload.word }}", code: "raise ValueError(word)"}}
"""
)

SAYS = (
    HEAD
    + """\
metadata: {name: says, path: ui/says, description: Errors that say all}
workload: {order: {id: 7, lines: []}, query: "select total\\n form orders"}
workflow:
  - step: price
    tool:
      name: sum_up
      kind: python
      input:
        order: "{{ workload.order }}"
        code: |
          def total(order):
              return sum(line["price"] for line in order["lines"]) / len(order["lines"])

          def main(order):
              print("pricing order", order["id"])
              return round(total(order), 2)
    next: {arcs: [{step: store, when: "{{ event.name == 'step.failed' }}"}]}
  - step: store
    tool: {kind: sqlite, input: {database: ":memory:", query: "{{ workload.query }}"}}
    next: {arcs: [{step: ask}]}
  - step: ask
    tool: {kind: shell, input: {command: "echo the disk is full >&2; exit 3"}}
    next: {arcs: [{step: end}]}
  - {step: end, tool: {kind: noop}}
"""
)

FLAWED = (
    HEAD
    + """\
metadata: {name: flawed, path: ui/flawed, description: Most of it worked}
workload: {rows: 1200, by: 100}
workflow:
  - step: each
    loop: {in: "{{ range(workload.rows) | list }}", iterator: i, spec: {mode: parallel, max_in_flight: 32}}
    spec: {policy: {failure: {mode: best_effort}}}
    tool: {kind: noop, output: "{{ 1 // (iter.i % workload.by) }}"}
    next: {arcs: [{step: done}]}
  - {step: done, tool: {kind: noop}}
"""
)

PRICES = (
    HEAD
    + """\
metadata: {name: prices, path: ui/prices, description: A loop in which one item cannot be priced}
workload: {orders: [{id: 7, lines: [3, 4]}, {id: 8, lines: []}, {id: 9, lines: [5]}]}
workflow:
  - step: load
    tool: {kind: noop, output: "{{ workload.orders }}"}
    set: {ctx.orders: "{{ output.data }}"}
    next: {arcs: [{step: price, when: "{{ event.name == 'step.done' }}"}]}
  - step: price
    loop: {in: "{{ ctx.orders }}", iterator: order}
    tool:
      kind: python
      input:
        order: "{{ iter.order }}"
        code: |
          result = {"id": order["id"], "mean": sum(order["lines"]) / len(order["lines"])}
    next: {arcs: [{step: publish, when: "{{ event.ok }}"}]}
  - {step: publish, tool: {kind: noop}}
"""
)

LATE = (
    HEAD
    + """\
metadata: {name: late, path: ui/late, description: It should be over by now, labels: {team: ops, tier: gold}}
executor: {spec: {policy: {sla: {expected: 1s}}}}
workflow:
  - {step: ask, tool: {kind: wait, input: {signal: go}}}
"""
)

TYPED = (
    HEAD
    + """\
metadata:
  {name: typed, path: ui/typed, description: A workload that says what it takes, labels: {team: shop}}
workload:
  region: eu
  since: "2026-01-31"
  limit: 100  # rows of one page
  dry: false
  $schema:
    properties:
      region: {type: string, enum: [eu, us], description: Where the rows go}
      limit: {type: integer, minimum: 1, maximum: 500}
      owner: {type: string, description: Who is asked when it fails}
      at: {type: string, format: date-time}
      load: {type: array, items: {type: string, enum: [full, delta, late]}, description: What is loaded}
    required: [owner]
workflow:
  - step: start
    tool: {kind: noop, output: "{{ workload.region }}"}
"""
)

ROWS = (
    HEAD
    + """\
metadata: {name: rows, path: ui/rows, description: Rows of SQL}
workflow:
  - step: query
    tool:
      kind: sqlite
      input:
        database: ":memory:"
        query: |
          create table orders (id integer, total real, name text);
          insert into orders values (1, 2.5, 'first'), (2, 7.25, 'second');
          select id, total, name from orders order by id;
"""
)

STARVED = (
    HEAD
    + """\
metadata: {name: starved, path: ui/starved}
workflow:
  - step: fetch
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: [orders, customers, products], iterator: source}
    tool:
      kind: python
      input: {source: "{{ iter.source }}", code: "raise PermissionError(f'{source}: the key was refused')"}
    next: {arcs: [{step: publish, when: "{{ event.ok }}"}]}
  - step: publish
    tool: {kind: python, input: {code: "raise ValueError('there are no rows')"}}
"""
)

CUT_OFF = (
    HEAD
    + """\
metadata: {name: cut_off, path: ui/cut_off}
workflow:
  - step: each
    loop: {in: [0, 1, 2, 3, 4], iterator: n, spec: {mode: parallel, max_in_flight: 3}}
    tool:
      - {name: rest, kind: wait, input: {seconds: "{{ 0 if iter.n == 0 else 3600 }}"}}
      - {name: divide, kind: noop, output: "{{ 1 // iter.n }}"}
"""
)

MANY_ROWS = (
    HEAD
    + """\
metadata: {name: many_rows, path: ui/many_rows, description: More rows of SQL than an event holds}
workflow:
  - step: query
    tool:
      kind: sqlite
      input:
        database: ":memory:"
        query: |
          with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
          select i as id, 'a customer with a name, number ' || i as name, 'and a note of its own' as note from n;
"""
)

GRANDPARENT = (
    HEAD
    + """\
metadata: {name: grandparent, path: ui/grandparent, description: What fails is a child of a child}
workflow:
  - {step: call, tool: {kind: playbook, path: ui/parent}}
"""
)

PARENT = (
    HEAD
    + "metadata: {name: parent, path: ui/parent}\nworkflow:\n  - {step: call, tool: {kind: playbook, path: ui/broken}}\n"
)

LONG_QUESTION = (
    "May the contract be sent? " + "It has three annexes and thirty-eight pages. " * 12 + "The end."
)

ASK_LONG = (
    HEAD
    + "metadata: {name: ask_long, path: ui/ask_long}\nworkflow:\n"
    + f"  - {{step: ask, tool: {{kind: wait, input: {{approval: '{LONG_QUESTION}'}}}}}}\n"
)

BOOKS = {
    "flow": FLOW,
    "wide": WIDE,
    "broken": BROKEN,
    "ask": ASK,
    "signal": SIGNAL,
    "loop": LOOP,
    "large": LARGE,
    "slow": SLOW,
    "edit": EDIT,
    "hundred": HUNDRED,
    "hostile": HOSTILE_BOOK,
    "long": LONG,
    "says": SAYS,
    "flawed": FLAWED,
    "prices": PRICES,
    "typed": TYPED,
    "late": LATE,
    "rows": ROWS,
    "starved": STARVED,
    "cut_off": CUT_OFF,
    "many_rows": MANY_ROWS,
    "grandparent": GRANDPARENT,
    "parent": PARENT,
    "ask_long": ASK_LONG,
}

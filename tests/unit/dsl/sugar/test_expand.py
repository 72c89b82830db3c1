"""Sugar becomes plain tasks: labels, decisions, jumps and places. What they do when run is tested with the engine."""

import pytest

from noetl.dsl.load import load
from noetl.dsl.sugar.expand import Expanded, expand
from noetl.dsl.sugar.labels import is_generated
from noetl.dsl.yaml.source import dump, parse
from noetl.dsl.yaml.tree import Map, Seq, Value, plain
from tests.unit.dsl.documents import doc, errors, read
from tests.unit.dsl.kinds import KINDS


def tool(*items: str) -> str:
    return "workflow:\n  - step: s\n    tool:\n" + "".join(f"      - {item}\n" for item in items)


def expanded(*items: str) -> Expanded:
    parsed = parse(tool(*items))
    assert parsed.diagnostics == ()
    return expand(parsed.tree)


def tasks(*items: str) -> list[Value]:
    return list(expanded(*items).tree["workflow"][0]["tool"])


def labels(*items: str) -> list[str]:
    return [task["name"] for task in tasks(*items)]


def brief(task: Value) -> Value:
    """A generated task as a short text: what it decides before it would run."""
    rules = task["spec"]["policy"]["before"]
    told = []
    for rule in rules:
        then = rule["else"]["then"] if "else" in rule else rule["then"]
        target = f" {then['to']}" if "to" in then else ""
        told.append(f"{rule.get('when', 'else')}: {then['do']}{target}")
    return told


WHILE = "{name: w, while: {when: '{{ step.i < 5 }}', do: [{name: a, kind: noop}, {name: b, kind: noop}]}}"
UNTIL = "{name: u, until: {when: '{{ output.data }}', do: [{name: a, kind: noop}], delay: 2.0, max: 7}}"
CHOOSE = "{name: c, choose: [{when: '{{ x }}', then: [{name: a, kind: noop}]}, {when: '{{ y }}', then: []}, {else: [{name: b, kind: noop}]}]}"
PAGES = "{name: p, paginate: {request: {kind: http, input: {url: x}}, size: 10, collect: true, each: [{name: store, kind: noop}]}}"


# ---- shape of the expansion -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item, made",
    [
        (WHILE, ["w.test", "w.a", "w.b", "w.next", "w.end"]),
        (UNTIL, ["u.a", "u.test", "u.wait", "u.next", "u.end"]),
        (UNTIL.replace(", delay: 2.0", ""), ["u.a", "u.test", "u.next", "u.end"]),
        (CHOOSE, ["c.test", "c.a", "c.then_0", "c.b", "c.then_2", "c.end"]),
        (PAGES, ["p.begin", "p.test", "p.request", "p.received", "p.store", "p.next", "p.collect", "p.end"]),
        (PAGES.replace("collect: true, ", ""), ["p.begin", "p.test", "p.request", "p.received", "p.store", "p.next", "p.end"]),
        (PAGES.replace("{kind: http", "{name: get, kind: http"), ["p.begin", "p.test", "p.get", "p.received", "p.store", "p.next", "p.collect", "p.end"]),
        ("{while: {when: true, do: [{kind: noop}]}}", ["task_0.test", "task_0.task_0", "task_0.next", "task_0.end"]),
    ],
)  # fmt: skip
def test_each_kind_of_sugar_has_its_labels(item: str, made: list[str]) -> None:
    assert labels(item) == made


def test_while_tests_before_each_round_and_counts_rounds() -> None:
    test, *_, back, end = tasks(WHILE)
    assert brief(test) == ["{{ step.i < 5 }}: skip", "else: jump w.end"]
    assert test["spec"]["limits"] == {"max_visits": 1000}
    assert brief(back) == ["else: jump w.test"]
    assert brief(end) == ["else: skip"]


def test_until_tests_after_each_round_and_the_last_round_needs_no_way_back() -> None:
    body, test, wait, back, end = tasks(UNTIL)
    assert plain(body) == {"name": "u.a", "kind": "noop"}
    assert brief(test) == ["{{ output.data }}: jump u.end", "else: skip"]
    assert test["spec"]["limits"] == {"max_visits": 6}
    assert (wait["kind"], wait["input"]) == ("wait", {"seconds": 2.0})
    assert brief(back) == ["else: jump u.a"]
    assert brief(end) == ["else: skip"]


@pytest.mark.parametrize(
    "given, passes",
    [("", 499), (", max: 1", 0), (", max: '{{ workload.n }}'", "{{ ((workload.n)) | int - 1 }}")],
)
def test_until_goes_back_one_time_less_than_it_may_run(given: str, passes: object) -> None:
    test = tasks(f"{{name: u, until: {{when: true, do: [{{name: a, kind: noop}}]{given}}}}}")[1]
    assert test["spec"]["limits"] == {"max_visits": passes}


def test_choose_leads_every_branch_to_one_end() -> None:
    test, _, first, _, last, end = tasks(CHOOSE)
    assert brief(test) == ["{{ x }}: jump c.a", "{{ y }}: jump c.end", "else: jump c.b"]
    assert brief(first) == brief(last) == ["else: jump c.end"]
    assert brief(end) == ["else: skip"]


def test_choose_without_else_goes_to_its_end() -> None:
    test = tasks("{name: c, choose: [{when: '{{ x }}', then: [{name: a, kind: noop}]}]}")[0]
    assert brief(test) == ["{{ x }}: jump c.a", "else: jump c.end"]


def test_generated_tasks_only_decide_and_run_nothing_but_a_wait() -> None:
    for task in tasks(WHILE, UNTIL, CHOOSE, PAGES):
        if is_generated(task["name"]):
            assert task["kind"] in ("noop", "wait")


def test_sugar_nests_and_labels_add_up() -> None:
    inside = "{name: i, until: {when: true, do: [{name: c, choose: [{else: [{name: x, kind: noop}]}]}]}}"
    made = labels(f"{{name: o, while: {{when: true, do: [{inside}, {{name: z, kind: noop}}]}}}}")
    assert made == [
        "o.test", "o.i.c.test", "o.i.c.x", "o.i.c.then_0", "o.i.c.end", "o.i.test", "o.i.next", "o.i.end", "o.z", "o.next", "o.end",
    ]  # fmt: skip


def test_an_item_that_begins_with_an_item_is_entered_at_the_inner_beginning() -> None:
    inside = "{name: i, until: {when: true, do: [{name: c, choose: [{else: [{name: x, kind: noop}]}]}]}}"
    made = tasks(f"{{name: o, until: {{when: true, do: [{inside}]}}}}")
    back = next(task for task in made if task["name"] == "o.next")
    assert brief(back) == ["else: jump o.i.c.test"]


@pytest.mark.parametrize("name", ["test", "next", "wait", "end", "begin", "received", "collect", "then_0"])
def test_an_authors_task_called_like_a_generated_one_keeps_apart_from_it(name: str) -> None:
    jump = f"spec: {{policy: {{rules: [{{else: {{then: {{do: jump, to: {name}}}}}}}]}}}}"
    made = tasks(
        f"{{name: w, while: {{when: true, do: [{{name: {name}, kind: noop}}, {{name: b, kind: noop, {jump}}}]}}}}"
    )
    assert [task["name"] for task in made] == ["w.test", f"w._{name}", "w.b", "w.next", "w.end"]
    assert made[2]["spec"]["policy"]["rules"][0]["else"]["then"]["to"] == f"w._{name}"


def test_steps_and_blocks_are_expanded_and_everything_else_is_left_alone() -> None:
    text = (
        tool("{name: plain, kind: noop}")
        + "workbook:\n  b: {tool: ["
        + WHILE
        + "]}\n  n: {tool: 5}\nkeychain: []\n"
    )
    tree = parse(text).tree
    found = expand(tree)
    assert found.tree["workflow"][0] is tree["workflow"][0]
    assert found.tree["workbook"]["b"]["tool"][0]["name"] == "w.test"
    assert list(found.tree) == list(tree)
    assert "while" in tree["workbook"]["b"]["tool"][0]


def test_a_tree_without_sugar_comes_back_equal() -> None:
    tree = parse(
        tool("{name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: a}}}]}}}")
    ).tree
    found = expand(tree)
    assert found.tree == tree
    assert found.debug_map == {}


def test_expanding_twice_changes_nothing() -> None:
    once = expanded(WHILE, UNTIL, CHOOSE, PAGES).tree
    assert expand(once).tree == once


# ---- jumps ----------------------------------------------------------------------------------------------


def jumping(name: str, to: str, clause: str = "rules") -> str:
    return f"{{name: {name}, kind: noop, spec: {{policy: {{{clause}: [{{when: '{{{{ x }}}}', then: {{do: jump, to: {to}}}}}, {{else: {{then: {{do: jump, to: {to}}}}}}}]}}}}}}"


def targets(items: list[Value], label: str) -> set[str]:
    policy = next(task for task in items if task["name"] == label)["spec"]["policy"]
    rules = policy.get("rules") or policy["before"]
    return {(rule["else"]["then"] if "else" in rule else rule["then"])["to"] for rule in rules}


@pytest.mark.parametrize("clause", ["rules", "before"])
@pytest.mark.parametrize(
    "to, label",
    [
        ("a", "w.a"),  # a task beside it
        ("j", "w.j"),  # itself
        ("outer", "outer"),  # a task outside
        ("w", "w.test"),  # the item it stands in
        ("u", "u.a"),  # another item: where its body begins
        ("c", "c.test"),
        ("p", "p.begin"),
        ("nowhere", "nowhere"),  # left for the rules to report
        ("u.a", "u.a"),
    ],
)
def test_a_jump_leads_to_the_innermost_task_or_item_of_that_name(to: str, label: str, clause: str) -> None:
    loop = f"{{name: w, while: {{when: true, do: [{{name: a, kind: noop}}, {jumping('j', to, clause)}]}}}}"
    made = tasks("{name: outer, kind: noop}", loop, UNTIL, CHOOSE, PAGES)
    assert targets(made, "w.j") == {label}


def test_a_jump_from_outside_leads_to_an_item_and_not_to_its_inner_tasks() -> None:
    assert targets(tasks(WHILE, jumping("j", "w")), "j") == {"w.test"}
    assert targets(tasks(WHILE, jumping("j", "a")), "j") == {"a"}


def test_an_inner_name_hides_an_outer_one_and_branches_of_one_choose_see_each_other() -> None:
    inside = f"{{name: i, while: {{when: true, do: [{{name: a, kind: noop}}, {jumping('j', 'a')}]}}}}"
    made = tasks(
        f"{{name: o, while: {{when: true, do: [{{name: a, kind: noop}}, {inside}, {jumping('k', 'a')}]}}}}"
    )
    assert targets(made, "o.i.j") == {"o.i.a"}
    assert targets(made, "o.k") == {"o.a"}
    made = tasks(
        f"{{name: c, choose: [{{when: true, then: [{jumping('j', 'b')}]}}, {{else: [{{name: b, kind: noop}}]}}]}}"
    )
    assert targets(made, "c.j") == {"c.b"}


def test_each_and_request_of_paginate_share_a_scope() -> None:
    request = jumping("get", "store").replace("kind: noop", "kind: http, input: {url: x}")
    made = tasks(f"{{name: p, paginate: {{request: {request}, each: [{jumping('store', 'get')}]}}}}")
    assert targets(made, "p.get") == {"p.store"}
    assert targets(made, "p.store") == {"p.get"}


def test_rewriting_a_jump_leaves_the_authors_tree_alone() -> None:
    tree = parse(tool(f"{{name: w, while: {{when: true, do: [{jumping('a', 'a')}]}}}}")).tree
    before = dump(tree)
    expand(tree)
    assert dump(tree) == before


def test_a_call_of_a_block_by_its_name_still_calls_that_block() -> None:
    made = tasks(
        "{name: w, while: {when: true, do: [{name: load, kind: workbook}, {name: x, kind: workbook, block: y}]}}"
    )
    assert [task.get("block") for task in made if task["kind"] == "workbook"] == ["load", "y"]


# ---- paginate -------------------------------------------------------------------------------------------


def request_of(body: str) -> Value:
    made = tasks(f"{{name: p, paginate: {{{body}}}}}")
    return plain(next(task for task in made if task["name"] == "p.request"))


@pytest.mark.parametrize(
    "body, params",
    [
        ("request: {kind: http, input: {url: x}}", {"page": "{{ iter._p.page }}"}),
        ("request: {kind: http, input: {url: x}}, size: 50", {"page": "{{ iter._p.page }}", "pageSize": 50}),
        ("request: {kind: http, input: {url: x, params: {q: 1}}}, size: 5, params: {page: p, size: n}", {"q": 1, "p": "{{ iter._p.page }}", "n": 5}),
        ("request: {kind: http, input: {url: x, params: {page: 9}}}", {"page": 9}),
        ("by: offset, request: {kind: http, input: {url: x}}", {"offset": "{{ iter._p.offset }}"}),
        ("by: offset, request: {kind: http, input: {url: x}}, params: {page: skip}", {"skip": "{{ iter._p.offset }}"}),
        ("by: cursor, next: '{{ output.data.n }}', request: {kind: http, input: {url: x}}, params: {cursor: after}", {"after": "{{ iter._p.cursor }}"}),
        ("request: {kind: postgres, input: {query: q, params: {x: 1}}}, params: {page: n}", {"x": 1, "n": "{{ iter._p.page }}"}),
        ("request: {kind: http, input: {url: x}}, params: null", {"page": "{{ iter._p.page }}"}),
    ],
)  # fmt: skip
def test_the_page_parameter_is_added_to_the_request_and_what_the_author_wrote_is_kept(
    body: str, params: Value
) -> None:
    assert request_of(body)["input"]["params"] == params


def test_another_kind_gets_only_the_parameters_that_are_named_as_inputs() -> None:
    assert request_of("request: {kind: python, input: {code: c}}, size: 5")["input"] == {"code": "c"}
    named = request_of("request: {kind: python, input: {code: c}}, size: 5, params: {page: n, size: m}")[
        "input"
    ]
    assert named == {"code": "c", "n": "{{ iter._p.page }}", "m": 5}


def test_by_link_only_the_first_page_has_the_authors_address_and_parameters() -> None:
    given = request_of(
        "by: link, size: 5, request: {kind: http, input: {url: 'http://{{ h }}/x', params: {q: '{{ q }}', n: 1}}}"
    )["input"]
    assert given["url"] == "{{ iter._p.url or 'http://' ~ (h) ~ '/x' }}"
    assert given["params"] == {
        "q": "{{ none if iter._p.url else (q) }}",
        "n": "{{ none if iter._p.url else 1 }}",
        "pageSize": "{{ none if iter._p.url else 5 }}",
    }


def test_the_request_keeps_its_policy_and_its_own_set() -> None:
    request = request_of(
        "items: '{{ output.data.rows }}', request: {kind: http, auth: a, input: {url: x}, set: {ctx.a: 1, iter.items: []}, spec: {timeout: 5}}"
    )
    assert request["set"] == {"ctx.a": 1, "iter.items": [], "iter._p.got": True}
    assert (request["auth"], request["spec"]) == ("a", {"timeout": 5})


def test_without_items_the_page_itself_is_the_list() -> None:
    assert request_of("request: {kind: http, input: {url: x}}")["set"]["iter.items"] == "{{ output.data }}"


def test_the_state_of_a_nested_pagination_is_its_own_and_the_outer_page_comes_back() -> None:
    inside = "{name: i, paginate: {request: {kind: http, input: {url: y}}}}"
    made = tasks(f"{{name: o, paginate: {{request: {{kind: http, input: {{url: x}}}}, each: [{inside}]}}}}")
    by_name = {task["name"]: plain(task) for task in made}
    assert by_name["o.i.request"]["input"]["params"] == {"page": "{{ iter._o__i.page }}"}
    then = by_name["o.i.end"]["spec"]["policy"]["before"][0]["else"]["then"]
    assert then["set"] == {
        "iter.page": "{{ iter._o__i.outer_page }}",
        "iter.items": "{{ iter._o__i.outer_items }}",
    }
    assert "set" not in by_name["o.end"]["spec"]["policy"]["before"][0]["else"]["then"]


@pytest.mark.parametrize(
    "request_task, guarded",
    [
        ("{kind: http, input: {url: x}}", False),
        ("{kind: http, auth: a, input: {url: x}}", True),
        ("{kind: http, input: {url: x, headers: {k: '{{ keychain.a.value }}'}}}", True),
    ],
)
def test_credentials_do_not_follow_a_link_to_another_host(request_task: str, guarded: bool) -> None:
    made = tasks(f"{{name: p, paginate: {{by: link, request: {request_task}}}}}")
    following = next(task for task in made if task["name"] == "p.next")
    directives = [rule["then"]["do"] for rule in following["spec"]["policy"]["before"] if "then" in rule]
    assert directives == (["fail"] if guarded else [])


# ---- places ---------------------------------------------------------------------------------------------

PLACES = """\
workflow:
  - step: s
    tool:
      - name: w
        while:
          when: "{{ x }}"
          do:
            - name: a
              kind: noop
workbook:
  b:
    tool:
      - name: c
        choose:
          - when: "{{ y }}"
            then: [{name: t, kind: noop}]
"""


def test_the_debug_map_leads_from_every_label_to_the_authors_line() -> None:
    found = expand(parse(PLACES).tree).debug_map
    assert {
        key: (origin.mark.line, origin.mark.column, origin.item, origin.clause)
        for key, origin in found.items()
    } == {
        "s/w.test": (6, 17, "w", "while.when"),
        "s/w.a": (8, 15, "w", "while.do"),
        "s/w.next": (4, 9, "w", "while"),
        "s/w.end": (4, 9, "w", "while"),
        "workbook/b/c.test": (13, 9, "c", "choose"),
        "workbook/b/c.t": (16, 20, "c", "choose.0.then"),
        "workbook/b/c.then_0": (15, 13, "c", "choose.0"),
        "workbook/b/c.end": (13, 9, "c", "choose"),
    }


def test_every_generated_node_stands_at_the_item_or_the_clause_it_comes_from() -> None:
    tree = expand(parse(PLACES).tree).tree
    test = tree["workflow"][0]["tool"][0]
    rule = test["spec"]["policy"]["before"][0]
    assert rule.at("when") == test.mark == parse(PLACES).tree["workflow"][0]["tool"][0]["while"].at("when")
    pending: list[Value] = [tree]
    while pending:
        node = pending.pop()
        assert isinstance(node, Map | Seq)
        keys: list[Value] = list(range(len(node)) if isinstance(node, Seq) else node)
        for key in keys:
            assert node.at(key).line > 0
            assert node.at(key).path or node is tree
            if isinstance(node[key], dict | list):
                pending.append(node[key])


def test_an_error_inside_sugar_is_reported_where_the_author_wrote_it() -> None:
    text = doc(
        """
        - step: s
          tool:
            - name: w
              while:
                when: "{{ step.x }}"
                do:
                  - {name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: zz}}}]}}}
        """
    )
    assert [(finding.code, finding.line) for finding in errors(text)] == [("unknown-label", 11)]


# ---- malformed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item",
    [
        "5", "null", "[]", "text", "{}", "{while: 5}", "{while: null}", "{while: {}}", "{while: {when: true}}", "{while: {do: [{kind: noop}]}}",
        "{while: {when: true, do: []}}", "{while: {when: true, do: 5}}", "{while: {when: [1], do: [{kind: noop}]}}", "{until: []}",
        "{until: {when: true, do: {kind: noop}}}", "{choose: 5}", "{choose: []}", "{choose: {}}", "{choose: [5]}", "{choose: [{}]}",
        "{choose: [{else: 5}]}", "{choose: [{when: true, then: 5}]}", "{choose: [{else: []}, {else: []}]}", "{choose: [{when: true}]}",
        "{paginate: 5}", "{paginate: {}}", "{paginate: {request: 5}}", "{paginate: {request: {}}}", "{paginate: {request: {kind: http}, by: x}}",
        "{paginate: {request: {kind: http}, by: cursor}}", "{paginate: {request: {kind: http, input: 5}}}", "{paginate: {request: {kind: http}, each: 5}}",
        "{paginate: {request: {kind: http}, params: 5}}", "{paginate: {request: {kind: http}, items: 5}}", "{paginate: {request: {kind: http}, more: 5}}",
        "{paginate: {request: {kind: http, set: 5}}}", "{paginate: {request: {while: {}}}}",
        "{kind: noop, while: {when: true, do: [{kind: noop}]}}", "{while: {when: true, do: [{kind: noop}]}, until: {when: true, do: [{kind: noop}]}}",
    ],
)  # fmt: skip
def test_a_malformed_item_is_left_as_it_is(item: str) -> None:
    tree = parse(tool(WHILE, item)).tree
    assert expand(tree).tree["workflow"][0]["tool"][-1] == tree["workflow"][0]["tool"][1]


@pytest.mark.parametrize(
    "item",
    [
        "{while: {when: true, do: [5, null, {}]}}", "{while: {when: true, do: [{kind: noop, spec: 5}, {kind: noop, spec: {policy: 5}}]}}",
        "{while: {when: true, do: [{kind: noop, spec: {policy: {rules: [5, {else: 5}, {then: 5}, {then: {do: jump, to: [1]}}]}}}]}}",
        "{name: 5, while: {when: true, do: [{name: [1], kind: noop}]}}", "{while: {when: true, max: [1], do: [{kind: noop}]}}",
        "{until: {when: true, max: x, delay: [], do: [{kind: noop}]}}", "{until: {when: true, max: '{{ x', do: [{kind: noop}]}}",
        "{paginate: {request: {kind: http, input: {params: 5}}, params: {page: 5}, size: [1], start: {a: 1}, collect: 5}}",
        "{paginate: {by: link, request: {kind: http, input: {url: [1], params: {a: '{{ x'}}}}}",
        "{paginate: {by: cursor, next: '{% if %}', request: {kind: http}}}",
    ],
)  # fmt: skip
def test_wrong_details_inside_an_item_never_raise(item: str) -> None:
    assert isinstance(expanded(item).tree, Map)


@pytest.mark.parametrize(
    "tree",
    [
        "{}",
        "workflow: 5",
        "workflow: [5]",
        "workflow: [{step: 5, tool: [5]}]",
        "workbook: 5",
        "workbook: {a: 5}",
        "workflow: [{tool: {while: 5}}]",
    ],
)
def test_a_malformed_document_never_raises(tree: str) -> None:
    parsed = parse(tree).tree
    assert expand(parsed).tree == parsed


# ---- compiled documents ---------------------------------------------------------------------------------


@pytest.mark.parametrize("item", [WHILE, UNTIL, CHOOSE, PAGES])
def test_an_expansion_is_itself_a_valid_playbook(item: str) -> None:
    first = read(
        doc(
            f"- step: s\n  tool:\n    - {{name: init, kind: noop, set: {{step.i: 0, step.kind: 1}}}}\n    - {item.replace('{{ x }}', '{{ step.kind }}').replace('{{ y }}', '{{ step.i }}')}\n"
        )
    )
    assert [finding for finding in first.diagnostics if finding.severity == "error"] == []
    tree = plain(first.expanded)
    tree["metadata"]["labels"] = {"noetl.io/compiled": "true"}
    second = load(dump(tree), kinds=KINDS)
    assert [finding for finding in second.diagnostics if finding.severity == "error"] == []
    assert second.playbook is not None
    assert first.playbook is not None
    assert second.playbook.steps == first.playbook.steps

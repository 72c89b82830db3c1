"""Sugar when it runs: rounds and their limits, branches, names inside, and pages of every kind."""

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.engine.harness import Ran, playbook, run

INC = '{name: inc, kind: noop, set: {step.i: "{{ step.i + 1 }}"}}'
INIT = "{name: init, kind: noop, set: {step.i: 0, step.seen: []}}"


def pipeline(*items: str, result: str = "{{ [step.i, step.seen] }}") -> str:
    listed = "".join(f"\n    - {item}" for item in (INIT, *items))
    last = f'\n    - {{name: last, kind: noop, output: "{result}"}}' if result else ""
    return playbook(f"- step: start\n  tool:{listed}{last}\n")


def seen(name: str, value: str) -> str:
    return f'{{name: {name}, kind: noop, set: {{step.seen: "{{{{ step.seen + [{value}] }}}}"}}}}'


# ---- while, until, choose -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item, output",
    [
        (f"{{name: w, while: {{when: '{{{{ step.i < 3 }}}}', do: [{INC}]}}}}", [3, []]),
        (f"{{name: w, while: {{when: false, do: [{INC}]}}}}", [0, []]),
        (f"{{name: w, while: {{when: '{{{{ step.i < 3 }}}}', max: 3, do: [{INC}]}}}}", [3, []]),
        (f"{{name: u, until: {{when: true, do: [{INC}]}}}}", [1, []]),
        (f"{{name: u, until: {{when: '{{{{ step.i == 4 }}}}', max: 4, delay: 0.001, do: [{INC}]}}}}", [4, []]),
        (f"{{name: u, until: {{when: '{{{{ step.i == 4 }}}}', max: '{{{{ 2 + 2 }}}}', do: [{INC}]}}}}", [4, []]),
        (f"{{name: c, choose: [{{when: '{{{{ step.i == 0 }}}}', then: [{seen('a', '1')}]}}, {{else: [{seen('b', '2')}]}}]}}", [0, [1]]),
        (f"{{name: c, choose: [{{when: '{{{{ step.i == 9 }}}}', then: [{seen('a', '1')}]}}, {{else: [{seen('b', '2')}]}}]}}", [0, [2]]),
        (f"{{name: c, choose: [{{when: false, then: [{seen('a', '1')}]}}, {{when: true, then: []}}, {{else: [{seen('b', '2')}]}}]}}", [0, []]),
        (f"{{name: c, choose: [{{when: false, then: [{seen('a', '1')}]}}]}}", [0, []]),
    ],
)  # fmt: skip
async def test_rounds_and_branches(item: str, output: list[Any], tmp_path) -> None:
    ran = await run(tmp_path, pipeline(item))
    assert ran.output == output


@pytest.mark.parametrize(
    "item, rounds",
    [
        (f"{{name: w, while: {{when: true, max: 3, do: [{INC}]}}}}", 3),
        (f"{{name: u, until: {{when: false, max: 3, do: [{INC}]}}}}", 3),
        (f"{{name: u, until: {{when: false, max: 1, do: [{INC}]}}}}", 1),
        (f"{{name: w, while: {{when: true, max: '{{{{ 1 + 1 }}}}', do: [{INC}]}}}}", 2),
    ],
)
async def test_more_rounds_than_max_is_an_error_of_kind_limit(item: str, rounds: int, tmp_path) -> None:
    ran = await run(tmp_path, pipeline(item))
    assert (ran.status, ran.error["kind"]) == ("failed", "limit")
    assert "raise 'max' ('max_pages' of a paginate) of '" in ran.error["message"]
    assert len(ran.named("task.done", task_label=item[7:8] + ".inc")) == rounds


async def test_rounds_are_counted_anew_each_time_an_item_is_entered(tmp_path) -> None:
    inside = "{name: i, while: {when: '{{ step.k < 2 }}', max: 2, do: [{name: k, kind: noop, set: {step.k: '{{ step.k + 1 }}'}}]}}"
    outside = f"{{name: o, while: {{when: '{{{{ step.i < 4 }}}}', max: 4, do: [{{name: z, kind: noop, set: {{step.k: 0}}}}, {inside}, {INC}]}}}}"
    ran = await run(tmp_path, pipeline(outside))
    assert ran.output == [4, []]


async def test_a_task_inside_reads_the_tasks_near_it_by_name_whatever_they_are_called(tmp_path) -> None:
    body = [
        "{name: end, kind: noop, output: '{{ step.i * 10 }}'}",
        "{name: poll, until: {when: '{{ end.data == 0 or test.data > 1 }}', do: [{name: test, kind: noop, output: '{{ (_prev or 0) + 1 }}'}]}}",
        INC,
        seen("keep", "[end.data, poll.data]"),
    ]
    ran = await run(
        tmp_path, pipeline(f"{{name: o, while: {{when: '{{{{ step.i < 2 }}}}', do: [{', '.join(body)}]}}}}")
    )
    assert ran.output == [2, [[0, 1], [10, 11]]]


async def test_an_item_is_read_by_its_name_as_the_last_task_that_ran_inside(tmp_path) -> None:
    item = "{name: c, choose: [{when: true, then: [{name: a, kind: noop, output: 1}, {name: b, kind: noop, output: 2}]}]}"
    ran = await run(tmp_path, pipeline(item, result="{{ [c.data, c.status] }}"))
    assert ran.output == [2, "ok"]


async def test_the_wait_between_rounds_leaves_output_and_prev_alone(tmp_path) -> None:
    body = "{name: n, kind: noop, output: '{{ (_prev or 0) + 1 }}'}"
    item = f"{{name: u, until: {{when: '{{{{ output.data == 3 }}}}', delay: 0.001, do: [{body}]}}}}"
    ran = await run(tmp_path, pipeline(item, result="{{ u.data }}"))
    assert ran.output == 3


async def test_break_inside_sugar_ends_the_pipeline(tmp_path) -> None:
    stop = "{name: stop, kind: noop, output: out, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}"
    ran = await run(tmp_path, pipeline(f"{{name: w, while: {{when: true, do: [{stop}, {INC}]}}}}"))
    assert ran.output == "out"


async def test_a_jump_written_inside_goes_where_the_author_means(tmp_path) -> None:
    again = "{name: again, kind: noop, spec: {policy: {rules: [{when: '{{ step.i < 3 }}', then: {do: jump, to: inc}}, {else: {then: {do: continue}}}]}}}"
    ran = await run(tmp_path, pipeline(f"{{name: c, choose: [{{when: true, then: [{INC}, {again}]}}]}}"))
    assert ran.output == [3, []]


async def test_a_block_may_hold_sugar_and_a_task_inside_sugar_may_call_a_block(tmp_path) -> None:
    book = """
    workbook:
      load:
        tool:
          - {name: z, kind: noop, set: {step.n: 0}}
          - {name: w, while: {when: "{{ step.n < 3 }}", do: [{name: a, kind: noop, set: {step.n: "{{ step.n + 1 }}"}}]}}
          - {name: n, kind: noop, output: "{{ step.n }}"}
    """
    text = playbook(
        """
        - step: start
          tool:
            - {name: c, choose: [{when: true, then: [{name: load, kind: workbook}]}]}
        """,
        book=book,
    )
    ran = await run(tmp_path, text)
    assert ran.output == 3


# ---- paginate -------------------------------------------------------------------------------------------


class Shop:
    """A server of numbered rows that pages in every way, and remembers what it was asked."""

    def __init__(self, server: HTTPServer, rows: int) -> None:
        self.rows = list(range(rows))
        self.asked: list[dict[str, str]] = []
        self.refuse: list[int] = []
        self.base = server.url_for("/")
        server.expect_request("/rows").respond_with_handler(self.answer)

    def answer(self, request: Request) -> Response:
        query = dict(parse_qsl(request.query_string.decode()))
        self.asked.append(query)
        if self.refuse and self.refuse.pop(0):
            return Response("busy", status=503)
        size = int(query.get("pageSize", 4))
        first = int(query.get("offset") or query.get("cursor") or (int(query.get("page", 1)) - 1) * size)
        page = self.rows[first : first + size]
        more = first + size < len(self.rows)
        body = {"rows": page, "more": more, "none": page or None}
        if more:
            body["next"] = str(first + size)
        link = (
            {"Link": f'</x>; rel="prev", </rows?page={first // size + 2}&pageSize={size}>; rel="next"'}
            if more
            else {}
        )
        return Response(json.dumps(body), headers={"Content-Type": "application/json", **link})


@pytest.fixture
def shop(httpserver: HTTPServer) -> Shop:
    return Shop(httpserver, 10)


async def paged(
    shop: Shop, body: str, tmp_path, result: str = "{{ [pages.data, iter.page] }}", policy: str = ""
) -> Ran:
    request = f'{{kind: http, input: {{url: "{shop.base}rows"}}{policy}}}'
    item = f"{{name: pages, paginate: {{request: {request}, {body}}}}}"
    return await run(tmp_path, pipeline(item, result=result))


ROWS = 'items: "{{ output.data.rows }}", collect: true'


@pytest.mark.parametrize(
    "body, asked",
    [
        (f"size: 4, {ROWS}", [{"page": "1", "pageSize": "4"}, {"page": "2", "pageSize": "4"}, {"page": "3", "pageSize": "4"}]),
        (f"size: 5, {ROWS}", [{"page": n, "pageSize": "5"} for n in "123"]),
        (f'more: "{{{{ output.data.more }}}}", {ROWS}', [{"page": n} for n in "123"]),
        (ROWS, [{"page": n} for n in "1234"]),
        ('items: "{{ output.data.none }}", collect: true', [{"page": n} for n in "1234"]),
        (f"by: offset, size: 4, {ROWS}", [{"offset": n, "pageSize": "4"} for n in "048"]),
        (f'by: cursor, next: "{{{{ output.data.next }}}}", {ROWS}', [{}, {"cursor": "4"}, {"cursor": "8"}]),
        (f"by: link, size: 4, {ROWS}", [{"pageSize": "4"}, {"page": "2", "pageSize": "4"}, {"page": "3", "pageSize": "4"}]),
    ],
)  # fmt: skip
async def test_every_way_to_page_reads_every_row_once(
    body: str, asked: list[dict[str, str]], shop: Shop, tmp_path
) -> None:
    ran = await paged(shop, body, tmp_path)
    assert ran.output == [list(range(10)), len(asked)]
    assert shop.asked == asked


@pytest.mark.parametrize(
    "body, asked",
    [
        (f"start: 2, size: 4, {ROWS}", ["2", "3"]),
        (f'size: 4, more: "{{{{ output.data.missing }}}}", {ROWS}', ["1"]),
        (f"size: 4, max_pages: 3, {ROWS}", ["1", "2", "3"]),
    ],
)
async def test_start_more_and_max_pages_bound_the_pages(
    body: str, asked: list[str], shop: Shop, tmp_path
) -> None:
    ran = await paged(shop, body, tmp_path)
    assert ran.status == "completed"
    assert [query["page"] for query in shop.asked] == asked


async def test_more_pages_than_max_pages_is_an_error_of_kind_limit(shop: Shop, tmp_path) -> None:
    ran = await paged(shop, f"size: 4, max_pages: 2, {ROWS}", tmp_path)
    assert (ran.status, ran.error["kind"]) == ("failed", "limit")
    assert len(shop.asked) == 2


async def test_each_runs_once_per_page_and_sees_items_page_and_the_requests_output(
    shop: Shop, tmp_path
) -> None:
    keep = seen("keep", "[iter.page, iter.items, output.data.more]")
    ran = await paged(
        shop,
        f'size: 4, items: "{{{{ output.data.rows }}}}", each: [{keep}]',
        tmp_path,
        result="{{ step.seen }}",
    )
    assert ran.output == [[1, [0, 1, 2, 3], True], [2, [4, 5, 6, 7], True], [3, [8, 9], False]]


async def test_without_collect_the_value_is_that_of_the_last_task_inside(shop: Shop, tmp_path) -> None:
    ran = await paged(
        shop, 'size: 4, items: "{{ output.data.rows }}"', tmp_path, result="{{ pages.data.rows }}"
    )
    assert ran.output == [8, 9]


RETRY = ", spec: {policy: {rules: [{when: \"{{ output.status == 'error' }}\", then: {do: retry, attempts: 2, delay: 0.001}}, {else: {then: {do: continue}}}]}}"
GO_ON = ", spec: {policy: {rules: [{else: {then: {do: continue}}}]}}"
SKIP = ", spec: {policy: {rules: [{else: {then: {do: skip}}}]}}"


async def test_the_requests_own_rules_apply_to_each_page(shop: Shop, tmp_path) -> None:
    shop.refuse = [1, 0, 1, 0, 0]
    ran = await paged(shop, f"size: 4, {ROWS}", tmp_path, policy=RETRY)
    assert ran.output == [list(range(10)), 3]
    assert [query["page"] for query in shop.asked] == ["1", "1", "2", "2", "3"]


async def test_a_request_that_fails_fails_the_pipeline(shop: Shop, tmp_path) -> None:
    shop.refuse = [0, 1]
    ran = await paged(shop, f"size: 4, {ROWS}", tmp_path)
    assert (ran.status, ran.error["task"]) == ("failed", "pages.request")


@pytest.mark.parametrize("policy", [GO_ON, SKIP])
async def test_a_failed_request_that_is_passed_over_ends_the_pagination(
    policy: str, shop: Shop, tmp_path
) -> None:
    shop.refuse = [0, 1]
    ran = await paged(shop, f"size: 4, {ROWS}", tmp_path, policy=policy)
    assert ran.output == [[0, 1, 2, 3], 2]


@pytest.mark.parametrize(
    "items, kind, words",
    [
        ('items: "{{ output.data.rowz }}"', "template", "output.data.rowz is missing"),
        ("size: 4", "failed", "are not a list"),
    ],
)
async def test_items_that_are_missing_or_no_list_fail_with_a_reason(
    items, kind, words, shop: Shop, tmp_path
) -> None:
    ran = await paged(shop, items, tmp_path)
    assert (ran.status, ran.error["kind"]) == ("failed", kind)
    assert words in ran.error["message"]


async def test_a_pagination_inside_a_pagination_disturbs_nothing(shop: Shop, tmp_path) -> None:
    request = (
        f'request: {{kind: http, input: {{url: "{shop.base}rows"}}}}, items: "{{{{ output.data.rows }}}}"'
    )
    inside = f"{{name: inside, paginate: {{{request}, size: 5, max_pages: 3, collect: true}}}}"
    outside = f"{{name: pages, paginate: {{{request}, size: 4, each: [{inside}, {seen('keep', '[iter.page, iter.items, inside.data | length]')}]}}}}"
    ran = await run(tmp_path, pipeline(outside, result="{{ step.seen }}"))
    assert ran.output == [[1, [0, 1, 2, 3], 10], [2, [4, 5, 6, 7], 10], [3, [8, 9], 10]]


async def test_a_link_to_another_host_is_not_followed_with_credentials(
    httpserver: HTTPServer, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "secret-token")
    httpserver.expect_request("/rows").respond_with_json(
        [1], headers={"Link": '<http://127.0.0.1:9/rows>; rel="next"'}
    )
    url = httpserver.url_for("/rows")
    text = playbook(
        f"""
        - step: start
          tool:
            - {{name: pages, paginate: {{by: link, request: {{kind: http, auth: tok, input: {{url: "{url}"}}}}, collect: true}}}}
        """,
        keychain="keychain: [{name: tok, kind: env, env: SHOP_TOKEN}]",
    )
    ran = await run(tmp_path, text)
    assert ran.status == "failed"
    assert "another host: http://127.0.0.1:9/rows" in ran.error["message"]


async def test_a_link_to_the_same_host_in_another_spelling_is_followed_with_credentials(
    httpserver: HTTPServer, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "secret-token")
    url = httpserver.url_for("/rows").replace("127.0.0.1", "localhost")
    following = url.replace("http://localhost", "HTTP://LocalHost").replace("/rows", "/more")
    link = {"Link": f'<{following}>; rel="next"'}
    httpserver.expect_request("/rows").respond_with_json([1], headers=link)
    httpserver.expect_request("/more", headers={"Authorization": "Bearer secret-token"}).respond_with_json(
        [2]
    )
    text = playbook(
        f"""
        - step: start
          tool:
            - {{name: pages, paginate: {{by: link, request: {{kind: http, auth: tok, input: {{url: "{url}"}}}}, collect: true}}}}
        """,
        keychain="keychain: [{name: tok, kind: env, env: SHOP_TOKEN}]",
    )
    assert (await run(tmp_path, text)).output == [1, 2]


async def test_a_function_can_be_paged_like_a_server(tmp_path) -> None:
    code = "first = after or 0\\nrows = list(range(first, min(first + 4, 10)))\\nresult = {'rows': rows, 'next': rows[-1] + 1 if rows[-1] < 9 else None}"
    item = f'{{name: pages, paginate: {{by: cursor, request: {{kind: python, input: {{code: "{code}"}}}}, params: {{cursor: after}}, items: "{{{{ output.data.rows }}}}", next: "{{{{ output.data.next }}}}", collect: true}}}}'
    ran = await run(tmp_path, pipeline(item, result="{{ pages.data }}"))
    assert ran.output == list(range(10))

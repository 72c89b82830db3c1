"""`paginate` -> a request in a loop of generated tasks, its state in `iter`.

    .begin     sets up the state
    .test      another page: skip, none: jump to the end; at most `max_pages` passes
    .request   the author's task (or `.<its name>`), with the page's parameter in its input; its `set` also
               takes the items, so that a wrong `items` is an error of the request and its rules see it
    .received  `output` is the request's: refuses items that are no list, finds out whether a page follows
    each …     the author's tasks
    .next      sets up the next page, jump .test
    .collect   only with `collect`: gives all items
    .end

`iter.page` and `iter.items` are for the author; what decides is kept apart, in `iter._<label>`, so that a
pagination inside a pagination, or an author who writes `iter.page`, does no harm (the inner one also gives
back the outer one's page and items at its end):

    page     the page's number (by page), or how many pages there have been
    offset, cursor, url    where the next page begins
    more     whether another page follows      got      whether this page's request did well
    count    items of this page                origin   scheme and host of this page
    all      items of all pages, to collect

A page whose request failed and whose rules went on all the same (`continue`, `skip`) ends the pagination.
By page and offset, `more` decides; without it a page shorter than `size`, or an empty one, is the last.
By cursor, the last page is the one whose `next` is missing, null or empty; by link, the one without a Link
header with rel=next. A next page at another host is refused when the request carries credentials.
"""

from typing import Final

from noetl.dsl.diagnostic import Mark
from noetl.dsl.sugar.generated_tasks import At, Item, Placed, at, otherwise, skip, when
from noetl.dsl.sugar.inline_expression import inline
from noetl.dsl.sugar.labels import BEGIN, COLLECT, END, NEXT, RECEIVED, TEST
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.dsl.yaml.tree_edit import copy_map, put

PAGES = 10_000
WAYS: Final = ("page", "offset", "cursor", "link")
# Names a request parameter has when `params` does not say.
PARAMETERS: Final = {"page": "page", "offset": "offset", "cursor": "cursor", "size": "pageSize"}

_NO_LIST = "{{ iter.items is mapping or iter.items is string or iter.items is number }}"
_LINK = (
    "{{ output.http.headers.link | default('')"
    """ | regex_search('<([^<>]*)>[^<]*;\\s*rel="?([^",;]*\\s)?next([\\s",;]|$)', 1, true) }}"""
)
# Scheme and host as they are compared: in lower case, without the port that the scheme stands for.
_ORIGIN = (
    "regex_search('^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]+') | default('', true) | lower"
    " | regex_replace('^(https://.*):443$', '\\\\1') | regex_replace('^(http://.*):80$', '\\\\1')"
)


def is_paginate(body: Value) -> bool:
    """Whether a `paginate` can be expanded."""
    if not isinstance(body, Map) or not isinstance(body.get("request"), Map):
        return False
    request = body["request"]
    way = body.get("by", "page")
    maps = (request.get("input"), request.get("set"), body.get("params"))
    return (
        isinstance(request.get("kind"), str)
        and way in WAYS
        and (way != "cursor" or isinstance(body.get("next"), str))
        and all(value is None or isinstance(value, Map) for value in maps)
        and isinstance(body.get("each", Seq()), Seq)
        and isinstance(body.get("items", ""), str)
        and isinstance(body.get("more", ""), str | bool)
    )


def requests(body: Map) -> Seq:
    """The request as the one task of a list, with a name."""
    request = body["request"]
    if not isinstance(request.get("name"), str):
        request = copy_map(request)
        request.put("name", "request")
    tasks = Seq(mark=body.at("request"))
    tasks.add(request, body.at("request"))
    return tasks


def paginate(item: Item) -> list[Placed]:
    """The tasks of one pagination."""
    return _Pagination(item).tasks()


class _Pagination:
    """One `paginate` and the names of its state."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.body: Map = item.body
        self.way: str = self.body.get("by", "page")
        self.state = f"iter._{item.label.replace('.', '__')}"
        self.is_inside = "paginate" in item.around
        self.collects = self.body.get("collect") is True
        self.exit = COLLECT if self.collects else END

    def tasks(self) -> list[Placed]:
        """All tasks in order."""
        item, body = self.item, self.body
        return [
            item.deciding(BEGIN, "paginate", [otherwise(skip(set=self._at_first()))]),
            self._test(),
            *item.inside(self._requests(), "paginate.request"),
            item.deciding(RECEIVED, "paginate.items", self._received(), self._place("items")),
            *(item.inside(body["each"], "paginate.each") if "each" in body else []),
            item.deciding(NEXT, "paginate", self._next()),
            *([self._collect()] if self.collects else []),
            item.end(**self._given_back()),
        ]

    def _place(self, key: str) -> Mark:
        return self.body.at(key) if key in self.body else self.item.mark

    # ---- state ------------------------------------------------------------------------------------------

    def _at_first(self) -> Value:
        """The state before the first page."""
        by_page = self.way == "page"
        start = at(self.body, "start") if "start" in self.body else None
        first = start or 1 if by_page else 1
        state: dict[str, Value] = {"page": first, "more": True, "got": False, "count": 0}
        if self.way == "offset":
            state["offset"] = start or 0
        elif self.way == "cursor":
            state["cursor"] = start
        elif self.way == "link":
            state["url"] = None
        if self.collects:
            state["all"] = []
        if self.is_inside:
            state |= {"outer_page": "{{ iter.page }}", "outer_items": "{{ iter.items }}"}
        return {**self._set(**state), "iter.page": first, "iter.items": []}

    def _given_back(self) -> dict[str, Value]:
        """At the end of a pagination inside another, the outer page is the page again."""
        if not self.is_inside:
            return {}
        outer = {name: f"{{{{ {self.state}.outer_{name} }}}}" for name in ("page", "items")}
        return {"set": {f"iter.{name}": value for name, value in outer.items()}}

    def _set(self, **values: Value) -> dict[str, Value]:
        return {f"{self.state}.{name}": value for name, value in values.items()}

    def _test(self) -> Placed:
        page = {"iter.page": f"{{{{ {self.state}.page }}}}", **self._set(got=False)}
        rules = [when(f"{{{{ {self.state}.more }}}}", skip(set=page)), otherwise(self.item.to(self.exit))]
        most = self.body.get("max_pages", PAGES)
        return self.item.counting(TEST, "paginate.max_pages", rules, most, self._place("max_pages"))

    # ---- the request ------------------------------------------------------------------------------------

    def _requests(self) -> Seq:
        tasks = requests(self.body)
        request = copy_map(tasks[0])
        put(request, "input", self._input(request))
        written = _own(request, "set")
        items = at(self.body, "items") if "items" in self.body else At("{{ output.data }}", request.mark)
        for target, value in {"iter.items": items, **self._set(got=At(True, request.mark))}.items():
            if target not in written:
                written.put(target, value.value, key_mark=value.mark, value_mark=value.mark)
        put(request, "set", written)
        tasks[0] = request
        return tasks

    def _input(self, request: Map) -> Map:
        """The author's input with the parameters of this page; what the author wrote is kept."""
        values = _own(request, "input")
        if self.way == "link":
            self._follow_link(values)
        parameters = self._parameters(request["kind"] == "http")
        target = values
        if parameters and (request["kind"] == "http" or isinstance(values.get("params"), Map)):
            target = _own(values, "params")
            put(values, "params", target)
        place = self._place("params")
        for name, value in parameters.items():
            if name not in target:
                target.put(name, value, key_mark=place, value_mark=place)
        return values

    def _parameters(self, is_http: bool) -> dict[str, Value]:
        """The page's request parameters; of another kind than http only those that `params` names."""
        named = {key: name for key, name in _own(self.body, "params").items() if isinstance(name, str)}
        names = {**PARAMETERS, **named} if is_http else named
        if self.way == "offset" and "offset" not in named and "page" in named:
            names = {**names, "offset": named["page"]}
        parameters: dict[str, Value] = {}
        if self.way in names:
            parameters[names[self.way]] = f"{{{{ {self.state}.{self.way} }}}}"
        if "size" in names and self.body.get("size") is not None:
            parameters[names["size"]] = self._first_page_only(self.body["size"])
        return parameters

    def _follow_link(self, values: Map) -> None:
        """After the first page a link is the whole address: the author's and its parameters are not sent."""
        url = inline(values.get("url"))
        if url is not None:
            put(values, "url", f"{{{{ {self.state}.url or {url} }}}}")
        if isinstance(values.get("params"), Map):
            params = copy_map(values["params"])
            for name, value in params.items():
                params[name] = self._first_page_only(value)
            put(values, "params", params)

    def _first_page_only(self, value: Value) -> Value:
        expression = inline(value) if self.way == "link" else None
        return value if expression is None else f"{{{{ none if {self.state}.url else {expression} }}}}"

    # ---- after the request ------------------------------------------------------------------------------

    def _received(self) -> list[Value]:
        message = f"the items of '{self.item.label}' are not a list; say where they are with paginate.items"
        rules = [
            when(f"{{{{ not {self.state}.got }}}}", self.item.to(self.exit)),
            when(_NO_LIST, {"do": "fail", "message": message}),
        ]
        more = self._more()
        if more is not None:
            rules.append(when(more, skip(set=self._page_state(more=True))))
        return [*rules, otherwise(skip(set=self._page_state(more=more is None)))]

    def _more(self) -> Value:
        """The guard that says another page follows; None when only the next cursor or link says so."""
        if "more" in self.body:
            return at(self.body, "more")
        if self.way in ("cursor", "link"):
            return None
        size = inline(self.body.get("size"))
        if size in (None, "none"):
            return "{{ iter.items | default([], true) | length > 0 }}"
        return f"{{{{ iter.items | default([], true) | length >= [({size}) | int, 1] | max }}}}"

    def _page_state(self, *, more: bool) -> dict[str, Value]:
        state: dict[str, Value] = {"more": more, "count": "{{ iter.items | default([], true) | length }}"}
        if self.way == "cursor":
            state["cursor"] = _or_none(self.body["next"])
        elif self.way == "link":
            state["url"] = _or_none(self.body["next"]) if "next" in self.body else _LINK
            state["origin"] = f"{{{{ output.http.url | default('') | {_ORIGIN} }}}}"
        if self.collects:
            state["all"] = f"{{{{ {self.state}.all + (iter.items or []) }}}}"
        return {"iter.items": "{{ iter.items or [] }}", **self._set(**state)}

    # ---- the next page ----------------------------------------------------------------------------------

    def _next(self) -> list[Value]:
        state = self.state
        following: dict[str, Value] = {"page": f"{{{{ {state}.page | int + 1 }}}}"}
        rules: list[Value] = []
        if self.way == "offset":
            following["offset"] = f"{{{{ {state}.offset | int + {state}.count }}}}"
        elif self.way == "cursor":
            following["more"] = f"{{{{ true if {state}.more and {state}.cursor else false }}}}"
        elif self.way == "link":
            url = f"{state}.url"
            following["more"] = f"{{{{ true if {state}.more and {url} else false }}}}"
            following["url"] = f"{{{{ {state}.origin ~ {url} if {url} and {url}[:1] == '/' else {url} }}}}"
            rules += self._same_host()
        return [*rules, otherwise(self.item.to(TEST, set=self._set(**following)))]

    def _same_host(self) -> list[Value]:
        """Credentials do not follow a link to another host."""
        request = self.body["request"]
        if "auth" not in request and "keychain" not in str(request.get("input")):
            return []
        state = self.state
        elsewhere = (
            f"{{{{ {state}.url and {state}.url[:1] != '/' and {state}.url | {_ORIGIN} != {state}.origin }}}}"
        )
        message = f"the next page of '{self.item.label}' is at another host: {{{{ {state}.url }}}}"
        return [when(elsewhere, {"do": "fail", "message": message})]

    def _collect(self) -> Placed:
        place = self._place("collect")
        emptied = self._set(all=[])
        return self.item.task(
            COLLECT, "paginate.collect", place, output=f"{{{{ {self.state}.all }}}}", set=emptied
        )


def _own(node: Map, key: str) -> Map:
    """A copy of the map under a key; an empty one when there is none."""
    value = node.get(key)
    return copy_map(value) if isinstance(value, Map) else Map(mark=node.at(key))


def _or_none(template: Value) -> Value:
    """The author's value, null when it is missing."""
    expression = inline(template)
    return template if expression is None else f"{{{{ ({expression}) | default(none) }}}}"

"""Markdown to HTML that a strict content policy lets pass: no inline style or script, no HTML of the text."""

import re
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING, Any

from noetl import documentation
from noetl.server.manual import playbooks
from noetl.server.manual.addresses import Addresses
from noetl.server.manual.navigation import target_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token

NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
WIDE = 3  # columns that do not fit a phone side by side
LEVELS = ("h2", "h3")  # what the list beside a page names


@dataclass(frozen=True)
class Heading:
    """A heading of a page, and what stands below it up to the next one."""

    level: str
    anchor: str
    title: str
    text: str = ""


@dataclass
class Rendered:
    """A page: what it looks like, and its headings."""

    html: str
    headings: list[Heading] = field(default_factory=list)


def render(name: str, text: str, addresses: Addresses) -> Rendered:
    """The page of a text; its links lead to where pages are."""
    tokens = _parser().parse(text)
    headings = _name_headings(tokens)
    environment = {"name": name, "addresses": addresses}
    return Rendered(_parser().renderer.render(tokens, _parser().options, environment), headings)


def headings_of(text: str) -> list[Heading]:
    """The headings of a text, each with the words below it: what can be searched for."""
    return _name_headings(_parser().parse(text))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    rules = {
        "fence": _fence,
        "code_block": _fence,
        "heading_open": _heading_open,
        "image": _image,
        "link_open": _link_open,
        "link_close": _link_close,
        "table_open": _table_open,
        "table_close": lambda *_: "</table></div>",
        "tr_open": _row_open,
        "th_open": _cell,
        "td_open": _cell,
    }
    for rule, function in rules.items():
        parser.add_render_rule(rule, function)
    return parser


# ---- headings -------------------------------------------------------------------------------------------


def _name_headings(tokens: "Sequence[Token]") -> list[Heading]:
    """Give every heading its anchor, spelt as code hosts spell it."""
    found: list[Heading] = []
    words: list[str] = []
    taken: dict[str, int] = {}
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            title = _words(tokens[place + 1])
            anchor = NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-")
            taken[anchor] = taken.get(anchor, -1) + 1
            token.attrSet("id", f"{anchor}-{taken[anchor]}" if taken[anchor] else anchor)
            _close(found, words)
            found.append(Heading(token.tag, str(token.attrGet("id")), title))
        elif token.type in ("inline", "fence", "code_block") and tokens[place - 1].type != "heading_open":
            words.append(_words(token))
    _close(found, words)
    return found


def _close(found: list[Heading], words: list[str]) -> None:
    """What was read since the last heading belongs to it."""
    if found:
        last = found[-1]
        found[-1] = Heading(last.level, last.anchor, last.title, " ".join(" ".join(words).split()))
    words.clear()


def _words(token: "Token") -> str:
    """What a reader sees of a token."""
    if token.children is None:
        return token.content
    seen = [" " if child.type == "softbreak" else child.content for child in token.children]
    return "".join(seen)


def _heading_open(_: "RendererHTML", tokens: "Sequence[Token]", place: int, *__: Any) -> str:
    token = tokens[place]
    anchor = escape(str(token.attrGet("id")))
    if token.tag == "h1":
        return f'<h1 id="{anchor}">'
    return f'<{token.tag} id="{anchor}"><a class="anchor" href="#{anchor}" aria-label="Link to this">#</a>'


# ---- links and pictures ---------------------------------------------------------------------------------


def address_of(link: str, name: str, addresses: Addresses) -> str | None:
    """Where a link of a page leads; None when that is no part of the documentation."""
    if ELSEWHERE.match(link) or link.startswith("#"):
        return link
    path, mark, anchor = link.partition("#")
    target = target_of(documentation.sources()[name], path)
    page = documentation.name_of(target)
    if documentation.sources().get(page) == target:
        return addresses.page(page, name) + mark + anchor
    inside = target.removeprefix("docs/")
    return addresses.file(inside, name) if inside in documentation.files() else None


def _link_open(_: "RendererHTML", tokens: "Sequence[Token]", place: int, *rest: Any) -> str:
    environment: MutableMapping[str, Any] = rest[-1]
    address = address_of(str(tokens[place].attrGet("href")), environment["name"], environment["addresses"])
    environment.setdefault("open", []).append(address is not None)
    if address is None:
        return ""
    abroad = ' rel="noopener noreferrer"' if ELSEWHERE.match(address) else ""
    return f'<a href="{escape(address)}"{abroad}>'


def _link_close(_: "RendererHTML", __: "Sequence[Token]", ___: int, *rest: Any) -> str:
    return "</a>" if rest[-1]["open"].pop() else ""


def _image(_: "RendererHTML", tokens: "Sequence[Token]", place: int, *rest: Any) -> str:
    """A picture; of one that was taken in both themes, the one that fits is seen."""
    token, name, addresses = tokens[place], rest[-1]["name"], rest[-1]["addresses"]
    path = target_of(documentation.sources()[name], str(token.attrGet("src"))).removeprefix("docs/")
    dark = path.replace("-light.", "-dark.")
    pictures = [(path, "picture")]
    if dark != path and dark in documentation.files():
        pictures = [(path, "picture on-light"), (dark, "picture on-dark")]
    told = f'alt="{escape(token.content)}" loading="lazy"'
    return "".join(
        f'<img class="{kind}" src="{escape(addresses.file(file, name))}" {told}>' for file, kind in pictures
    )


# ---- tables ---------------------------------------------------------------------------------------------

# On a phone, the cells of a wide table stand below one another, each with the head of its column.


def _table_open(_: "RendererHTML", tokens: "Sequence[Token]", place: int, *rest: Any) -> str:
    head = takewhile(lambda token: token.type != "thead_close", islice(tokens, place, None))
    columns = [_words(inline) for cell, inline in pairwise(head) if cell.type == "th_open"]
    rest[-1]["columns"] = columns
    wide = ' class="wide"' if len(columns) >= WIDE else ""
    return f'<div class="table"><table{wide}>'


def _row_open(*all_of_it: Any) -> str:
    all_of_it[-1]["cell"] = iter(all_of_it[-1]["columns"])
    return "<tr>"


def _cell(_: "RendererHTML", tokens: "Sequence[Token]", place: int, *rest: Any) -> str:
    """A cell says its alignment by a class: a policy that is strict lets no style pass."""
    token, column = tokens[place], next(rest[-1]["cell"], "")
    aligned = re.search(r"text-align:(\w+)", str(token.attrGet("style") or ""))
    label = f' data-label="{escape(column)}"' if column and token.tag == "td" else ""
    side = f' class="{aligned[1]}"' if aligned else ""
    return f"<{token.tag}{side}{label}>"


# ---- code -----------------------------------------------------------------------------------------------


def _fence(_: "RendererHTML", tokens: "Sequence[Token]", place: int, *rest: Any) -> str:
    """A block of code with its name; a whole playbook also has the text that a server can run."""
    language, *words = tokens[place].info.split() or [""]
    text, live = tokens[place].content, rest[-1]["addresses"].live
    title = next((word.removeprefix("title=") for word in words if word.startswith("title=")), "")
    runnable = playbooks.runnable(language, words, text) if live else None
    attributes = f' data-playbook="{escape(runnable)}"' if runnable else ""
    head = f'<div class="code-title">{escape(title)}</div>' if title else ""
    classes = " ".join(["code", *(word for word in words if word in ("wrong", "right"))])
    code = f'<pre tabindex="0"><code>{_coloured(text, language)}</code></pre>'
    return f'<div class="{classes}"{attributes}>{head}{code}</div>\n'


def _coloured(text: str, language: str) -> str:
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return escape(text)
    return str(highlight(text, lexer, HtmlFormatter(nowrap=True)))

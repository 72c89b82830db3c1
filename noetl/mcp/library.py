"""What agents can read: pages about the language, the schema, one page per tool kind, examples.

Pages and examples are files of the documentation. Only what is listed here can be read; a name is looked up,
never turned into a path.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from noetl import documentation
from noetl.dsl.grammar.editor_schema import playbook_schema
from noetl.dsl.nearest import nearest
from noetl.dsl.testing.schema import suite_schema
from noetl.dsl.tool_kind import Kinds
from noetl.errors import NotFound
from noetl.ports.mcp_protocol import Message

SCHEME = "noetl://"
LANGUAGE = f"{SCHEME}docs/reference/language/one-page.md"
UNLISTED = f"{SCHEME}docs/errors/"  # there are many; findings name theirs
FOLDERS = ("reference/language", "how-to", "tutorial", "reference", "explanation", "errors")
MARKDOWN, YAML, SCHEMA = "text/markdown", "application/yaml", "application/schema+json"
TEMPLATES: list[Message] = [
    {
        "uriTemplate": f"{UNLISTED}{{code}}.md",
        "name": "finding",
        "title": "A finding explained",
        "description": "What a code of `validate` means: a wrong example, a right one.",
        "mimeType": MARKDOWN,
    }
]


@dataclass(frozen=True, slots=True)
class KindPage:
    """A tool kind: what it says of itself as data, in a sentence or more, and as a page."""

    facts: Mapping[str, object]
    text: str
    page: str


@dataclass(frozen=True, slots=True)
class Resource:
    """Something to read: where its text comes from, and what is said of it before."""

    uri: str
    title: str
    media_type: str
    text: str = ""
    file: Path | None = None

    def listed(self) -> Message:
        name = self.uri.removeprefix(SCHEME)
        return {"uri": self.uri, "name": name, "title": self.title, "mimeType": self.media_type}

    def read(self) -> str:
        return self.text if self.file is None else self.file.read_text(encoding="utf-8")


@dataclass
class Library:
    """Everything that agents can read."""

    language: Kinds = field(default_factory=dict)
    kinds: Mapping[str, KindPage] = field(default_factory=dict)

    def kind(self, name: str) -> KindPage:
        """The page of a kind; raises NotFound."""
        if name not in self.kinds:
            near = nearest(name, self.kinds)
            hint = f"did you mean '{near}'?" if near else f"the kinds are: {', '.join(self.kinds)}"
            raise NotFound(f"there is no tool kind '{name}'", hint=hint)
        return self.kinds[name]

    @cached_property
    def resources(self) -> Mapping[str, Resource]:
        return {resource.uri: resource for resource in self._resources()}

    def _resources(self) -> Iterator[Resource]:
        yield from _files("docs/reference/language/one-page.md", MARKDOWN)
        yield Resource(
            f"{SCHEME}schema/playbook.json", "The JSON Schema of playbooks", SCHEMA, _schema(self.language)
        )
        yield Resource(
            f"{SCHEME}schema/test.json", "The JSON Schema of playbook tests", SCHEMA, _json(suite_schema())
        )
        for name, page in self.kinds.items():
            title = f"Kind {name}: {page.facts['summary']}"
            yield Resource(f"{SCHEME}tools/{name}.md", title, MARKDOWN, page.page)
        yield from _files("examples/*.yaml", YAML)
        for folder in FOLDERS:
            yield from _files(f"docs/{folder}/*.md", MARKDOWN)

    def list_resources(self) -> list[Message]:
        """What can be read, always in one order."""
        return [item.listed() for uri, item in self.resources.items() if not uri.startswith(UNLISTED)]

    def read(self, uri: str) -> Message:
        """One of them with its text; raises NotFound."""
        if uri not in self.resources:
            near = nearest(uri, self.resources)
            hint = f"did you mean '{near}'?" if near else "resources/list names them"
            raise NotFound(f"there is nothing to read at '{uri[:200]}'", hint=hint)
        resource = self.resources[uri]
        return {"uri": uri, "mimeType": resource.media_type, "text": resource.read()}


def _schema(kinds: Kinds) -> str:
    return _json(playbook_schema(kinds))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _files(pattern: str, media_type: str) -> Iterator[Resource]:
    root = documentation.folder()
    if root is None:
        return
    for file in sorted(root.glob(pattern)):
        uri = f"{SCHEME}{file.relative_to(root).as_posix()}"
        yield Resource(uri, _title(file), media_type, file=file)


def _title(file: Path) -> str:
    """The heading of a page; of an example, what its first comment says."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# ") and not line.startswith("# yaml-language-server"):
                return line[2:].strip()
    return file.stem

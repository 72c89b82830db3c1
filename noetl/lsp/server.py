"""The language server over its protocol: texts and places in, findings, proposals and edits out.

What is said of a playbook is computed elsewhere in this room; here it is put into the protocol's words.
"""

import asyncio
import re
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import Workspace

from noetl import __version__
from noetl.drawings import svg
from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.grammar.editor_schema import playbook_schema
from noetl.dsl.load import Loaded
from noetl.dsl.net.diagram import Sketch, graph, sketch
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.source import parse
from noetl.errors import NoetlError
from noetl.lsp import completion, hover, navigation, quick_fixes
from noetl.lsp.last_value import Look, expression_at, mapping_before, nothing_seen, path_of, shown
from noetl.lsp.navigation import Place, Symbol
from noetl.lsp.schema_reader import SchemaReader
from noetl.lsp.texts import Text, beginning

Check = Callable[[str], Loaded | None]  # None: the text is not that of a playbook
Enter = Callable[[str], None]  # the folder that the editor has opened: its settings and tools are meant
TYPING_S = 0.03  # a pause this long in the typing, and findings are told
GRAPH, PICTURE = "noetl.graph", "noetl.picture"
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
BEGINNING_WORDS = 3  # of a text of which nobody can tell yet what it will be
SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
KINDS = {
    "key": types.CompletionItemKind.Property,
    "word": types.CompletionItemKind.EnumMember,
    "name": types.CompletionItemKind.Variable,
    "filter": types.CompletionItemKind.Function,
}


class AtPlace(Protocol):
    """What an editor asks about a place of a text."""

    text_document: types.TextDocumentIdentifier
    position: types.Position


class PlaybookServer(LanguageServer):
    """One editor's conversation."""

    def __init__(self, check: Check, kinds: Callable[[], Kinds], look: Look) -> None:
        super().__init__("noetl", __version__)
        self._check, self._kinds, self.look = check, kinds, look
        self._texts: dict[str, Text] = {}
        self._checked: dict[str, tuple[str, Loaded | None]] = {}  # asked several times of each text
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._complaint: str | None = None  # what keeps playbooks from being checked, as it was told

    @cached_property
    def kinds(self) -> Kinds:
        """The tool kinds, those of the project too: loaded once it is known which folder is open."""
        return self._kinds()

    @cached_property
    def reader(self) -> SchemaReader:
        """The schema of the language, built when it is first asked."""
        return SchemaReader(playbook_schema(self.kinds))

    def text(self, uri: str) -> Text:
        """A text as it is in the editor, or else as it is in its file; empty where there is none."""
        opened = self._texts.get(uri)
        if opened is not None:
            return opened
        try:
            return self._beginning(self.workspace.get_text_document(uri).source)
        except (OSError, ValueError):  # no file, or none with a text in it
            return self._beginning("")

    def _beginning(self, source: str, version: int | None = None) -> Text:
        return beginning(source, version, self.workspace.position_encoding)

    def lines(self, document: types.TextDocumentIdentifier) -> list[str]:
        """The lines of an open text."""
        return self.text(document.uri).lines

    def place(self, params: "AtPlace") -> tuple[list[str], int, int]:
        """The lines of a text, and where in them."""
        text = self.text(params.text_document.uri)
        return text.lines, *text.place(params.position)

    def range(self, uri: str, place: Place) -> types.Range:
        """A place as the editor counts."""
        text = self.text(uri)
        end = text.position(place.line, place.column + place.length)
        return types.Range(text.position(place.line, place.column), end)

    def checked(self, uri: str) -> Loaded | None:
        """What an open text means, and what is wrong with it; None of what cannot be checked."""
        source = self.text(uri).source
        if uri in self._checked and self._checked[uri][0] == source:
            return self._checked[uri][1]
        try:
            checked = self._check(source)
        except NoetlError as problem:  # a tool of the project that cannot be loaded, say
            self.complain(problem)
            return None
        if checked is not None:
            self._complaint = None
        if uri in self._texts:
            self._checked[uri] = (source, checked)
        return checked

    def findings(self, source: str) -> tuple[Diagnostic, ...]:
        """What would be wrong with a text."""
        checked = self._check(source)
        return () if checked is None else checked.diagnostics

    def helps(self, document: types.TextDocumentIdentifier) -> bool:
        """Whether a text is a playbook, or may become one: most YAML that an editor opens is neither."""
        begun = len(self.text(document.uri).source.split(maxsplit=BEGINNING_WORDS)) <= BEGINNING_WORDS
        return begun or self.checked(document.uri) is not None

    def opened(self, item: types.TextDocumentItem) -> None:
        """Say at once what is wrong with a text."""
        self._texts[item.uri] = self._beginning(item.text, item.version)
        self.tell(item.uri)

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """Tell what is wrong once the typing pauses."""
        uri, version = params.text_document.uri, params.text_document.version
        text = self.text(uri)
        for change in params.content_changes:
            text = text.changed(change, version)
        self._texts[uri] = text
        self._stop_waiting(uri)
        self._waiting[uri] = asyncio.get_running_loop().call_later(TYPING_S, self.tell, uri)

    def tell(self, uri: str) -> None:
        """Say everything that is wrong with a text."""
        self._stop_waiting(uri)
        checked = self.checked(uri)
        findings = () if checked is None else checked.diagnostics
        told = [self.diagnostic(finding, uri) for finding in findings]
        version = self.text(uri).version
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=told, version=version)
        )

    def diagnostic(self, finding: Diagnostic, uri: str) -> types.Diagnostic:
        """A finding in the protocol's words; it stands under the whole word, or text in quotes."""
        lines = self.text(uri).lines
        text = lines[finding.line - 1] if finding.line <= len(lines) else ""
        found = QUOTED.match(text, finding.column - 1)
        word = hover.word_at(text, finding.column - 1) if found is None else found.group()
        message = finding.message if finding.hint is None else f"{finding.message}\n{finding.hint}"
        return types.Diagnostic(
            range=self.range(uri, Place(finding.line - 1, finding.column - 1, max(1, len(word)))),
            message=message,
            severity=SEVERITIES[finding.severity],
            code=finding.code,
            source="noetl",
        )

    def complain(self, problem: NoetlError) -> None:
        """Say in the editor, once, what keeps playbooks from being checked."""
        text = problem.message if problem.hint is None else f"{problem.message}. {problem.hint}"
        if text != self._complaint:
            self._complaint = text
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"noetl: {text}"))

    def forget(self, uri: str) -> None:
        """A text is closed: nothing is wrong with it any more."""
        self._stop_waiting(uri)
        self._texts.pop(uri, None)
        self._checked.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    def _stop_waiting(self, uri: str) -> None:
        timer = self._waiting.pop(uri, None)
        if timer is not None:
            timer.cancel()


def _symbol(server: PlaybookServer, uri: str, symbol: Symbol, kind: types.SymbolKind) -> types.DocumentSymbol:
    text = server.text(uri)
    whole = types.Range(
        types.Position(symbol.first, 0), text.position(symbol.last, len(text.lines[symbol.last]))
    )
    inner = [_symbol(server, uri, task, types.SymbolKind.Function) for task in symbol.inner]
    return types.DocumentSymbol(symbol.name, kind, whole, whole, symbol.detail or None, children=inner)


def language_server(
    check: Check, kinds: Callable[[], Kinds], enter: Enter, look: Look = nothing_seen
) -> PlaybookServer:
    """A server that checks texts so, knows these tool kinds, and looks so for what runs had."""
    server = PlaybookServer(check, kinds, look)

    @server.feature(types.INITIALIZE)
    def opened(params: types.InitializeParams) -> None:
        folder = _folder(server.workspace)
        if folder is not None:
            enter(folder)

    _follow_texts(server)
    _propose(server)
    _navigate(server)
    _repair(server)
    _draw(server)
    return server


def _folder(workspace: Workspace) -> str | None:
    """The folder that is open, the first one where there are several."""
    if workspace.root_path:
        return str(workspace.root_path)
    return next((to_fs_path(folder.uri) for folder in workspace.folders.values()), None)


def _follow_texts(server: PlaybookServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.opened(params.text_document)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)


def _propose(server: PlaybookServer) -> None:
    options = types.CompletionOptions(trigger_characters=[".", " ", "|"])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, options)
    async def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        if not server.helps(params.text_document):
            return []
        place = server.place(params)
        said = completion.completions(*place, server.reader)
        seen = await _fields_seen(server, *place)
        return [_proposal(item) for item in {item.label: item for item in (*seen, *said)}.values()]

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def explain(params: types.HoverParams) -> types.Hover | None:
        if not server.helps(params.text_document):
            return None
        place = server.place(params)
        parts = [hover.hover(*place, server.reader, server.kinds), await _last_seen(server, *place)]
        text = "\n\n".join(part for part in parts if part)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None


def _proposal(item: completion.Completion) -> types.CompletionItem:
    return types.CompletionItem(
        label=item.label, kind=KINDS[item.what], insert_text=item.text, documentation=item.meaning or None
    )


async def _fields_seen(
    server: PlaybookServer, lines: list[str], line: int, column: int
) -> list[completion.Completion]:
    """The fields that the newest run had of the mapping whose field is typed."""
    root = parse("\n".join(lines)).tree
    path, expression = path_of(root), mapping_before(lines, line, column, root)
    last = await server.look(path, expression) if path is not None and expression is not None else None
    fields = last.value if last is not None and isinstance(last.value, dict) else {}
    return [completion.seen(name, value) for name, value in fields.items() if name.isidentifier()]


async def _last_seen(server: PlaybookServer, lines: list[str], line: int, column: int) -> str | None:
    """What the newest run had where the cursor is."""
    root = parse("\n".join(lines)).tree
    path, expression = path_of(root), expression_at(lines, line, column, root)
    if path is None or expression is None:
        return None
    last = await server.look(path, expression)
    return None if last is None else shown(expression, last)


def _navigate(server: PlaybookServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def defined(params: types.DefinitionParams) -> types.Location | None:
        place, uri = navigation.definition(*server.place(params)), params.text_document.uri
        return None if place is None else types.Location(uri, server.range(uri, place))

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def used(params: types.ReferenceParams) -> list[types.Location]:
        uri, defined = params.text_document.uri, params.context.include_declaration
        places = navigation.occurrences(*server.place(params), defined=defined)
        return [types.Location(uri, server.range(uri, place)) for place in places]

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    def renamed(params: types.RenameParams) -> types.WorkspaceEdit | None:
        why_not = navigation.refusal(*server.place(params), params.new_name)
        if why_not is not None:
            raise JsonRpcInvalidParams(why_not)
        places, uri = navigation.occurrences(*server.place(params)), params.text_document.uri
        edits = [types.TextEdit(server.range(uri, place), params.new_name) for place in places]
        return types.WorkspaceEdit(changes={uri: edits}) if edits else None

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        uri, steps = params.text_document.uri, navigation.symbols(server.lines(params.text_document))
        return [_symbol(server, uri, step, types.SymbolKind.Class) for step in steps]

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def folds(params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        steps = navigation.symbols(server.lines(params.text_document))
        return [types.FoldingRange(step.first, step.last) for step in steps if step.last > step.first]


def _repair(server: PlaybookServer) -> None:
    options = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    def repairs(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, only = params.text_document.uri, params.context.only
        if only is not None and not {types.CodeActionKind.QuickFix, types.CodeActionKind.Empty} & {*only}:
            return []
        within = range(params.range.start.line, params.range.end.line + 1)
        checked = server.checked(uri)
        if checked is None:
            return []
        found = [finding for finding in checked.diagnostics if finding.line - 1 in within]
        fixes = quick_fixes.quick_fixes(found, server.text(uri).lines, server.kinds, server.findings)
        unique = {fix.title: _action(server, uri, finding, fix) for finding, fix in fixes}
        return list(unique.values())


def _draw(server: PlaybookServer) -> None:
    def drawing(uri: str) -> Sketch | None:
        checked = server.checked(uri)
        playbook = None if checked is None else checked.playbook
        return sketch(playbook) if playbook is not None and playbook.steps else None

    @server.command(GRAPH)
    def as_data(uri: str) -> object:
        """The graph of an open playbook; None when it cannot be read."""
        drawn = drawing(uri)
        return None if drawn is None else graph(drawn)

    @server.command(PICTURE)
    def as_picture(uri: str) -> object:
        """The same as SVG."""
        drawn = drawing(uri)
        return None if drawn is None else svg.render(drawn)


def _action(
    server: PlaybookServer, uri: str, finding: Diagnostic, fix: quick_fixes.QuickFix
) -> types.CodeAction:
    text = server.text(uri)
    whole = types.Range(types.Position(0, 0), text.position(len(text.lines), 0))
    edit = types.TextEdit(whole if fix.place is None else server.range(uri, fix.place), fix.text)
    return types.CodeAction(
        title=fix.title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[server.diagnostic(finding, uri)],
        edit=types.WorkspaceEdit(changes={uri: [edit]}),
    )

"""The language server over its protocol: texts and places in, findings, proposals and edits out.

What is said of a playbook is computed elsewhere in this room; here it is put into the protocol's words.
"""

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from noetl import __version__
from noetl.drawings import svg
from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.grammar.editor_schema import playbook_schema
from noetl.dsl.load import Loaded
from noetl.dsl.net.diagram import Sketch, graph, sketch
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.source import parse
from noetl.errors import NoetlError, PlaybookError
from noetl.lsp import completion, hover, navigation, quick_fixes
from noetl.lsp.last_value import Look, expression_at, mapping_before, nothing_seen, path_of, shown
from noetl.lsp.navigation import Place, Symbol
from noetl.lsp.schema_reader import SchemaReader

Check = Callable[[str], Loaded | None]  # None: the text is not that of a playbook
Enter = Callable[[str], None]  # the folder that the editor has opened: its settings and tools are meant
TYPING_S = 0.03  # a pause this long in the typing, and findings are told
GRAPH, PICTURE = "noetl.graph", "noetl.picture"
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
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    @cached_property
    def kinds(self) -> Kinds:
        """The tool kinds, those of the project too: loaded once it is known which folder is open."""
        return self._kinds()

    @cached_property
    def reader(self) -> SchemaReader:
        """The schema of the language, built when it is first asked."""
        return SchemaReader(playbook_schema(self.kinds))

    def lines(self, document: types.TextDocumentIdentifier) -> list[str]:
        """The lines of an open text."""
        return self.workspace.get_text_document(document.uri).source.split("\n")

    def place(self, params: "AtPlace") -> tuple[list[str], int, int]:
        """The lines of a text, and where in them: an editor may count other units than characters."""
        document = self.workspace.get_text_document(params.text_document.uri)
        at = document.position_codec.position_from_client_units(document.lines, params.position)
        return self.lines(params.text_document), at.line, at.character

    def range(self, uri: str, place: Place) -> types.Range:
        """A place in the units of the editor."""
        document = self.workspace.get_text_document(uri)
        return document.position_codec.range_to_client_units(document.lines, range_of(place))

    def loaded(self, document: TextDocument) -> Loaded | None:
        """What an open text means, and what is wrong with it; None of what is no playbook."""
        return self._check(document.source)

    def helps(self, document: types.TextDocumentIdentifier) -> bool:
        """Whether a text is a playbook, or may become one: most YAML that an editor opens is neither."""
        text = self.workspace.get_text_document(document.uri).source
        return len(text.split()) <= BEGINNING_WORDS or self._check(text) is not None

    def changed(self, uri: str) -> None:
        """Tell what is wrong once the typing pauses."""
        timer = self._waiting.pop(uri, None)
        if timer is not None:
            timer.cancel()
        self._waiting[uri] = asyncio.get_running_loop().call_later(TYPING_S, self.tell, uri)

    def tell(self, uri: str) -> None:
        """Say everything that is wrong with a text."""
        self._waiting.pop(uri, None)
        document = self.workspace.get_text_document(uri)
        lines = document.source.split("\n")
        try:
            loaded = self.loaded(document)
        except NoetlError as problem:  # a tool of the project that cannot be loaded, say
            self.complain(problem)
            return
        findings = [] if loaded is None else [diagnostic(finding, lines) for finding in loaded.diagnostics]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=findings, version=document.version)
        )

    def complain(self, problem: NoetlError) -> None:
        """Say in the editor what keeps playbooks from being checked."""
        text = problem.message if problem.hint is None else f"{problem.message}. {problem.hint}"
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"noetl: {text}"))

    def forget(self, uri: str) -> None:
        """A text is closed: nothing is wrong with it any more."""
        timer = self._waiting.pop(uri, None)
        if timer is not None:
            timer.cancel()
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))


def diagnostic(finding: Diagnostic, lines: list[str]) -> types.Diagnostic:
    """A finding in the protocol's words; it stands under the whole word."""
    text = lines[finding.line - 1] if finding.line <= len(lines) else ""
    word = hover.word_at(text, finding.column - 1)
    message = finding.message if finding.hint is None else f"{finding.message}\n{finding.hint}"
    return types.Diagnostic(
        range=range_of(Place(finding.line - 1, finding.column - 1, max(1, len(word)))),
        message=message,
        severity=SEVERITIES[finding.severity],
        code=finding.code,
        source="noetl",
    )


def range_of(place: Place) -> types.Range:
    return types.Range(
        types.Position(place.line, place.column), types.Position(place.line, place.column + place.length)
    )


def _symbol(symbol: Symbol, lines: list[str], kind: types.SymbolKind) -> types.DocumentSymbol:
    whole = types.Range(types.Position(symbol.first, 0), types.Position(symbol.last, len(lines[symbol.last])))
    inner = [_symbol(task, lines, types.SymbolKind.Function) for task in symbol.inner]
    return types.DocumentSymbol(symbol.name, kind, whole, whole, symbol.detail or None, children=inner)


def language_server(
    check: Check, kinds: Callable[[], Kinds], enter: Enter, look: Look = nothing_seen
) -> PlaybookServer:
    """A server that checks texts so, knows these tool kinds, and looks so for what runs had."""
    server = PlaybookServer(check, kinds, look)

    @server.feature(types.INITIALIZE)
    def opened(params: types.InitializeParams) -> None:
        if server.workspace.root_path:
            enter(server.workspace.root_path)

    _follow_texts(server)
    _propose(server)
    _navigate(server)
    _repair(server)
    _draw(server)
    return server


def _follow_texts(server: PlaybookServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.tell(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

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
        places, uri = navigation.occurrences(*server.place(params)), params.text_document.uri
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
        lines = server.lines(params.text_document)
        return [_symbol(step, lines, types.SymbolKind.Class) for step in navigation.symbols(lines)]

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def folds(params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        steps = navigation.symbols(server.lines(params.text_document))
        return [types.FoldingRange(step.first, step.last) for step in steps if step.last > step.first]


def _repair(server: PlaybookServer) -> None:
    options = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    def fixes(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, lines = params.text_document.uri, server.lines(params.text_document)
        within = range(params.range.start.line, params.range.end.line + 1)
        loaded = server.loaded(server.workspace.get_text_document(uri))
        found = () if loaded is None else loaded.diagnostics
        actions = [
            _action(uri, finding, lines, server.kinds) for finding in found if finding.line - 1 in within
        ]
        unique = {action.title: action for action in actions if action is not None}
        return list(unique.values())


def _draw(server: PlaybookServer) -> None:
    def drawing(uri: str) -> Sketch | None:
        loaded = server.loaded(server.workspace.get_text_document(uri))
        playbook = None if loaded is None else loaded.playbook
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


def _action(uri: str, finding: Diagnostic, lines: list[str], kinds: Kinds) -> types.CodeAction | None:
    try:
        fix = quick_fixes.quick_fix(finding, lines, kinds)
    except PlaybookError:  # no YAML yet: nothing to rewrite
        return None
    if fix is None:
        return None
    whole = types.Range(types.Position(0, 0), types.Position(len(lines), 0))
    edit = types.TextEdit(whole if fix.place is None else range_of(fix.place), fix.text)
    return types.CodeAction(
        title=fix.title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic(finding, lines)],
        edit=types.WorkspaceEdit(changes={uri: [edit]}),
    )

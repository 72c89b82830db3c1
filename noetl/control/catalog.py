"""Playbooks by content, path and file: read, checked and compiled once, ready to run.

A path is looked for in the catalog, then among the files of the project; a child may also be named by a file
beside the calling one. Without a project there is the catalog alone: no file of this machine is ever read.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from noetl.core.message import Start, StartChild
from noetl.core.program.features import check_language
from noetl.core.program.program import Program, compile_program
from noetl.core.shapes import ErrorObject
from noetl.core.values.output import problem
from noetl.core.values.patch import deep_merge
from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.load import Loaded, load, load_accepted
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import plain
from noetl.errors import NotFound, PlaybookError
from noetl.json_value import JsonObject
from noetl.ports.store import PlaybookText, Store

PROGRAMS_KEPT = 256
LONG_TEXT = 16 * 1024  # characters
WARNINGS_RECORDED = 20  # with each execution
PLAYBOOK_FILES = ("*.yaml", "*.yml")


def digest_of(text: str) -> str:
    """The content hash of a playbook's text."""
    return hashlib.sha256(text.encode()).hexdigest()


Gate = Callable[[Start, Program], Awaitable[Start]]


async def _open(start: Start, program: Program) -> Start:
    return start


class Catalog:
    """Every playbook this process can run."""

    def __init__(self, store: Store, kinds: Kinds, engine: str, project: Path | None = None) -> None:
        self.store, self.kinds, self.engine, self.project = store, kinds, engine, project
        self._programs: OrderedDict[str, Program] = OrderedDict()
        self._checked: set[str] = set()  # programs whose text passed the rules of this release
        self._warnings: dict[str, list[JsonObject]] = {}  # of the programs that have some
        self._entries: OrderedDict[str, PlaybookText] = OrderedDict()
        self._newest: OrderedDict[str, PlaybookText] = OrderedDict()  # by path; may be out of date
        self.gate: Gate = _open  # what else a child's request must pass, such as its keychain

    def load(self, text: str) -> Loaded:
        """Read a playbook's text; raises PlaybookError with every finding when it may not run."""
        loaded = load(text, kinds=self.kinds)
        if not loaded.ok:
            raise PlaybookError(loaded.diagnostics)
        return loaded

    async def register(
        self, text: str, file: str | None = None, by: str | None = None
    ) -> tuple[PlaybookText, Program]:
        """Check, compile and keep a playbook."""
        digest = digest_of(text)
        program = self._programs.get(digest) if digest in self._checked else None
        if program is None:
            program = self._keep(await _apart(self._check, text, digest))
            self._checked.add(digest)
        return await self.store.register(program.path, digest, text, file, by, program.language), program

    def _check(self, text: str, digest: str) -> Program:
        """The program of a text that is new here."""
        loaded = self.load(text)
        assert loaded.playbook is not None
        warnings = [
            _recorded(diagnostic) for diagnostic in loaded.diagnostics if diagnostic.severity == "warning"
        ]
        if warnings:
            self._warnings[digest] = warnings[:WARNINGS_RECORDED]
        return compile_program(loaded.playbook, self.kinds, digest)

    def _read(self, text: str, digest: str) -> Program:
        """The program of a text that was accepted once, by whatever release: it is not checked again."""
        playbook = load_accepted(text, kinds=self.kinds)
        if playbook is None:
            raise PlaybookError(load(text, kinds=self.kinds).diagnostics)
        return compile_program(playbook, self.kinds, digest)

    def _keep(self, program: Program) -> Program:
        self._programs[program.hash] = program
        if len(self._programs) > PROGRAMS_KEPT:
            gone = self._programs.popitem(last=False)[0]
            self._warnings.pop(gone, None)
            self._checked.discard(gone)
        return program

    async def program(self, digest: str) -> Program:
        program = self._programs.get(digest)
        if program is not None:
            return program
        entry = await self.store.playbook(digest=digest)
        check_language(entry.path, entry.version, entry.language)
        return self._keep(await _apart(self._read, entry.text, digest))

    async def entry(self, digest: str) -> PlaybookText:
        """A playbook by its content; those asked for lately are at hand."""
        if digest not in self._entries:
            if len(self._entries) >= PROGRAMS_KEPT:
                self._entries.popitem(last=False)
            self._entries[digest] = await self.store.playbook(digest=digest)
        return self._entries[digest]

    def compiled(self, digest: str) -> Program:
        """A program that is in memory already, as that of a running execution is."""
        return self._programs[digest]

    def probably(self, path: str) -> PlaybookText | None:
        """The version of a path that was the newest when it was last looked up."""
        return self._newest.get(path)

    def forget(self, path: str) -> None:
        """What was known to be the newest of a path is not."""
        self._newest.pop(path, None)

    async def find(self, path: str, version: int | None = None) -> PlaybookText:
        """A playbook by its path: the catalog's, as its file has it now, or a file of the project."""
        playbook_text = await self._found(path, version)
        if version is None and self._own_file(playbook_text) is None:
            self._newest[path] = playbook_text
            if len(self._newest) > PROGRAMS_KEPT:
                self._newest.popitem(last=False)
        return playbook_text

    async def _found(self, path: str, version: int | None) -> PlaybookText:
        try:
            playbook_text = await self.store.playbook(path=path, version=version)
        except NotFound:
            file = None if version is not None else await asyncio.to_thread(self._project_file, path)
            if file is None:
                raise
        else:
            file = self._own_file(playbook_text) if version is None else None
            if file is None or not await asyncio.to_thread(_says, file, path):
                return playbook_text
        entry, _ = await self.register(await asyncio.to_thread(file.read_text), str(file))
        return entry

    def _own_file(self, playbook_text: PlaybookText) -> Path | None:
        return None if self.project is None or playbook_text.file is None else Path(playbook_text.file)

    def _project_file(self, path: str) -> Path | None:
        """The file of the project that says it has a path."""
        if self.project is None:
            return None
        for pattern in PLAYBOOK_FILES:
            for file in sorted(self.project.rglob(pattern)):
                if ".noetl" not in file.parts and _says(file, path):
                    return file
        return None

    async def request(
        self, entry: PlaybookText, program: Program, payload: JsonObject | None, **more: Any
    ) -> Start:
        """The request to run a playbook with a payload merged over its workload."""
        merged = deep_merge(plain(program.playbook.workload), payload or {})
        return Start(
            path=entry.path,
            version=entry.version,
            hash=entry.hash,
            engine=self.engine,
            payload=payload,
            workload=merged,
            diagnostics=self._warnings.get(entry.hash, []),
            problem=self._missing_kinds(program),
            **more,
        )

    def _missing_kinds(self, program: Program) -> ErrorObject | None:
        playbook = program.playbook
        missing = [kind for kind in playbook.executor.requires_tools if kind not in self.kinds]
        if missing:
            return problem(
                "requires", f"executor.requires names kinds that are not installed: {', '.join(missing)}"
            )
        pipelines = [*playbook.steps, *playbook.workbook.values()]
        used = dict.fromkeys(task.kind for pipeline in pipelines for task in pipeline.all_tasks)
        missing = [kind for kind in used if kind not in self.kinds]
        if missing:
            return problem("requires", f"it has tasks of kinds that are not installed: {', '.join(missing)}")
        return None

    async def child(self, execution_id: str, call: StartChild, caller: str) -> Start:
        try:
            entry = await self._child_entry(call, caller)
            program = await self.program(entry.hash)
        except NotFound as error:
            return self._refused(call, problem("not_found", error.message))
        except PlaybookError as error:
            messages = [item.message for item in error.diagnostics if item.severity == "error"]
            return self._refused(call, problem("rejected", f"{call.path}: {'; '.join(messages[:3])}"))
        start = await self.request(entry, program, call.payload, parent=call.parent, by="parent")
        return await self.gate(start, program)

    def _refused(self, call: StartChild, error: ErrorObject) -> Start:
        return Start(
            call.path, "", self.engine, payload=call.payload, problem=error, parent=call.parent, by="parent"
        )

    async def _child_entry(self, call: StartChild, caller: str) -> PlaybookText:
        beside = await self._beside(call.path, caller)
        if beside is not None:
            entry, _ = await self.register(await asyncio.to_thread(beside.read_text), str(beside))
            return entry
        return await self.find(call.path, call.version)

    async def _beside(self, path: str, caller: str) -> Path | None:
        if self.project is None or not path.endswith((".yaml", ".yml")):
            return None
        origin = (await self.store.playbook(digest=caller)).file
        folder = Path(origin).parent if origin else self.project
        file = (folder / path).resolve()
        return file if file.is_file() else None


async def _apart(compiled: Callable[[str, str], Program], text: str, digest: str) -> Program:
    """Compile a text; a long one beside the loop, which others need meanwhile."""
    if len(text) > LONG_TEXT:
        return await asyncio.to_thread(compiled, text, digest)
    return compiled(text, digest)


def _recorded(diagnostic: Diagnostic) -> JsonObject:
    """A finding as the log keeps it."""
    place = {"line": diagnostic.line, "column": diagnostic.column}
    return {"code": diagnostic.code, "severity": diagnostic.severity, "message": diagnostic.message, **place}


def _says(file: Path, path: str) -> bool:
    """Whether a file is a playbook with a path; only a file that has the words is parsed."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError):
        return False
    if path not in text or "noetl.io/" not in text:
        return False
    tree = parse(text).tree
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    return isinstance(metadata, dict) and metadata.get("path") == path

"""An editor, scripted: speaks the language server's protocol over its standard input and output."""

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from lsprotocol.types import Range

PATIENCE_S = 60.0


class Editor:
    """One conversation with `noetl lsp`."""

    def __init__(self, folder: Path, opened: Path | None = None, encodings: list[str] | None = None) -> None:
        """Start the server in a folder, and tell it which folder is open and how columns may be counted."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NOETL_")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "noetl", "lsp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
        )
        self.pid = self._process.pid
        self._numbers = itertools.count(1)
        self._answers: dict[int, Any] = {}
        self._messages: queue.Queue[Any] = queue.Queue()
        self._told: list[Any] = []
        threading.Thread(target=self._read, daemon=True).start()
        root = None if opened is None else opened.as_uri()
        able = {} if encodings is None else {"general": {"positionEncodings": encodings}}
        self.capabilities = self.ask("initialize", {"processId": None, "rootUri": root, "capabilities": able})
        self.tell("initialized", {})

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        while head := out.readline():
            length = int(head.split(b":")[1])
            while out.readline().strip():
                pass
            self._messages.put(json.loads(out.read(length)))

    def send(self, message: dict[str, Any]) -> None:
        """Say something, whatever comes of it."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Say something that is not answered."""
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request; raises RuntimeError with its error."""
        number = next(self._numbers)
        self.send({"id": number, "method": method, "params": params})
        while True:
            message = self._messages.get(timeout=PATIENCE_S)
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message["result"]
            self._told.append(message)

    def open(self, text: str, uri: str = "file:///book.yaml") -> "Book":
        """A text in a window."""
        item = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return Book(self, uri, text)

    def findings(self, uri: str, version: int) -> list[Any]:
        """What is wrong with a version of a text, once that is told."""
        wanted = ("textDocument/publishDiagnostics", uri, version)
        while True:
            for message in self._told:
                params = message.get("params", {})
                if (message.get("method"), params.get("uri"), params.get("version")) == wanted:
                    return list(params["diagnostics"])
            self._told.append(self._messages.get(timeout=PATIENCE_S))

    def shown(self) -> str:
        """The next message that the editor shows to whoever writes."""
        while True:
            for message in self._told:
                if message.get("method") == "window/showMessage":
                    self._told.remove(message)
                    return str(message["params"]["message"])
            self._told.append(self._messages.get(timeout=PATIENCE_S))

    def told(self, method: str) -> list[Any]:
        """What the server has said of itself and nobody has asked for yet."""
        return [message for message in self._told if message.get("method") == method]

    def close(self) -> int:
        """End the conversation; the exit code."""
        self.ask("shutdown", None)
        self.tell("exit", {})
        code = self._process.wait(PATIENCE_S)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        return code


class Book:
    """One open text; `|` in a text marks where the cursor is."""

    def __init__(self, editor: Editor, uri: str, text: str) -> None:
        self.editor, self.uri, self.text, self.version = editor, uri, text, 1

    def type(self, text: str) -> None:
        """Replace the text, as an editor does that knows no smaller changes."""
        self.version, self.text = self.version + 1, text
        self.editor.tell(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.uri, "version": self.version},
                "contentChanges": [{"text": text}],
            },
        )

    def edit(self, span: Range, put: str, after: str) -> None:
        """Put a text in place of another; what the whole text is then."""
        start, end = ({"line": at.line, "character": at.character} for at in (span.start, span.end))
        self.version, self.text = self.version + 1, after
        self.editor.tell(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.uri, "version": self.version},
                "contentChanges": [{"range": {"start": start, "end": end}, "text": put}],
            },
        )

    def findings(self) -> list[Any]:
        """What is wrong with the newest text."""
        return self.editor.findings(self.uri, self.version)

    def at(self, words: str) -> dict[str, Any]:
        """The place of a cursor: words of the text with `|` where it is."""
        before, _, after = words.rpartition("|")
        place = self.text.index(before + after) + len(before)
        line = self.text.count("\n", 0, place)
        column = place - (self.text.rfind("\n", 0, place) + 1)
        return {"textDocument": {"uri": self.uri}, "position": {"line": line, "character": column}}

    def proposals(self, words: str) -> dict[str, Any]:
        """What may be typed at a cursor, by name."""
        found = self.editor.ask("textDocument/completion", self.at(words))
        return {item["label"]: item for item in found}

    def hover(self, words: str) -> str:
        """What is said of the word at a cursor."""
        found = self.editor.ask("textDocument/hover", self.at(words))
        return "" if found is None else str(found["contents"]["value"])

    def edited(self, edits: list[Any]) -> str:
        """The text with edits applied."""
        lines = self.text.split("\n")

        def place(position: dict[str, int]) -> int:
            return sum(len(line) + 1 for line in lines[: position["line"]]) + position["character"]

        text = self.text
        for edit in sorted(edits, key=lambda edit: place(edit["range"]["start"]), reverse=True):
            text = (
                text[: place(edit["range"]["start"])] + edit["newText"] + text[place(edit["range"]["end"]) :]
            )
        return text

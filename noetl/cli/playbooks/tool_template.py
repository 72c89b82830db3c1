"""The files of a new tool kind of a project: the function, its test, its line in noetl.toml."""

import keyword
import os
import re

from noetl.cli.playbooks.project_template import Project, write_files
from noetl.errors import RequestError

TOOL_TEXT = '''\
"""The tool kind `NAME`: `noetl tools NAME` shows what playbooks see of it."""

from typing import Annotated

import noetl


@noetl.tool(returns="`{text}`")
def NAME(
    who: Annotated[str, "Whom to greet."],
    context: noetl.ToolContext,
    times: Annotated[int, "How often."] = 1,
) -> dict[str, str]:
    """Greets somebody.

    The first line is the summary of the kind, the rest its page. A failure that playbooks can act upon is
    `raise noetl.Failed("quota", "…", retryable=True)`; another exception is an error of the kind `NAME`.
    """
    context.log(f"greeting {who}")
    return {"text": " ".join([f"Hello {who}!"] * times)}
'''

TEST_TEXT = '''\
"""The tool kind `NAME`, called as a worker calls it: run with pytest in the folder of noetl.toml."""

import noetl
import pytest


def test_it_greets():
    assert noetl.call_tool("NAME", {"who": "Ann"}) == {"text": "Hello Ann!"}


def test_an_input_that_does_not_fit_is_refused():
    with pytest.raises(noetl.Failed) as refused:
        noetl.call_tool("NAME", {"who": "Ann", "times": "many"})
    assert refused.value.kind == "input"
'''

_LIST = re.compile(r"(?ms)^tools\s*=\s*\[(.*?),?\s*\]")


def begin_tool(name: str) -> Project:
    """Write a tool and its test into the project of this folder, and name it in noetl.toml."""
    from noetl.settings import FILE_NAME, find_project, load
    from noetl.wiring.tool_kinds import kinds

    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name) or keyword.iskeyword(name):
        message = f"a tool kind cannot be called '{name}'"
        raise RequestError(message, hint="small letters, digits and _, as in noetl init --tool greet")
    chosen = load()
    if name in kinds(chosen):
        raise RequestError(f"there is a tool kind '{name}' already", hint=f"noetl tools {name}")
    folder = str(find_project(chosen.project))
    texts = {f"tools/{name}.py": TOOL_TEXT, f"tests/test_{name}.py": TEST_TEXT}
    clash = [file for file in texts if os.path.lexists(os.path.join(folder, file))]
    if clash:
        message = f"nothing was written: in '{folder}' there is already {', '.join(clash)}"
        raise RequestError(message, hint="choose another name: noetl init --tool NAME")
    settings_file = os.path.join(folder, FILE_NAME)
    settings_text = _with_module(settings_file, f"tools/{name}.py")
    write_files(folder, {file: text.replace("NAME", name) for file, text in texts.items()})
    with open(settings_file, "w", encoding="utf-8") as stream:
        stream.write(settings_text)
    commands = [f"noetl tools {name}", f"pytest tests/test_{name}.py", "noetl schema > playbook.schema.json"]
    return Project(os.path.relpath(folder), [*texts, FILE_NAME], [], commands)


def _with_module(settings_file: str, module: str) -> str:
    """The text of the settings with one more module under `tools`."""
    text = ""
    if os.path.exists(settings_file):
        with open(settings_file, encoding="utf-8") as stream:
            text = stream.read()
    match = _LIST.search(text)
    if match is not None:
        before = f"{match[1]}, " if match[1].strip() else ""
        return f'{text[: match.start()]}tools = [{before}"{module}"]{text[match.end() :]}'
    if re.search(r"(?m)^tools\s*=", text):
        raise RequestError(
            f"'tools' in '{settings_file}' is not a list", hint=f'write tools = ["…", "{module}"]'
        )
    return f'{text}{"" if text.endswith(chr(10)) or not text else chr(10)}tools = ["{module}"]\n'

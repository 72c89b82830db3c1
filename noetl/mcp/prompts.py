"""What a person can ask an agent to do with NoETL: the words, and the pages that go with them."""

from collections.abc import Mapping
from dataclasses import dataclass

from noetl.errors import NotFound, RequestError
from noetl.json_value import Json
from noetl.mcp.library import LANGUAGE, SCHEME, Library
from noetl.ports.mcp_protocol import Message

ARGUMENT_CHARACTERS = 20_000

WRITE = f"""Write a NoETL playbook that does this:

{{task}}

1. The page below is the language. Choose the tool kinds; read the page of each ({SCHEME}tools/KIND.md, or the
   tool `tool_kinds`) before you write its `input`. {SCHEME}examples/ has playbooks to begin with.
2. Write the whole text and call `validate` with it. Correct what it finds, by the code and the fix it names
   ({SCHEME}docs/errors/CODE.md shows a wrong and a right example), until there is no error and no warning.
3. Run it with `run` and a small workload. When it fails, `why` says which decision was made on which values.
4. Show the playbook and what its run gave.

The tool kinds:
{{kinds}}
"""

EXPLAIN = """Explain how this execution went: {execution}

Call `execution` and `why` with it; where that does not say enough, `events`, and `render` to see what a
template was at an event. Say which step failed or waits, on which values, and what to change in
the playbook or its input. Change and run nothing before you are asked to.
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One thing to ask: its words, its one argument, the pages that go with it."""

    name: str
    title: str
    description: str
    argument: str
    about: str
    words: str
    pages: tuple[str, ...] = ()

    def listed(self) -> Message:
        argument = {"name": self.argument, "description": self.about, "required": True}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "arguments": [argument],
        }


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "write_playbook",
            "Write a playbook",
            "Write a playbook for a task, check it, and try it.",
            "task",
            "What the playbook is to do.",
            WRITE,
            (LANGUAGE,),
        ),
        Prompt(
            "explain_execution",
            "Explain an execution",
            "Say why an execution went as it did, and what to change.",
            "execution",
            "The id of the execution, its beginning, @last, or @last:PATH.",
            EXPLAIN,
        ),
    )
}


def list_prompts() -> list[Message]:
    return [prompt.listed() for prompt in PROMPTS.values()]


def prompt(library: Library, name: str, arguments: Mapping[str, Json]) -> Message:
    """The messages of a prompt; raises NotFound, or RequestError for what it is given."""
    chosen = PROMPTS.get(name)
    if chosen is None:
        raise NotFound(f"there is no prompt '{name[:200]}'", hint=f"the prompts are: {', '.join(PROMPTS)}")
    given = arguments.get(chosen.argument)
    if not isinstance(given, str) or not given.strip() or len(given) > ARGUMENT_CHARACTERS:
        bound = f"a text of up to {ARGUMENT_CHARACTERS} characters"
        raise RequestError(f"the prompt {name} needs '{chosen.argument}', {bound}")
    if unknown := set(arguments) - {chosen.argument}:
        raise RequestError(f"the prompt {name} takes '{chosen.argument}' alone, not {sorted(unknown)[0]!r}")
    kinds = "\n".join(f"* `{kind}`: {page.facts['summary']}" for kind, page in library.kinds.items())
    words = chosen.words.replace("{kinds}", kinds).replace(f"{{{chosen.argument}}}", given)
    content: list[Message] = [{"type": "text", "text": words}]
    content += [
        {"type": "resource", "resource": library.read(page)}
        for page in chosen.pages
        if page in library.resources
    ]
    return {
        "description": chosen.description,
        "messages": [{"role": "user", "content": part} for part in content],
    }

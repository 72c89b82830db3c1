"""The tool kinds of this process: ours, those of installed packages, and those that the settings name."""

from noetl import tools
from noetl.dsl.tool_kind import Kinds
from noetl.ports.tool import Tool
from noetl.settings import Settings, load


def kinds(settings: Settings | None = None) -> Kinds:
    """Every kind by name, as the language needs it."""
    chosen = load() if settings is None else settings
    tools.use_modules(chosen.tools, str(chosen.project))
    return tools.kinds()


def tool(name: str) -> Tool:
    """One of them; raises NotFound with the nearest name."""
    kinds()
    return tools.get(name)


def every() -> list[Tool]:
    """All of them, in order of their names."""
    kinds()
    return tools.every()

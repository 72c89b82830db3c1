"""The options of `noetl test`, as the command hands them on."""

from typing import TypedDict


class TestChoices(TypedDict):
    """What was chosen on the command line."""

    only: str | None
    assignments: tuple[str, ...]
    input_file: str | None
    as_json: bool
    quiet: bool

"""The type of users' JSON: what a playbook, a payload, a result or a request body holds. No code lives here.

Code that takes such a value narrows it with `isinstance` before it looks inside; `Any` would let it guess.
"""

from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
